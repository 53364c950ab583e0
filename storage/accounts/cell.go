package accounts

import (
	"sync/atomic"
	"unsafe"
)

// Cell is an account on the request path: who it is, what it may, what it has
// spent. All of it is atomics; see the package comment.
//
// The fields stand in the order of their heat: what every request touches
// fills the first cache line, and its route's counts are in one other.
type Cell struct {
	terms  atomic.Pointer[Terms]
	tat    atomic.Int64 // GCRA: when the bucket is full again, quota clock
	slots  [2]slot      // by parity of the month
	dirty  atomic.Bool  // on the book's list of cells to drain
	next   *Cell        // in that list
	counts [2][NumRoutes]struct{ requests, units atomic.Int64 }
	woken  atomic.Pointer[chan struct{}]
	// reserved is what counts as spent and was never billed: of each slot's
	// month, what its lease was ahead of its bill when it was restored.
	reserved [2]atomic.Int64

	ID        uint64
	Name      string
	CreatedAt int64 // Unix ms
}

// NewCell makes an account that has used nothing.
func NewCell(id uint64, name string, createdAt int64, terms *Terms) *Cell {
	c := &Cell{ID: id, Name: name, CreatedAt: createdAt}
	c.terms.Store(terms)
	return c
}

// prefetch has the lines fetched that a request of the month writes, with the
// counts of the first four routes: those of positions.
func (c *Cell) prefetch(m Month) {
	prefetch(unsafe.Pointer(c))
	prefetch(unsafe.Pointer(&c.counts[m&1]))
}

// Terms are the account's limits and standing now.
func (c *Cell) Terms() *Terms { return c.terms.Load() }

func (c *Cell) slot(m Month) *slot { return &c.slots[m&1] }

// Burst is the state of the bucket after a request took from it.
type Burst struct {
	Left    int64 // tokens
	FullNs  int64 // until the bucket is full
	RetryNs int64 // until there is a token; 0 when this request got one
}

// take takes a token (GCRA): a request may come a bucket's worth of intervals
// early and no more, and one that may not leaves no trace. About 15 ns.
func (c *Cell) take(t *Terms, now int64) Burst {
	if t.interval == 0 {
		return Burst{}
	}

	for {
		old := c.tat.Load()
		early := max(old-now, 0)
		ahead := early + t.interval
		if ahead > t.tolerance {
			return Burst{FullNs: early, RetryNs: ahead - t.tolerance}
		}
		if c.tat.CompareAndSwap(old, now+ahead) {
			return Burst{Left: (t.tolerance - ahead) / t.interval, FullNs: ahead}
		}
	}
}

// look is what take would find.
func (c *Cell) look(t *Terms, now int64) Burst {
	if t.interval == 0 {
		return Burst{}
	}
	early := max(c.tat.Load()-now, 0)
	return Burst{Left: max(t.tolerance-early, 0) / t.interval, FullNs: early}
}

// count adds an answered request to the month, unless the slot has gone on
// to another one.
func (c *Cell) count(m Month, r Route, units int64) {
	if !isMonth(c.slot(m).word.Load(), m) {
		return
	}
	n := &c.counts[m&1][r]
	n.requests.Add(1)
	if units > 0 {
		n.units.Add(units)
	}
}

// Begin makes the slot of the month's parity the month's (meter). It starts
// shut and empty; a slot that is the month's already stays as it is.
func (c *Cell) Begin(m Month) {
	if !isMonth(c.slot(m).word.Load(), m) {
		c.Restore(&Tally{Month: m})
	}
}

// Restore makes a month what was written, shut (meter).
func (c *Cell) Restore(t *Tally) {
	s := c.slot(t.Month)
	s.word.Store(closedWord(t.Month, t.Lease))
	s.lease.Store(t.Lease)
	c.reserved[t.Month&1].Store(t.Reserved())
	for i := range t.Routes {
		n := &c.counts[t.Month&1][i]
		n.requests.Store(t.Routes[i].Requests)
		n.units.Store(t.Routes[i].Units)
	}
}

// Tally reads a month's totals, with what is spent as its Lease; false when
// the cell has not begun the month or has forgotten it. A request that is
// settled meanwhile may be missing: it marks the cell again.
func (c *Cell) Tally(m Month) (t Tally, ok bool) {
	t.Month = m
	word := c.slot(m).word.Load()
	if !isMonth(word, m) {
		return t, false
	}
	for i := range t.Routes {
		n := &c.counts[m&1][i]
		t.Routes[i] = Count{n.requests.Load(), n.units.Load()}
	}
	t.Lease = max(spentOf(word), t.Billed())
	return t, true
}

// Reserved is what counts against the month's quota without having been billed,
// because the node ended before it could say what of a lease was used.
func (c *Cell) Reserved(m Month) int64 {
	if !isMonth(c.slot(m).word.Load(), m) {
		return 0
	}
	return c.reserved[m&1].Load()
}

// Lease is what admissions of the month are held to.
func (c *Cell) Lease(m Month) int64 { return c.slot(m).lease.Load() }

// Open admits reservations up to a lease that is durable (meter).
func (c *Cell) Open(m Month, lease int64) { c.slot(m).open(lease) }

// Lower holds admissions to less than the lease was, from now on (meter). What
// is spent may be more than that already, but will not grow.
func (c *Cell) Lower(m Month, lease int64) { c.slot(m).lower(lease) }

// Shut refuses reservations until Open: what is spent cannot grow from now
// on, so the rest of the lease may be given back (meter).
func (c *Cell) Shut(m Month) { c.slot(m).shut() }

// Wake tells those who wait for a lease to ask again (meter).
func (c *Cell) Wake() {
	if ch := c.woken.Swap(nil); ch != nil {
		close(*ch)
	}
}
