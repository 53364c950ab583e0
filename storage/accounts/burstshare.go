package accounts

import (
	"iter"
	"math/bits"
)

// WholeLimit is all parts of a burst limit.
const WholeLimit = 1 << 20

// BurstShare is what a node of a cluster has of an account's burst limit. The zero value
// is that of a node that is alone: everything.
//
// A node with p of the parts fills its bucket at that part of the rate. The bucket has
// room for one token, and for the same part of those that the burst has beyond one for
// each node. So all buckets together have room for the burst, and an idle node admits a
// request however small its part is.
type BurstShare struct {
	Parts int64 // of WholeLimit
	Nodes int64 // that share the limit
}

func (s BurstShare) pack() uint64 { return uint64(s.Nodes)<<32 | uint64(s.Parts) }

func unpackBurst(w uint64) BurstShare {
	return BurstShare{Parts: int64(w & (1<<32 - 1)), Nodes: int64(w >> 32)}
}

// noTokens is the interval between tokens of a node that has no part of a limit.
const noTokens = 1_000_000_000

// pace returns the time between two tokens, and the time that a full bucket is worth.
func (t *Terms) pace(s BurstShare) (interval, tolerance int64) {
	switch {
	case s.Nodes == 0:
		return t.interval, t.tolerance
	case s.Parts == 0:
		return noTokens, 0
	}
	interval = ceilDiv(t.interval*WholeLimit, s.Parts)
	return interval, interval + t.interval*max(t.Plan.Burst-s.Nodes, 0)
}

// SetNoBurst begins to share burst limits: this node has no part of any yet. Call it before
// the first request.
func (b *Book) SetNoBurst() { b.burst.Store(BurstShare{Nodes: 1}.pack()) }

// BurstOf returns the share of a cell: its own one, or that of all others.
func (b *Book) BurstOf(c *Cell) BurstShare {
	all := b.burst.Load()
	if all == 0 {
		return BurstShare{}
	}
	if own := c.burst.Load(); own != 0 {
		return unpackBurst(own)
	}
	return unpackBurst(all)
}

// RestOfBurst returns the share of all cells without one of their own.
func (b *Book) RestOfBurst() BurstShare { return unpackBurst(b.burst.Load()) }

// SetBurst gives a cell a share of its own (sharer).
func (b *Book) SetBurst(c *Cell, to BurstShare, now int64) {
	c.keepTokens(b.BurstOf(c), to, now)
	c.burst.Store(to.pack())
}

// ClearBurst gives a cell the share that all others have (sharer).
func (b *Book) ClearBurst(c *Cell, now int64) {
	c.keepTokens(b.BurstOf(c), b.RestOfBurst(), now)
	c.burst.Store(0)
}

// SetRestOfBurst sets the share of all cells without one of their own (sharer).
func (b *Book) SetRestOfBurst(cells iter.Seq[*Cell], to BurstShare, now int64) {
	for c := range cells {
		if c.burst.Load() == 0 {
			c.keepTokens(b.BurstOf(c), to, now)
		}
	}
	b.burst.Store(to.pack())
}

// keepTokens prepares a bucket for another share, so that it then has no more tokens than
// now. Requests that still go by the earlier share find fewer. A share of nothing has room
// for nothing.
func (c *Cell) keepTokens(from, to BurstShare, now int64) {
	t := c.Terms()
	_, had := t.pace(from)
	_, room := t.pace(to)
	for {
		tat := c.tat.Load()
		tokens := max(had-max(tat-now, 0), 0)
		full := now + max(room-rescale(tokens, from.Parts, to.Parts, room), 0)
		if tat >= full || c.tat.CompareAndSwap(tat, full) {
			return
		}
	}
}

// rescale returns v * by / over, but at most limit, which it is when over is 0.
func rescale(v, by, over, limit int64) int64 {
	hi, lo := bits.Mul64(uint64(v), uint64(by))
	if hi >= uint64(over) {
		return limit
	}
	scaled, _ := bits.Div64(hi, lo, uint64(over))
	return int64(min(scaled, uint64(limit)))
}

// Asked is how often an account asked for a token.
type Asked struct {
	Cell  *Cell
	Times int64
}

// noteAsked counts a request for a token.
func (b *Book) noteAsked(c *Cell) {
	c.asked.Add(1)
	b.asking.add(c, &c.asking)
}

// TakeAsked appends the accounts that asked for tokens since the last call (sharer).
func (b *Book) TakeAsked(dst []Asked) []Asked {
	for c := range b.asking.takeAll(func(c *Cell) *link[Cell] { return &c.asking }) {
		dst = append(dst, Asked{c, c.asked.Swap(0)})
	}
	return dst
}

// Cells returns the accounts that have keys.
func (b *Book) Cells() iter.Seq[*Cell] {
	return func(yield func(*Cell) bool) {
		for i := range b.cells.count.Load() {
			if !yield(*b.cells.at(i)) {
				return
			}
		}
	}
}
