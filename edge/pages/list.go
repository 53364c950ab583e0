package pages

import (
	"bytes"
	"encoding/binary"
	"errors"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/block"
	"tidemark/storage/pace"
)

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
