package pages

import (
	"strconv"
	"time"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/value"
	"tidemark/storage/accounts"
)

// errReplacing is the 503 for a detail of blocks that the store is replacing.
var errReplacing = render.Unavailable("blocks of the chain are being replaced", retryAfter)

// answerDetail answers a question about one position or pool. The store may have replaced
// blocks of the view meanwhile: then it answers from the next one, which comes in a moment.
func (p *Pages) answerDetail(q *Question) (Reply, *render.Error) {
	reply, err := p.answerNewest(q)
	if err != errReplacing {
		return reply, err
	}

	for end := time.Now().Add(replacedWait); err == errReplacing && time.Now().Before(end); {
		time.Sleep(pollEvery)
		reply, err = p.answerNewest(q)
	}
	return reply, err
}

// answerNewest answers a question about one position or pool from the newest view of its
// chain.
func (p *Pages) answerNewest(q *Question) (Reply, *render.Error) {
	sc, err := p.scopeOf(q, q.Chain)
	if err != nil {
		return Reply{}, err
	}

	v := sc.views[0]
	text := q.appendDetail(q.text[:0])
	key := sc.appendKey(text[len(text):], text)
	if page, ok := p.cache.get(key); ok && !q.NoPosition {
		return Reply{Page: page, AsOf: v.Confirmed()}, nil
	}

	i, ok := q.findIndex(v)
	if !ok {
		return Reply{}, q.errAbsent(v)
	}

	room := takeBuffer()
	body, degraded, err := p.renderDetail(room.body[:0], q, v, i)
	if p.isReplaced(v) {
		err = errReplacing // what was read of the store may be of other blocks
	}
	if err != nil {
		room.Release()
		return Reply{}, err
	}
	room.body = body

	page := &Page{Body: body, Generations: formatGenerations(v), free: degraded}
	reply := Reply{Page: page, AsOf: v.Confirmed(), Free: degraded}
	if degraded {
		reply.Buffer = room
	} else {
		p.keepOrLend(&reply, key, room)
	}
	return reply, nil
}

// isReplaced reports whether the store has, or is about to have, other blocks than a view.
func (p *Pages) isReplaced(v *rankings.View) bool {
	c, ok := p.cfg.Board.Load().Chain(v.State.Chain)
	return !ok || v.Generation < c.Unbroken
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

// renderDetail appends the answer about position or pool i. One that is degraded lacks
// what took too long to read.
func (p *Pages) renderDetail(
	dst []byte, q *Question, v *rankings.View, i uint32,
) (body []byte, degraded bool, err *render.Error) {
	switch q.Route {
	case accounts.RoutePosition:
		return p.appendPosition(dst, v, i)
	case accounts.RoutePool:
		body = render.AppendPoolDetail(dst, p.parts.poolRow(v, i))
	case accounts.RoutePoolTicks:
		body = appendTicks(dst, q, v.State, i)
	case accounts.RouteExplain:
		body = p.appendExplanation(dst, v, i)
	case accounts.RoutePositionCharts:
		body, err = p.appendPositionCharts(dst, q, v, i)
	case accounts.RoutePoolCharts:
		body, err = p.appendPoolCharts(dst, q, v, i)
	case accounts.RoutePoolEstimate:
		body, err = p.appendEstimate(dst, q, v, i)
	default:
		panic("BUG: a route without a page")
	}
	return body, false, err
}

// appendExplanation appends how position i comes to its numbers.
func (p *Pages) appendExplanation(dst []byte, v *rankings.View, i uint32) []byte {
	params, answers := p.pricesOf(v)
	return render.AppendExplanation(dst, v.State, i, value.Explain(v.State, params, answers, i))
}

// appendPosition appends a position with its history.
func (p *Pages) appendPosition(
	dst []byte, v *rankings.View, i uint32,
) (body []byte, degraded bool, err *render.Error) {
	h, err := p.findHistory(v, i)
	if err != nil {
		return nil, false, err
	}
	defer h.room.Release()

	var m value.Metrics
	dst = p.appendRow(dst, false, &rankings.Row{View: v, Index: i}, &m)
	dst = render.AppendHistory(dst[:len(dst)-1], h.entries, h.flags)
	return append(dst, '}'), h.flags.Degraded, nil
}
