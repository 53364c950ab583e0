package edge

import (
	"strconv"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
)

// listPools answers GET /v1/pools.
func (s *Server) listPools(r *request) (reply, *Error) {
	sc, err := s.scopeOf(r, r.pools.Chain)
	if err != nil {
		return reply{}, err
	}
	question := query.AppendPools(append(r.room[:0], "pools?"...), &r.pools)
	key := s.key(question[len(question):], question, sc)
	if p, ok := s.pages.get(key); ok {
		return reply{page: p, asOf: asOf(sc.views), free: p.free}, nil
	}
	q := r.pools
	front := q
	front.Page, front.Limit = 1, rankings.DefaultLimit
	return s.list(r, sc, &listing{
		question: question, filter: query.AppendPools([]byte("pools?"), &front),
		chain: q.Chain, page: q.Page, limit: q.Limit, offset: q.Offset(), name: "pools",
		search: func(views []*rankings.View) (*rankings.Search, error) {
			return rankings.SearchPools(views, &q)
		},
		appendRow: func(dst []byte, row *rankings.Row) []byte {
			return render.AppendPool(dst, s.parts.pool(row.View, row.Index), row.Rank)
		},
	})
}

// onePool answers GET /v1/pools/{chainId}/{protocol}/{poolId}.
func (s *Server) onePool(r *request) (reply, *Error) {
	sc, err := s.scopeOf(r, r.chain)
	if err != nil {
		return reply{}, err
	}
	v := sc.views[0]
	i, ok := v.Pool(r.pool)
	if !ok {
		return reply{}, s.gone(r, v, "pool")
	}
	body := render.AppendPool(nil, s.parts.pool(v, i), 0)
	return reply{page: &page{body: body, generations: generation(v)}, asOf: v.Confirmed()}, nil
}

// gone is the charged 404 of what a view does not have.
func (s *Server) gone(r *request, v *rankings.View, what string) *Error {
	setHeader(r.ctx, headerGeneration, generation(v))
	return absent("no such %s on chain %d", what, v.State.Chain)
}

// generation is the X-Generation header of an answer from one view.
func generation(v *rankings.View) string {
	var buf [48]byte
	dst := strconv.AppendUint(buf[:0], uint64(v.State.Chain), 10)
	return string(strconv.AppendUint(append(dst, ':'), v.Generation, 10))
}
