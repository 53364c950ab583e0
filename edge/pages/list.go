package pages

import (
	"bytes"
	"encoding/binary"
	"errors"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/block"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage/accounts"
	"tidemark/storage/pace"
)

// listing is a question for a page of positions or pools that is not in the page
// cache.
type listing struct {
	*Question
	page, limit, offset uint64
	totalCap            uint64 // limits.total-cap when it was asked, which may be changed meanwhile
	text                []byte // the canonical question
	filtered            bool   // counts and selections of the filter are kept
}

// found is the rows of a page and what is known about the whole list.
type found struct {
	rankings.Page
	views         []*rankings.View // that the rows come from
	count         uint64           // rows of the list; above the cap it is not exact
	countPending  bool             // the count was not ready in time
	fromSelection bool             // the views may be older than the published ones
	lastCopy      *Reply           // set instead of rows: the page as last served
}

// answerList answers a question for a page of positions or pools.
func (p *Pages) answerList(q *Question) (Reply, *render.Error) {
	sc, err := p.listScope(q)
	if err != nil {
		return Reply{}, err
	}
	defer func() { p.release(&sc) }()

	text := q.appendList(q.text[:0])
	key := sc.appendKey(text[len(text):], text)
	if page, ok := p.cache.get(key); ok {
		return p.listReply(page, sc.views), nil
	}

	l := newListing(q, text)
	l.totalCap = uint64(p.limits.Load().TotalCap)
	for range maxLeafRetries {
		f, cause := p.findRows(l, &sc)
		if cause == nil {
			return p.renderAndKeep(l, &sc, &f), nil
		}
		if !errors.Is(cause, block.ErrLeafGone) {
			return Reply{}, listError(cause)
		}

		// Two generations were published since the board was read, and a leaf of
		// our view has been deleted. Try again with the newest view. Leaves of a
		// cut go only when its chain is synced again.
		if sc.cut != nil {
			return Reply{}, errGone
		}
		if sc, err = p.scopeOf(q, q.listChain()); err != nil {
			return Reply{}, err
		}
	}
	return Reply{}, errChanging
}

// listReply is the reply with a page of rows of views.
func (p *Pages) listReply(page *Page, views []*rankings.View) Reply {
	if page.free {
		p.metrics.partial.Inc()
	}
	return Reply{Page: page, AsOf: oldestConfirmed(views), Free: page.free}
}

// errChanging is the 503 when generations are replaced faster than they are read.
var errChanging = render.Unavailable("rankings changed repeatedly while this page was read",
	retryAfter)

// listError is the error answer when no page could be found.
func listError(cause error) *render.Error {
	var told *render.Error
	switch {
	case errors.As(cause, &told):
		return told
	case errors.Is(cause, rankings.ErrWarming):
		return render.Unavailable("records are still loading after a restart", retryAfter)
	}
	return errUnreadable(cause)
}

// The two lists differ only in the functions from here to appendRow, and in how renderList
// renders their rows.

// listsPools reports whether the list is of pools; otherwise it is of positions.
func (q *Question) listsPools() bool {
	return q.Route == accounts.RoutePools || q.Route == accounts.RoutePoolExport
}

// listChain returns the chain of a list, or 0 for all chains.
func (q *Question) listChain() market.ChainID {
	if q.listsPools() {
		return q.Pools.Chain
	}
	return q.Positions.Chain
}

// appendList appends the canonical text of a list's question.
func (q *Question) appendList(dst []byte) []byte {
	if q.listsPools() {
		return query.AppendPools(append(dst, "pools?"...), &q.Pools)
	}
	return query.AppendPositions(append(dst, "positions?"...), &q.Positions)
}

func newListing(q *Question, text []byte) *listing {
	l := &listing{
		Question: q, text: text, page: q.Positions.Page, limit: q.Positions.Limit,
		filtered: q.Positions.IsFiltered(),
	}
	if q.listsPools() {
		l.page, l.limit, l.filtered = q.Pools.Page, q.Pools.Limit, q.Pools.IsFiltered()
	}
	l.offset = rankings.Offset(l.page, l.limit)
	return l
}

// filter returns the canonical question without page and limit.
func (l *listing) filter() []byte { return l.appendPage(nil, 1, rankings.DefaultLimit) }

// appendPage appends the canonical question for another page of the list.
func (l *listing) appendPage(dst []byte, page, limit uint64) []byte {
	if l.listsPools() {
		other := l.Pools
		other.Page, other.Limit = page, limit
		return query.AppendPools(append(dst, "pools?"...), &other)
	}
	other := l.Positions
	other.Page, other.Limit = page, limit
	return query.AppendPositions(append(dst, "positions?"...), &other)
}

// search prepares a search of the list in views.
func (l *listing) search(views []*rankings.View) (*rankings.Search, error) {
	if l.listsPools() {
		return rankings.SearchPools(views, &l.Pools)
	}
	return rankings.SearchPositions(views, &l.Positions)
}

// appendRow appends the rendered row of pool or position i. A rank of 0 is null.
func (p *Pages) appendRow(
	dst []byte, pool bool, v *rankings.View, i uint32, rank uint64, m *value.Metrics,
) []byte {
	if pool {
		return render.AppendPool(dst, p.parts.poolRow(v, i), rank)
	}

	at := v.State.Positions.At(i)
	return appendPosition(dst, v, i, at, p.parts.partsOf(v).share(at.Pool), rank, m)
}

// appendPosition appends the rendered row of position i, which is at, with the parts that
// the rows of its pool share; nil: without.
func appendPosition(
	dst []byte, v *rankings.View, i uint32, at *market.Position, share *render.Share, rank uint64,
	m *value.Metrics,
) []byte {
	if share == nil {
		value.Position(v.State, i, m)
		return render.AppendPosition(dst, v.State, i, m, rank)
	}
	share.Measure(v.State, at, m)
	return share.AppendPosition(dst, v.State, at, m, rank)
}

// findRows finds the rows of a page. When the view knows all rows of the list it
// seeks. Otherwise it walks to a page below the cap, and uses a selection for a
// deeper one.
func (p *Pages) findRows(l *listing, sc *scope) (found, error) {
	shallow, key := l.offset < l.totalCap, ""

	// Reuse what an earlier request found out about this filter. A count, for
	// shallow pages, is of fixed generations, and ends at the cap; a selection may outlive
	// them.
	if l.filtered && shallow {
		key = string(binary.LittleEndian.AppendUint64(sc.appendKey(nil, l.filter()), l.totalCap))
		if c, ok := p.jobs.findCount(key); ok {
			return p.walkToPage(l, sc, c, nil)
		}
	} else if l.filtered {
		key = string(sc.appendChainKey(nil, l.filter()))
		if sel, ok := p.jobs.findSelection(key); ok {
			return p.selectPage(l, sc, sel)
		}
	}

	search, err := l.search(sc.views)
	if err != nil {
		return found{}, err
	}
	if total, known := search.Total(); known {
		f := found{views: sc.views, count: total}
		f.Page, err = p.seekPage(l, search, sc.views)
		return f, err
	}

	// The filter is new: its work waits for its turn, and lasts until the rows are
	// found or the request stops waiting for them.
	kind := selectionTask
	if shallow {
		kind = countTask
	}
	turn, busy := p.admission.begin(task{l.Account, kind, search.Unread()})
	if busy != nil {
		return p.whenBusy(l, sc, shallow, busy)
	}
	defer turn.end()
	if shallow {
		return p.walkToPage(l, sc, p.jobs.startCount(key, sc.views, search, l.totalCap), search)
	}
	return p.selectPage(l, sc, p.jobs.startSelection(key, sc.views, search))
}

// whenBusy answers a new filter whose work was refused. A deep page has its last
// copy all the same.
func (p *Pages) whenBusy(
	l *listing, sc *scope, shallow bool, busy *render.Error,
) (found, error) {
	if !shallow {
		if f, ok := p.findLastCopy(l, sc); ok {
			return f, nil
		}
	}
	return found{}, busy
}

// findLastCopy returns a deep page as it was served last, if that is kept.
func (p *Pages) findLastCopy(l *listing, sc *scope) (found, bool) {
	last, ok := p.copies.get(string(sc.appendChainKey(nil, l.text)))
	if !ok {
		return found{}, false
	}
	p.metrics.copies.Inc()
	return found{lastCopy: &last}, true
}

// walkToPage finds a page below the cap. It first waits for the count, since a
// filter with few rows is then known completely and the page is a seek.
// Otherwise it walks on from where earlier walks got, however long that takes. c
// is nil when too many jobs wait already; then it walks from the start of search.
func (p *Pages) walkToPage(
	l *listing, sc *scope, c *count, search *rankings.Search,
) (found, error) {
	f := found{views: sc.views, countPending: true}
	if c != nil {
		f.countPending = !await(c.done, p.limits.Load().CountWait)
		f.count = c.soFar.Load()
		search = c.search.Load()
	}

	walk := search.Walk(l.offset, l.limit)
	pacer := pace.New(p.cfg.Board.Requests)
	for {
		done, err := walk.Step(p.leaves, stepRows)
		if err != nil {
			return f, err
		}
		if done {
			break
		}
		pacer.Pause()
	}
	f.Page = walk.Page()

	// The walk noted where pages begin: later pages of the filter start there.
	if learned := walk.Search(); c != nil && learned != search {
		c.search.CompareAndSwap(search, learned)
	}
	if f.countPending {
		p.metrics.uncounted.Inc()
	}
	return f, nil
}

// errReaching is the 503 for a deep page whose selection is not ready.
var errReaching = render.Unavailable("this page is still being reached; retry to go on from here",
	retryAfter)

// selectPage finds a page at or beyond the cap by the filter's selection. If that
// is not ready in time, the page is the copy that was served last. sel is nil
// when no selection could be started.
func (p *Pages) selectPage(l *listing, sc *scope, sel *selection) (found, error) {
	if sel == nil || !await(sel.done, p.limits.Load().ScanWait) || sel.search == nil {
		p.metrics.unselected.Inc()
		if f, ok := p.findLastCopy(l, sc); ok {
			return f, nil
		}
		return found{}, errReaching
	}

	f := found{views: sel.views, fromSelection: true}
	f.count, _ = sel.search.Total()
	var err error
	f.Page, err = p.seekPage(l, sel.search, sel.views)
	return f, err
}

// renderAndKeep renders a page and keeps it for later requests. A page whose
// count was not ready is not kept, since the next request may have the count, nor
// is one of the past, which hardly anyone asks for but a walk, and that once.
func (p *Pages) renderAndKeep(l *listing, sc *scope, f *found) Reply {
	if f.lastCopy != nil {
		last := f.lastCopy
		return Reply{Page: last.Page, AsOf: last.AsOf, Stale: true, Free: last.Free}
	}

	room := takeBuffer()
	page := p.renderList(l, sc, f, room)
	reply := p.listReply(page, f.views)
	switch {
	case f.fromSelection:
		page.Body = bytes.Clone(page.Body)
		room.Release()
		p.copies.put(string(sc.appendChainKey(nil, l.text)), reply)
	case f.countPending || sc.isPast:
		reply.Buffer = room
	default:
		p.keepOrLend(&reply, sc.appendKey(nil, l.text), room)
	}
	return reply
}

// renderList renders a page of a list, with its body in room.
func (p *Pages) renderList(l *listing, sc *scope, f *found, room *Buffer) *Page {
	var dst []byte
	if l.listsPools() {
		dst = p.appendPools(append(room.body[:0], `{"pools":[`...), f.Rows)
	} else {
		dst = p.appendPositions(append(room.body[:0], `{"positions":[`...), &f.Page, room)
	}

	pagination := paginate(l, f, l.totalCap)
	dst = render.AppendPagination(append(dst, ']'), &pagination)
	dst = append(render.AppendMissing(dst, sc.missing), '}')
	room.body = dst

	return &Page{
		Body: dst, free: len(sc.missing) > 0, Generations: formatGenerations(f.views...),
	}
}

// appendPools appends the rows of a page of pools.
func (p *Pages) appendPools(dst []byte, rows []rankings.Row) []byte {
	for i := range rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = render.AppendPool(dst, p.parts.poolRow(rows[i].View, rows[i].Index), rows[i].Rank)
	}
	return dst
}

// appendPositions appends the rows of a page of positions.
func (p *Pages) appendPositions(dst []byte, page *rankings.Page, room *Buffer) []byte {
	ahead, m := p.parts.readAhead(page, room), &room.metrics
	for i := range ahead {
		if i > 0 {
			dst = append(dst, ',')
		}
		a, r := &ahead[i], &page.Rows[i]
		dst = appendPosition(dst, r.View, r.Index, a.position, a.share, r.Rank, m)
	}

	clear(ahead) // so that a buffer which waits for its next page keeps no view alive
	return dst
}

// paginate returns the pagination object of a page.
func paginate(l *listing, f *found, limit uint64) render.Pagination {
	p := render.Pagination{
		Page: l.page, Limit: l.limit, HasMore: f.HasMore, Total: f.count,
		Capped: f.countPending || f.count > limit,
	}
	if p.Capped {
		p.CapTotal(l.offset, uint64(len(f.Rows)), limit)
	}
	return p
}
