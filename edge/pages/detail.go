package pages

import (
	"strconv"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/value"
	"tidemark/storage/accounts"
)

// answerDetail answers a question about one position or pool from the newest
// view of its chain.
func (p *Pages) answerDetail(q *Question) (Reply, *render.Error) {
	sc, err := p.scopeOf(q, q.Chain)
	if err != nil {
		return Reply{}, err
	}

	v := sc.views[0]
	i, ok := q.findIndex(v)
	if !ok {
		return Reply{}, q.errAbsent(v)
	}

	text := q.appendDetail(q.text[:0])
	key := sc.appendKey(text[len(text):], text)
	if page, ok := p.cache.get(key); ok {
		return Reply{Page: page, AsOf: v.Confirmed()}, nil
	}

	page, err := p.renderDetail(q, v, i)
	if err != nil {
		return Reply{}, err
	}
	page.Generations = formatGenerations(v)
	if !page.free {
		page.key = string(key)
		p.cache.put(page)
	}
	return Reply{Page: page, AsOf: v.Confirmed(), Free: page.free}, nil
}

// aboutPool reports whether a detail is about a pool; otherwise it is about a
// position.
func (q *Question) aboutPool() bool {
	switch q.Route {
	case accounts.RoutePool, accounts.RoutePoolCharts, accounts.RoutePoolTicks,
		accounts.RoutePoolEstimate:
		return true
	}
	return false
}

// findIndex returns the index of the position or pool in a view.
func (q *Question) findIndex(v *rankings.View) (uint32, bool) {
	switch {
	case q.aboutPool():
		return v.Pool(q.Pool)
	case q.NoPosition:
		return 0, false
	}
	return v.Position(q.Position)
}

// errAbsent is the 404 for a position or pool that a view does not have.
func (q *Question) errAbsent(v *rankings.View) *render.Error {
	what := "position"
	if q.aboutPool() {
		what = "pool"
	}
	return render.Absent(formatGenerations(v), "no such %s on chain %d", what, v.State.Chain)
}

// appendDetail appends the canonical text of a detail's question.
func (q *Question) appendDetail(dst []byte) []byte {
	dst = append(append(dst, q.Route.Path()...), ' ')
	if q.aboutPool() {
		dst = q.Pool.AppendHex(dst)
	} else {
		dst = strconv.AppendUint(dst, q.Position, 10)
	}

	dst = append(append(dst, ' '), q.Range.String()...)
	dst = append(append(dst, ' '), q.Interval.String()...)
	dst = strconv.AppendUint(append(dst, ' '), q.Paging.Page, 10)
	dst = strconv.AppendUint(append(dst, ' '), q.Paging.Limit, 10)
	if q.Route == accounts.RoutePoolEstimate {
		dst = q.Estimate.Append(append(dst, ' '))
	}
	return dst
}

// renderDetail renders the answer about position or pool i.
func (p *Pages) renderDetail(q *Question, v *rankings.View, i uint32) (*Page, *render.Error) {
	switch q.Route {
	case accounts.RoutePosition:
		return p.renderPosition(v, i)
	case accounts.RoutePool:
		return &Page{Body: render.AppendPoolDetail(nil, p.parts.poolRow(v, i))}, nil
	case accounts.RoutePoolTicks:
		return renderTicks(q, v.State, i), nil
	case accounts.RouteExplain:
		return p.renderExplanation(v, i), nil
	case accounts.RoutePositionCharts:
		return p.positionCharts(q, v, i)
	case accounts.RoutePoolCharts:
		return p.poolCharts(q, v, i)
	case accounts.RoutePoolEstimate:
		return p.poolEstimate(q, v, i)
	}

	panic("BUG: a route without a page")
}

// renderExplanation renders how position i comes to its numbers.
func (p *Pages) renderExplanation(v *rankings.View, i uint32) *Page {
	params, answers := p.pricesOf(v)
	e := value.Explain(v.State, params, answers, i)
	return &Page{Body: render.AppendExplanation(nil, v.State, i, e)}
}

// renderPosition renders a position with its history.
func (p *Pages) renderPosition(v *rankings.View, i uint32) (*Page, *render.Error) {
	h, err := p.findHistory(v, i)
	if err != nil {
		return nil, err
	}

	var m value.Metrics
	value.Position(v.State, i, &m)
	body := make([]byte, 0, rowBytes+len(h.entries))
	body = render.AppendPosition(body, v.State, i, &m, nil, 0)
	body = render.AppendHistory(body[:len(body)-1], h.entries, h.flags)
	return &Page{Body: append(body, '}'), free: h.flags.Degraded}, nil
}
