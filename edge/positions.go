package edge

import (
	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/value"
)

// listPositions answers GET /v1/positions: the question, the board, the page.
func (s *Server) listPositions(r *request) (reply, *Error) {
	sc, err := s.scopeOf(r, r.positions.Chain)
	if err != nil {
		return reply{}, err
	}
	question := query.AppendPositions(append(r.room[:0], "positions?"...), &r.positions)
	key := s.key(question[len(question):], question, sc)
	if p, ok := s.pages.get(key); ok {
		return reply{page: p, asOf: asOf(sc.views), free: p.free}, nil
	}
	q := r.positions
	front := q
	front.Page, front.Limit = 1, rankings.DefaultLimit
	return s.list(r, sc, &listing{
		question: question, filter: query.AppendPositions([]byte("positions?"), &front),
		chain: q.Chain, page: q.Page, limit: q.Limit, offset: q.Offset(), name: "positions",
		filtered: q.IsFiltered(),
		search: func(views []*rankings.View) (*rankings.Search, error) {
			return rankings.SearchPositions(views, &q)
		},
		appendRow: s.appendPosition,
	})
}

// appendPosition appends a row of the list.
func (s *Server) appendPosition(dst []byte, row *rankings.Row, m *value.Metrics) []byte {
	st := row.View.State
	value.Position(st, row.Index, m)
	share := s.parts.of(row.View).share(st.Positions.At(row.Index).Pool, m)
	return render.AppendPosition(dst, st, row.Index, m, share, row.Rank)
}

// onePosition answers GET /v1/positions/{chainId}/{protocol}/{positionId}.
func (s *Server) onePosition(r *request) (reply, *Error) {
	return s.detail(r, func(v *rankings.View, i uint32) (*page, *Error) {
		history, err := s.history(v, i)
		if err != nil {
			return nil, err
		}
		var m value.Metrics
		value.Position(v.State, i, &m)
		body := make([]byte, 0, 4096+len(history.entries))
		body = render.AppendPosition(body, v.State, i, &m, nil, 0)
		body = render.AppendHistory(body[:len(body)-1], history.entries, history.flags)
		return &page{body: append(body, '}'), free: history.flags.Degraded}, nil
	})
}

// explain answers GET .../positions/{chainId}/{protocol}/{positionId}/explain.
func (s *Server) explain(r *request) (reply, *Error) {
	return s.detail(r, func(v *rankings.View, i uint32) (*page, *Error) {
		params, answers := s.cfg.Prices(r.chain)
		e := value.Explain(v.State, params, answers, i)
		return &page{body: render.AppendExplanation(nil, v.State, i, e)}, nil
	})
}
