package edge

import (
	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/value"
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
		filtered: q.IsFiltered(),
		search: func(views []*rankings.View) (*rankings.Search, error) {
			return rankings.SearchPools(views, &q)
		},
		appendRow: func(dst []byte, row *rankings.Row, _ *value.Metrics) []byte {
			return render.AppendPool(dst, s.parts.pool(row.View, row.Index), row.Rank)
		},
	})
}

// onePool answers GET /v1/pools/{chainId}/{protocol}/{poolId}.
func (s *Server) onePool(r *request) (reply, *Error) {
	return s.detail(r, func(v *rankings.View, i uint32) (*page, *Error) {
		return &page{body: render.AppendPool(nil, s.parts.pool(v, i), 0)}, nil
	})
}
