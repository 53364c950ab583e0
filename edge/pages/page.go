package pages

import (
	"sync/atomic"

	"tidemark/edge/render"
)

// Page is a finished body: a JSON object or array without the flags that depend
// on the time of sending. It is immutable and may be shared.
type Page struct {
	Body        []byte
	Generations string // the X-Generation header

	key    string // of the page cache, which compares it on a hit
	free   bool   // not charged: partial or degraded
	packed [numCodings]atomic.Pointer[[]byte]

	stale atomic.Pointer[Page] // its stale form; nil until it is asked for
	of    *Page                // the page whose stale form this is; nil: it is none
	asOf  int64                // dataAsOf of a stale form
}

// Reply is a 200.
type Reply struct {
	*Page
	AsOf  int64 // unix milliseconds of its oldest data; 0 when it has no age
	Stale bool  // flag it stale even if it is not old
	Free  bool  // not charged
	// Buffer holds the body of a page that nobody keeps, and is to be given back when
	// the answer has been sent. nil: the body is the page's own.
	Buffer *Buffer
}

// Stale returns the page of a reply with stale and dataAsOf added. The first call makes
// it; it is kept with the page, which then costs the page cache more.
func (p *Pages) Stale(r *Reply) *Page {
	if kept := r.stale.Load(); kept != nil && kept.asOf == r.AsOf {
		return kept
	}

	body := make([]byte, 0, len(r.Body)+staleBytes)
	body = append(body, r.Body[:len(r.Body)-1]...)
	body = append(render.AppendStale(body, r.AsOf), '}')
	stale := &Page{Body: body, Generations: r.Generations, of: r.Page, asOf: r.AsOf}
	r.stale.Store(stale)
	p.tellCost(r.Page)
	return stale
}

// staleBytes is room for stale and dataAsOf.
const staleBytes = 64

// tellCost tells the page cache that a page, or the page whose stale form it is, costs more.
func (p *Pages) tellCost(page *Page) {
	if page.of != nil {
		page = page.of
	}
	if page.key != "" { // it is not the cache's otherwise
		p.cache.put(page)
	}
}

// Packed returns the body of a page in a coding. The first call compresses it; the
// result is kept with the page, which then costs the page cache more.
func (p *Pages) Packed(page *Page, c Coding) []byte {
	if kept := page.packed[c].Load(); kept != nil {
		return *kept
	}
	body := pack(page.Body, c)
	page.packed[c].Store(&body)
	p.tellCost(page)
	return body
}
