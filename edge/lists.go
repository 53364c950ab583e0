package edge

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// listing is a question for a page of rows, of positions or of pools.
type listing struct {
	question    []byte // canonical, with its page
	filter      []byte // canonical, without
	chain       market.ChainID
	page, limit uint64
	offset      uint64
	name        string // of the array of rows
	filtered    bool   // what is found is kept beside the pages
	search      func(views []*rankings.View) (*rankings.Search, error)
	appendRow   func(dst []byte, row *rankings.Row, m *value.Metrics) []byte
}

// listed is a page as it was found, and what is known of the whole.
type listed struct {
	rankings.Page
	views   []*rankings.View
	counted uint64 // rows; more than the cap stands for any number above
	waited  bool   // the count did not get ready in time
}

// list answers a question that is not in the page cache.
func (s *Server) list(r *request, sc scope, l *listing) (reply, *Error) {
	for range maxLeafRetries {
		answer, err := s.tryList(r, sc, l)
		var told *Error
		switch {
		case err == nil:
			return answer, nil
		case errors.As(err, &told):
			return reply{}, told
		case errors.Is(err, rankings.ErrWarming):
			return reply{}, unavailable("records are loading after a restart", retryAfter)
		case !errors.Is(err, rankings.ErrLeafGone):
			return reply{}, broken(err)
		}
		// The view was overtaken by two generations: ask the newest.
		if sc, told = s.scopeOf(r, l.chain); told != nil {
			return reply{}, told
		}
	}
	return reply{}, unavailable("generations change too fast to be read", retryAfter)
}

// broken is the answer when the store could not be read.
func broken(cause error) *Error {
	e := unavailable("data could not be read", retryAfter)
	e.Cause = cause
	return e
}

func (s *Server) tryList(r *request, sc scope, l *listing) (reply, error) {
	shallow, key := l.offset < uint64(s.limits.TotalCap), ""
	if l.filtered {
		key = s.filterKey(l, sc, shallow)
		if c, ok := s.works.counted(key); ok {
			return s.shallow(r, sc, l, c, nil)
		}
		if sel, ok := s.works.selected(key); ok {
			return s.deep(sc, l, sel)
		}
	}
	search, err := l.search(sc.views)
	if err != nil {
		return reply{}, err
	}
	if total, known := search.Total(); known {
		found := listed{views: sc.views, counted: total}
		if found.Page, err = search.Page(s.leaves, l.offset, l.limit); err != nil {
			return reply{}, err
		}
		return s.finish(r, sc, l, &found), nil
	}
	if shallow {
		return s.shallow(r, sc, l, s.works.count(key, sc.views, search), search)
	}
	return s.deep(sc, l, s.works.selection(key, sc.views, search))
}

// filterKey is what is found of a filter is kept under: a count, for shallow
// pages, belongs to its generations; a selection outlives them.
func (s *Server) filterKey(l *listing, sc scope, shallow bool) string {
	if shallow {
		return string(s.key(nil, l.filter, sc))
	}
	return string(appendChains(bytes.Clone(l.filter), sc.views))
}

// shallow finds a page below the cap: it waits for the count, which makes the
// page a seek when there are few rows, and else walks to the page from where
// walks before it got, however long that takes. Without a count, nil, it walks
// all the way in search.
func (s *Server) shallow(
	r *request, sc scope, l *listing, c *count, search *rankings.Search,
) (reply, error) {
	found := listed{views: sc.views, waited: true}
	if c != nil {
		found.waited = !await(c.done, s.limits.CountWait)
		found.counted = c.soFar.Load()
		search = c.search.Load()
	}
	walk := search.Walk(l.offset, l.limit)
	for {
		done, err := walk.Step(s.leaves, stepRows)
		if err != nil {
			return reply{}, err
		}
		if done {
			break
		}
		runtime.Gosched()
	}
	found.Page = walk.Page()
	if learned := walk.Search(); c != nil && learned != search {
		c.search.CompareAndSwap(search, learned)
	}
	if found.waited {
		s.metrics.uncounted.Inc()
	}
	return s.finish(r, sc, l, &found), nil
}

// errReaching is the 503 of a deep page before its selection is ready.
var errReaching = unavailable("this page is still being reached; retry to go on from here",
	retryAfter)

// deep finds a page at or beyond the cap by its selection, nil if it could not
// be started, or answers with the copy that was served last.
func (s *Server) deep(sc scope, l *listing, sel *selection) (reply, error) {
	question := string(appendChains(bytes.Clone(l.question), sc.views))
	if sel == nil || !await(sel.done, s.limits.ScanWait) || sel.search == nil {
		s.metrics.unselected.Inc()
		if last, ok := s.works.lastCopy(question); ok {
			s.metrics.copies.Inc()
			return reply{page: last.page, asOf: last.asOf, stale: true, free: last.free}, nil
		}
		return reply{}, errReaching
	}
	found := listed{views: sel.views}
	found.counted, _ = sel.search.Total()
	var err error
	if found.Page, err = sel.search.Page(s.leaves, l.offset, l.limit); err != nil {
		return reply{}, err
	}
	p := s.renderList(sc, l, &found)
	answer := reply{page: p, asOf: asOf(sel.views), free: p.free}
	s.works.keepCopy(question, p, answer.asOf)
	return answer, nil
}

// finish renders a page and keeps it, unless what it says came from a wait.
func (s *Server) finish(r *request, sc scope, l *listing, found *listed) reply {
	p := s.renderList(sc, l, found)
	if !found.waited {
		p.key = string(s.key(nil, l.question, sc))
		s.pages.put(p)
	}
	return reply{page: p, asOf: asOf(found.views), free: p.free}
}

// scratch is room for the rows of a page while it grows.
type scratch struct {
	body    []byte
	metrics value.Metrics
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *Server) renderList(sc scope, l *listing, found *listed) *page {
	room := scratches.Get().(*scratch)
	dst := append(room.body[:0], `{"`...)
	dst = append(dst, l.name...)
	dst = append(dst, `":[`...)
	for i := range found.Rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = l.appendRow(dst, &found.Rows[i], &room.metrics)
	}
	p := pagination(l, found, uint64(s.limits.TotalCap))
	dst = render.AppendPagination(append(dst, ']'), &p)
	dst = append(render.AppendMissing(dst, sc.missing), '}')
	body := bytes.Clone(dst)
	room.body = dst
	scratches.Put(room)
	if len(sc.missing) > 0 {
		s.metrics.partial.Inc()
	}
	return &page{
		body: body, free: len(sc.missing) > 0,
		generations: string(appendGenerations(nil, found.views)),
	}
}

// pagination says how a page stands to its whole. A total that is capped is a
// floor, and never below the rows that the client has seen to exist.
func pagination(l *listing, found *listed, limit uint64) render.Pagination {
	p := render.Pagination{
		Page: l.page, Limit: l.limit, HasMore: found.HasMore, Total: found.counted,
		Capped: found.waited || found.counted > limit,
	}
	if !p.Capped {
		return p
	}
	p.Total = min(found.counted, limit)
	if rows := uint64(len(found.Rows)); rows > 0 {
		seen := l.offset + rows
		if found.HasMore {
			seen++
		}
		p.Total = max(p.Total, seen)
	}
	return p
}

// key appends what a question is kept under: itself and the generations that
// it is asked of. These tell which chains are missing, too.
func (s *Server) key(dst, question []byte, sc scope) []byte {
	dst = append(append(dst, question...), ' ')
	for _, v := range sc.views {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v.State.Chain))
		dst = binary.LittleEndian.AppendUint64(dst, v.Generation)
	}
	return dst
}
