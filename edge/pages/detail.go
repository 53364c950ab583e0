package pages

import (
	"strconv"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/value"
	"tidemark/storage/accounts"
)

// detail answers a question about one position or pool, which it finds in the
// newest view of its chain.
func (p *Pages) detail(q *Question) (Reply, *render.Error) {
	sc, err := p.scopeOf(q, q.Chain)
	if err != nil {
		return Reply{}, err
	}
	v := sc.views[0]
	i, ok := q.find(v)
	if !ok {
		return Reply{}, q.errAbsent(v)
	}

	// The page may have been rendered for the same question and generation.
	text := q.appendDetail(q.text[:0])
	key := sc.appendKey(text[len(text):], text)
	if page, ok := p.cache.get(key); ok {
		return Reply{Page: page, AsOf: v.Confirmed()}, nil
	}

	page, err := p.build(q, v, i)
	if err != nil {
		return Reply{}, err
	}
	page.Generations = generations(v)
	if !page.free && len(page.Body) <= maxKept {
		page.key = string(key)
		p.cache.put(page)
	}
	return Reply{Page: page, AsOf: v.Confirmed(), Free: page.free}, nil
}

// aboutPool tells whether a detail is about a pool; else it is about a
// position.
func (q *Question) aboutPool() bool {
	return q.Route == accounts.RoutePool || q.Route == accounts.RoutePoolCharts
}

// find returns the index of what is asked for.
func (q *Question) find(v *rankings.View) (uint32, bool) {
	switch {
	case q.aboutPool():
		return v.Pool(q.Pool)
	case q.NoPosition:
		return 0, false
	}
	return v.Position(q.Position)
}

// errAbsent is the 404 of what a view does not have.
func (q *Question) errAbsent(v *rankings.View) *render.Error {
	what := "position"
	if q.aboutPool() {
		what = "pool"
	}
	return render.Absent(generations(v), "no such %s on chain %d", what, v.State.Chain)
}

// appendDetail appends the canonical text of a question for a detail.
func (q *Question) appendDetail(dst []byte) []byte {
	dst = append(append(dst, q.Route.Path()...), ' ')
	if q.aboutPool() {
		dst = q.Pool.AppendHex(dst)
	} else {
		dst = strconv.AppendUint(dst, q.Position, 10)
	}
	return append(append(dst, ' '), q.Range.String()...)
}

// build renders what is asked of position or pool i.
func (p *Pages) build(q *Question, v *rankings.View, i uint32) (*Page, *render.Error) {
	switch q.Route {
	case accounts.RoutePosition:
		return p.position(v, i)
	case accounts.RoutePool:
		return &Page{Body: render.AppendPool(nil, p.parts.pool(v, i), 0)}, nil
	case accounts.RouteExplain:
		return p.explanation(q, v, i), nil
	case accounts.RoutePositionCharts:
		return p.positionCharts(q, v, i)
	case accounts.RoutePoolCharts:
		return p.poolCharts(q, v, i)
	}

	panic("BUG: a route without a page")
}

// explanation renders how position i comes to its numbers. The feed's answers
// are those of the view; of one that was restored they are the present ones.
func (p *Pages) explanation(q *Question, v *rankings.View, i uint32) *Page {
	params, answers := p.cfg.Prices(q.Chain)
	if v.FeedPrices != nil {
		answers = v.FeedPrices
	}
	e := value.Explain(v.State, params, answers, i)
	return &Page{Body: render.AppendExplanation(nil, v.State, i, e)}
}

// position renders a position with its history.
func (p *Pages) position(v *rankings.View, i uint32) (*Page, *render.Error) {
	h, err := p.history(v, i)
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
