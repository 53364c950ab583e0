package accounts

import (
	"sync/atomic"

	"tidemark/rankings/ahead"
)

// Cell is an account on the request path: its terms, its burst bucket and the units
// that it spent. Every field that changes is atomic; see the package comment.
//
// The fields that every request writes come first, in one cache line, and those that it
// only reads are the next. The counts of its route are in one other line.
type Cell struct {
	terms atomic.Pointer[Terms]
	tat   atomic.Int64 // GCRA: when the bucket will be full, on the quota clock
	slots [2]slot      // by parity of the month
	dirty link[Cell]   // on the book's list of cells to drain

	ID uint64
	// reserved is, for each slot, how far the lease was ahead of the bill when the
	// month was restored. These units count as spent but were never billed.
	reserved [2]atomic.Int64
	// share is what the account has in a cluster, by parity of the month; nil: nothing is
	// known, or the node is alone.
	share [2]atomic.Pointer[Share]
	// burst is the share of the burst limit in a cluster, packed; 0: that of the book. asked
	// counts requests for tokens, and is only used in a cluster.
	burst  atomic.Uint64
	asked  atomic.Int64
	number uint32 // in the book, plus one; 0: the account has no keys

	counts [2][NumRoutes]struct{ requests, units atomic.Int64 }
	woken  atomic.Pointer[chan struct{}]
	asking link[Cell]            // on the book's list of cells that asked
	sized  atomic.Pointer[Terms] // by which the lease was sized

	Name      string
	CreatedAt int64 // Unix ms
}

// NewCell makes an account that has used nothing.
func NewCell(id uint64, name string, createdAt int64, terms *Terms) *Cell {
	c := &Cell{ID: id, Name: name, CreatedAt: createdAt}
	c.terms.Store(terms)
	c.sized.Store(terms)
	return c
}

// ask asks for the cache lines that a request of the month uses, with the counts of the
// first four routes, those of positions.
func (c *Cell) ask(m Month) {
	ahead.Line(c)
	ahead.Line(&c.ID)
	ahead.Line(&c.counts[m&1])
}

// Terms returns the account's current limits and status.
func (c *Cell) Terms() *Terms { return c.terms.Load() }

func (c *Cell) slot(m Month) *slot { return &c.slots[m&1] }

// Burst is the state of the bucket after a request took from it.
type Burst struct {
	Left    int64 // tokens
	FullNs  int64 // until the bucket is full
	RetryNs int64 // until there is a token; 0 when this request got one
}

// takeToken takes a token (GCRA). A refused request changes nothing. About 15 ns.
func (c *Cell) takeToken(t *Terms, s BurstShare, now int64) Burst {
	if t.interval == 0 {
		return Burst{}
	}

	interval, tolerance := t.pace(s)
	for {
		old := c.tat.Load()
		early := max(old-now, 0)
		ahead := early + interval
		if ahead > tolerance {
			return Burst{FullNs: early, RetryNs: ahead - tolerance}
		}
		if c.tat.CompareAndSwap(old, now+ahead) {
			return Burst{Left: (tolerance - ahead) / interval, FullNs: ahead}
		}
	}
}

// putToken puts a token back into the bucket.
func (c *Cell) putToken(t *Terms, s BurstShare) {
	interval, _ := t.pace(s)
	c.tat.Add(-interval)
}

// fitBucket has the bucket owe no more time than a full one is worth by these terms: under
// slower ones it may have come to owe more.
func (c *Cell) fitBucket(t *Terms, s BurstShare, now int64) {
	_, room := t.pace(s)
	room = max(room, t.tolerance) // a node without a part of the limit has no room, and still owes
	for {
		old := c.tat.Load()
		if old-now <= room || c.tat.CompareAndSwap(old, now+room) {
			return
		}
	}
}

// peekBurst returns the state of the bucket without taking a token.
func (c *Cell) peekBurst(t *Terms, s BurstShare, now int64) Burst {
	if t.interval == 0 {
		return Burst{}
	}
	interval, tolerance := t.pace(s)
	early := max(c.tat.Load()-now, 0)
	return Burst{Left: max(tolerance-early, 0) / interval, FullNs: early}
}

// count adds usage of a route to the month, unless the slot has moved on to another
// month.
func (c *Cell) count(m Month, r Route, used Count) {
	if !isMonth(c.slot(m).word.Load(), m) {
		return
	}
	n := &c.counts[m&1][r]
	if used.Requests > 0 {
		n.requests.Add(used.Requests)
	}
	if used.Units > 0 {
		n.units.Add(used.Units)
	}
}

// Begin starts a month in its slot (meter): without units and shut. It does nothing
// if the slot has that month already.
func (c *Cell) Begin(m Month) {
	if !isMonth(c.slot(m).word.Load(), m) {
		c.Restore(&Tally{Month: m})
	}
}

// Restore sets a month to the stored totals, shut (meter).
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

// Tally returns a month's totals, with the units spent as its Lease. It returns
// false if no slot has the month. A request that is settled at the same time may be
// missing: it marks the cell dirty again.
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

// Reserved returns the units that count against the month's quota but were never
// billed, because the node was killed before it wrote how much of a lease was used.
func (c *Cell) Reserved(m Month) int64 {
	if !isMonth(c.slot(m).word.Load(), m) {
		return 0
	}
	return c.reserved[m&1].Load()
}

// Lease returns the current lease of the month.
func (c *Cell) Lease(m Month) int64 { return c.slot(m).lease.Load() }

// Open allows reservations up to a durable lease, or NoLease (meter).
func (c *Cell) Open(m Month, lease int64) { c.slot(m).open(lease) }

// SizedBy notes by which terms the lease was sized (meter).
func (c *Cell) SizedBy(t *Terms) { c.sized.Store(t) }

// Lower reduces the lease (meter). The units spent may already exceed it, but will
// not grow.
func (c *Cell) Lower(m Month, lease int64) { c.slot(m).lower(lease) }

// Shut refuses reservations until Open (meter). The units spent cannot grow any
// more, so the rest of the lease may be given back.
func (c *Cell) Shut(m Month) { c.slot(m).shut() }

// Wake wakes the requests that wait for a lease (meter).
func (c *Cell) Wake() {
	if ch := c.woken.Swap(nil); ch != nil {
		close(*ch)
	}
}
