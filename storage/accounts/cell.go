package accounts

import "sync/atomic"

// Cell is an account on the request path: who it is, what it may, what it has
// spent. All of it is atomics; see the package comment.
type Cell struct {
	ID        uint64
	Name      string
	CreatedAt int64 // Unix ms

	terms atomic.Pointer[Terms]
	tat   atomic.Int64 // GCRA: when the bucket is full again, quota clock
	slots [2]slot      // by parity of the month

	dirty atomic.Bool // on the book's list of cells to drain
	next  *Cell       // in that list
	woken atomic.Pointer[chan struct{}]
}

// NewCell makes an account that has used nothing.
func NewCell(id uint64, name string, createdAt int64, terms *Terms) *Cell {
	c := &Cell{ID: id, Name: name, CreatedAt: createdAt}
	c.terms.Store(terms)
	return c
}

// Terms are the account's limits and standing now.
func (c *Cell) Terms() *Terms { return c.terms.Load() }

// SetTerms replaces them, at once for every request that follows (writer).
func (c *Cell) SetTerms(t *Terms) { c.terms.Store(t) }

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

// Used is the month's totals as they stand, for reports.
func (c *Cell) Used(m Month) Tally {
	t, _ := c.slot(m).tally(m)
	t.Month = m
	return t
}

// Restore makes a month what was written (meter, before anyone asks).
func (c *Cell) Restore(t *Tally) { c.slot(t.Month).restore(t) }

// Begin makes the slot of the month's parity the month's (meter).
func (c *Cell) Begin(m Month) { c.slot(m).begin(m) }

// Tally reads a month's totals, with what is spent as its Lease; false when
// the cell has forgotten the month or not begun it.
func (c *Cell) Tally(m Month) (Tally, bool) { return c.slot(m).tally(m) }

// Leased is the lease that admissions of the month are held to.
func (c *Cell) Leased(m Month) int64 { return c.slot(m).lease.Load() }

// Open admits reservations up to a lease that is durable (meter).
func (c *Cell) Open(m Month, lease int64) { c.slot(m).open(lease) }

// Shut refuses reservations until Open. What Tally says from now on cannot
// grow, so the rest of the lease may be given back (meter).
func (c *Cell) Shut(m Month) { c.slot(m).shut() }

// Wake tells those who wait for a lease to ask again (meter).
func (c *Cell) Wake() {
	if ch := c.woken.Swap(nil); ch != nil {
		close(*ch)
	}
}
