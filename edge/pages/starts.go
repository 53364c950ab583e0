package pages

import (
	"hash/maphash"
	"sync/atomic"

	"tidemark/rankings"
)

// pageStarts remembers where the pages of a walk begin that follow one which was just found.
// Whoever walks a list asks for them next, and then they need no seek, which takes up to a
// quarter of the time of a page of all chains. An entry is found by its page's key, which is
// compared. One whose slot is taken by another costs seeks and nothing else.
type pageStarts struct {
	seed  maphash.Seed
	slots [maxStarts]atomic.Pointer[pageStart]
}

type pageStart struct {
	key string
	end rankings.End // of the page before it
}

func newPageStarts() *pageStarts { return &pageStarts{seed: maphash.MakeSeed()} }

// slot returns the place of a key.
func (s *pageStarts) slot(key []byte) *atomic.Pointer[pageStart] {
	return &s.slots[maphash.Bytes(s.seed, key)%maxStarts]
}

// get returns where the page of a key begins, or nil. It does not keep the key.
func (s *pageStarts) get(key []byte) rankings.End {
	if start := s.slot(key).Load(); start != nil && start.key == string(key) {
		return start.end
	}
	return nil
}

// put remembers where the page of a key begins.
func (s *pageStarts) put(key []byte, end rankings.End) {
	s.slot(key).Store(&pageStart{string(key), end})
}

// seekPage finds a page of a search over views that knows where its rows are. If the page is
// the first, or follows one that was found so, it remembers where the next one begins. After
// any other page nobody may go on, and remembering takes a hundredth of its time.
func (p *Pages) seekPage(
	l *listing, search *rankings.Search, views []*rankings.View,
) (rankings.Page, error) {
	room := l.text[len(l.text):]
	key := appendKeyOf(room, l.text, views)
	begin := p.starts.get(key)
	page, err := search.PageAfter(p.leaves, begin, l.offset, l.limit)

	if page.End != nil && (l.offset == 0 || begin != nil) {
		next := l.appendPage(room, l.page+1, l.limit)
		p.starts.put(appendKeyOf(next[len(next):], next, views), page.End)
	}
	return page, err
}
