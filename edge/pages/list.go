package pages

import (
	"bytes"
	"errors"
	"runtime"
	"sync"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage/accounts"
)

// listing is a question for a page of rows, of positions or of pools, that is
// not in the page cache.
type listing struct {
	*Question
	page, limit, offset uint64
	text                []byte // canonical, with its page
	filtered            bool   // what is found of the filter is kept for its other pages
	filter              []byte // canonical, without the page
}

// found is the rows of a page, and what is known of the whole list.
type found struct {
	rankings.Page
	views   []*rankings.View
	counted uint64 // rows; more than the cap stands for any number above
	waited  bool   // the count did not get ready in time
	deep    bool   // by a selection, whose generations may be older
	copied  *Reply // instead of rows: the page as it was last served
}

// list answers a question for a page of positions or of pools.
func (p *Pages) list(q *Question) (Reply, *render.Error) {
	sc, err := p.scopeOf(q, q.listChain())
	if err != nil {
		return Reply{}, err
	}

	// The page may have been rendered for the same question and generations.
	text := q.appendList(q.text[:0])
	key := sc.appendKey(text[len(text):], text)
	if page, ok := p.cache.get(key); ok {
		return Reply{Page: page, AsOf: asOf(sc.views), Free: page.free}, nil
	}

	l := newListing(q, text)
	for range maxLeafRetries {
		f, cause := p.findRows(l, &sc)
		if cause == nil {
			return p.finish(l, &sc, &f), nil
		}
		if !errors.Is(cause, rankings.ErrLeafGone) {
			return Reply{}, listError(cause)
		}
		// Two generations were published since the board was read: their leaves
		// have replaced those of the view. Ask the newest.
		if sc, err = p.scopeOf(q, q.listChain()); err != nil {
			return Reply{}, err
		}
	}
	return Reply{}, render.Unavailable("generations change too fast to be read", retryAfter)
}

// listError is the answer when no page was found.
func listError(cause error) *render.Error {
	var told *render.Error
	switch {
	case errors.As(cause, &told):
		return told
	case errors.Is(cause, rankings.ErrWarming):
		return render.Unavailable("records are loading after a restart", retryAfter)
	}
	return broken(cause)
}

// The next functions are all in which the two lists differ.

// listsPools tells which list is asked for.
func (q *Question) listsPools() bool { return q.Route == accounts.RoutePools }

// listChain is the chain that a list is asked of, 0 for all.
func (q *Question) listChain() market.ChainID {
	if q.listsPools() {
		return q.Pools.Chain
	}
	return q.Positions.Chain
}

// appendList appends the canonical text of a question for a list.
func (q *Question) appendList(dst []byte) []byte {
	if q.listsPools() {
		return query.AppendPools(append(dst, "pools?"...), &q.Pools)
	}
	return query.AppendPositions(append(dst, "positions?"...), &q.Positions)
}

func newListing(q *Question, text []byte) *listing {
	l := &listing{Question: q, text: text}
	if q.listsPools() {
		front := q.Pools
		front.Page, front.Limit = 1, rankings.DefaultLimit
		l.filter = query.AppendPools([]byte("pools?"), &front)
		l.page, l.limit, l.offset = q.Pools.Page, q.Pools.Limit, q.Pools.Offset()
		l.filtered = q.Pools.IsFiltered()
		return l
	}

	front := q.Positions
	front.Page, front.Limit = 1, rankings.DefaultLimit
	l.filter = query.AppendPositions([]byte("positions?"), &front)
	l.page, l.limit, l.offset = q.Positions.Page, q.Positions.Limit, q.Positions.Offset()
	l.filtered = q.Positions.IsFiltered()
	return l
}

// search prepares the list over views.
func (l *listing) search(views []*rankings.View) (*rankings.Search, error) {
	if l.listsPools() {
		return rankings.SearchPools(views, &l.Pools)
	}
	return rankings.SearchPositions(views, &l.Positions)
}

// appendRow renders a row of the list.
func (p *Pages) appendRow(dst []byte, l *listing, row *rankings.Row, m *value.Metrics) []byte {
	if l.listsPools() {
		return render.AppendPool(dst, p.parts.pool(row.View, row.Index), row.Rank)
	}
	st := row.View.State
	value.Position(st, row.Index, m)
	share := p.parts.of(row.View).share(st.Positions.At(row.Index).Pool, m)
	return render.AppendPosition(dst, st, row.Index, m, share, row.Rank)
}

// findRows finds the rows of a page: by a seek where the view knows its rows, else
// by a walk below the cap, and by a selection from there on.
func (p *Pages) findRows(l *listing, sc *scope) (found, error) {
	shallow, key := l.offset < uint64(p.limits.Load().TotalCap), ""

	// What an earlier question found of the same filter is taken up. A count,
	// for shallow pages, belongs to its generations; a selection outlives them.
	if l.filtered && shallow {
		key = string(sc.appendKey(nil, l.filter))
		if c, ok := p.jobs.findCount(key); ok {
			return p.walk(l, sc, c, nil)
		}
	} else if l.filtered {
		key = string(sc.appendChainKey(nil, l.filter))
		if sel, ok := p.jobs.findSelection(key); ok {
			return p.selectPage(l, sc, sel)
		}
	}

	search, err := l.search(sc.views)
	if err != nil {
		return found{}, err
	}
	total, known := search.Total()
	switch {
	case known:
		f := found{views: sc.views, counted: total}
		f.Page, err = search.Page(p.leaves, l.offset, l.limit)
		return f, err
	case shallow:
		return p.walk(l, sc, p.jobs.startCount(key, sc.views, search), search)
	}
	return p.selectPage(l, sc, p.jobs.startSelection(key, sc.views, search))
}

// walk finds a page below the cap. It waits for the count, which makes the page
// a seek when there are few rows, and else walks to the page from where walks
// before it got, however long that takes. Without a count (nil: too many jobs
// wait) it walks all the way in search.
func (p *Pages) walk(
	l *listing, sc *scope, c *count, search *rankings.Search,
) (found, error) {
	f := found{views: sc.views, waited: true}
	if c != nil {
		f.waited = !await(c.done, p.limits.Load().CountWait)
		f.counted = c.soFar.Load()
		search = c.search.Load()
	}

	walk := search.Walk(l.offset, l.limit)
	for {
		done, err := walk.Step(p.leaves, stepRows)
		if err != nil {
			return f, err
		}
		if done {
			break
		}
		runtime.Gosched()
	}
	f.Page = walk.Page()

	// The next page of the filter need not walk over these rows again.
	if learned := walk.Search(); c != nil && learned != search {
		c.search.CompareAndSwap(search, learned)
	}
	if f.waited {
		p.metrics.uncounted.Inc()
	}
	return f, nil
}

// errReaching is the 503 of a deep page before its selection is ready.
var errReaching = render.Unavailable("this page is still being reached; retry to go on from here",
	retryAfter)

// selectPage finds a page at or beyond the cap by its selection (nil: too many
// run), or else the copy of it that was served last.
func (p *Pages) selectPage(l *listing, sc *scope, sel *selection) (found, error) {
	if sel == nil || !await(sel.done, p.limits.Load().ScanWait) || sel.search == nil {
		p.metrics.unselected.Inc()
		if last, ok := p.copies.get(string(sc.appendChainKey(nil, l.text))); ok {
			p.metrics.copies.Inc()
			return found{copied: &last}, nil
		}
		return found{}, errReaching
	}

	f := found{views: sel.views, deep: true}
	f.counted, _ = sel.search.Total()
	var err error
	f.Page, err = sel.search.Page(p.leaves, l.offset, l.limit)
	return f, err
}

// finish renders a page and keeps it where a later question will look for it. A
// page whose flags came from a wait is not kept.
func (p *Pages) finish(l *listing, sc *scope, f *found) Reply {
	if f.copied != nil {
		return Reply{Page: f.copied.Page, AsOf: f.copied.AsOf, Stale: true, Free: f.copied.Free}
	}

	page := p.render(l, sc, f)
	reply := Reply{Page: page, AsOf: asOf(f.views), Free: page.free}
	switch {
	case f.deep:
		p.copies.put(string(sc.appendChainKey(nil, l.text)), reply)
	case !f.waited:
		page.key = string(sc.appendKey(nil, l.text))
		p.cache.put(page)
	}
	return reply
}

// scratch is room for the rows of a page while it grows.
type scratch struct {
	body    []byte
	metrics value.Metrics
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// render renders a page of a list.
func (p *Pages) render(l *listing, sc *scope, f *found) *Page {
	room := scratches.Get().(*scratch)
	defer scratches.Put(room)

	dst := append(room.body[:0], `{"positions":[`...)
	if l.listsPools() {
		dst = append(room.body[:0], `{"pools":[`...)
	}
	for i := range f.Rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = p.appendRow(dst, l, &f.Rows[i], &room.metrics)
	}

	pagination := paginate(l, f, uint64(p.limits.Load().TotalCap))
	dst = render.AppendPagination(append(dst, ']'), &pagination)
	dst = append(render.AppendMissing(dst, sc.missing), '}')
	room.body = dst

	if len(sc.missing) > 0 {
		p.metrics.partial.Inc()
	}
	return &Page{
		Body: bytes.Clone(dst), free: len(sc.missing) > 0, Generations: generations(f.views...),
	}
}

// paginate tells how a page stands to its whole. A total that is capped is a
// floor, and never below the rows that the client has seen to exist.
func paginate(l *listing, f *found, limit uint64) render.Pagination {
	p := render.Pagination{
		Page: l.page, Limit: l.limit, HasMore: f.HasMore, Total: f.counted,
		Capped: f.waited || f.counted > limit,
	}
	if !p.Capped {
		return p
	}

	p.Total = min(f.counted, limit)
	if rows := uint64(len(f.Rows)); rows > 0 {
		seen := l.offset + rows
		if f.HasMore {
			seen++
		}
		p.Total = max(p.Total, seen)
	}
	return p
}
