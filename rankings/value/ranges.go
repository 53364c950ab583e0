package value

import (
	"cmp"
	"slices"

	"tidemark/rankings/market"
)

// poolRanges has the open positions of every pool, ascending: what a count of its holders
// reads of them. The positions themselves are four and a half cache lines each in as many
// places, most of them closed. It costs 24 bytes for an open one.
type poolRanges struct {
	of    [][]heldRange // by pool
	rows  uint32        // of State.Positions that were looked at
	stale []uint32      // of those, to be looked at again
}

// heldRange is an open position.
type heldRange struct {
	row, owner   uint32
	lower, upper int32
	liquidity    float64
}

// forget notes that a position changed.
func (x *poolRanges) forget(row uint32) {
	if row < x.rows {
		x.stale = append(x.stale, row)
	}
}

// update looks at the positions that changed and at new ones.
func (x *poolRanges) update(st *market.State) {
	rows := st.Positions.Len()
	x.cut(rows)
	first := len(x.of) == 0
	x.of = resize(x.of, int(st.Pools.Len()))
	if first { // of a store there are all at once
		x.makeRoom(st)
	}

	for _, row := range x.stale {
		if row < x.rows {
			x.set(row, st.Positions.At(row))
		}
	}
	x.stale = x.stale[:0]

	for ; x.rows < rows; x.rows++ {
		if p := st.Positions.At(x.rows); p.IsOpen() {
			x.of[p.Pool] = append(x.of[p.Pool], rangeOf(x.rows, p))
		}
	}
}

// makeRoom makes room for the positions that the pools have, and no more: doubled until they
// fit, the ranges would take a third more memory.
func (x *poolRanges) makeRoom(st *market.State) {
	for pool := range x.of {
		x.of[pool] = make([]heldRange, 0, st.Pools.At(uint32(pool)).OpenPositions)
	}
}

func rangeOf(row uint32, p *market.Position) heldRange {
	return heldRange{row, p.Owner, p.TickLower, p.TickUpper, approx128(p.Liquidity())}
}

// set puts a position where it belongs, or takes it out if it is closed.
func (x *poolRanges) set(row uint32, p *market.Position) {
	ranges := &x.of[p.Pool]
	at, found := slices.BinarySearchFunc(*ranges, row, func(r heldRange, row uint32) int {
		return cmp.Compare(r.row, row)
	})
	switch {
	case !p.IsOpen() && found:
		*ranges = slices.Delete(*ranges, at, at+1)
	case !p.IsOpen():
	case found:
		(*ranges)[at] = rangeOf(row, p)
	default:
		*ranges = slices.Insert(*ranges, at, rangeOf(row, p))
	}
}

// cut removes the positions from n on. It costs one pass over the pools.
func (x *poolRanges) cut(n uint32) {
	if n >= x.rows {
		return
	}
	for pool, ranges := range x.of {
		for len(ranges) > 0 && ranges[len(ranges)-1].row >= n {
			ranges = ranges[:len(ranges)-1]
		}
		x.of[pool] = ranges
	}
	x.rows = n
}
