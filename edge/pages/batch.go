package pages

import (
	"slices"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/storage/accounts"
)

// answerBatch answers a question for the positions or pools with certain ids,
// from the newest views of their chains.
func (p *Pages) answerBatch(q *Question) (Reply, *render.Error) {
	sc, err := p.batchScope(q)
	if err != nil {
		return Reply{}, err
	}

	text := q.appendBatch(q.text[:0])
	key := sc.appendKey(text[len(text):], text)
	reply := Reply{AsOf: oldestConfirmed(sc.views)}
	if page, ok := p.cache.get(key); ok {
		reply.Page = page
		return reply, nil
	}

	room := takeBuffer()
	reply.Page = p.renderBatch(q, &sc, room)
	p.keepOrLend(&reply, key, room)
	return reply, nil
}

// batchScope returns the views of the chains that a batch names. All of them must
// be available.
func (p *Pages) batchScope(q *Question) (scope, *render.Error) {
	sc, err := p.scopeOf(q, 0)
	if err != nil {
		return scope{}, err
	}

	for i := range q.Batch {
		if slices.Contains(sc.missing, q.Batch[i].Chain) {
			return scope{}, errUnavailableChain(q.Batch[i].Chain)
		}
	}
	return scope{views: slices.DeleteFunc(sc.views, func(v *rankings.View) bool {
		return !slices.ContainsFunc(q.Batch, func(id query.BatchID) bool {
			return id.Chain == v.State.Chain
		})
	})}, nil
}

// asksForPools reports whether a batch is of pools; otherwise it is of positions.
func (q *Question) asksForPools() bool { return q.Route == accounts.RoutePoolBatch }

// appendBatch appends the canonical text of a batch's question.
func (q *Question) appendBatch(dst []byte) []byte {
	dst = append(dst, q.Route.Path()...)
	for i := range q.Batch {
		dst = append(append(dst, ' '), q.Batch[i].Text...)
	}
	return dst
}

// renderBatch renders the rows in the order asked, then the ids that there are
// not, with the body in room.
func (p *Pages) renderBatch(q *Question, sc *scope, room *Buffer) *Page {
	dst, pools := append(room.body[:0], `{"positions":[`...), q.asksForPools()
	if pools {
		dst = append(room.body[:0], `{"pools":[`...)
	}
	first, missing := len(dst), []string(nil)
	for k := range q.Batch {
		id := &q.Batch[k]
		v, i, ok := sc.find(id, pools)
		if !ok {
			missing = append(missing, id.Text)
			continue
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = p.appendRow(dst, pools, &rankings.Row{View: v, Index: i}, &room.metrics)
	}

	dst = render.AppendMissingIDs(append(dst, ']'), missing)
	dst = append(dst, '}')
	room.body = dst
	return &Page{Body: dst, Generations: formatGenerations(sc.views...)}
}

// find returns the place of one id of a batch.
func (sc *scope) find(id *query.BatchID, pool bool) (v *rankings.View, i uint32, ok bool) {
	at := slices.IndexFunc(sc.views, func(v *rankings.View) bool {
		return v.State.Chain == id.Chain
	})
	v = sc.views[at]

	switch {
	case pool:
		i, ok = v.Pool(id.Pool)
	case !id.NoPosition:
		i, ok = v.Position(id.Position)
	}
	return v, i, ok
}
