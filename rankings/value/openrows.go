package value

import (
	"slices"

	"tidemark/rankings/market"
)

// openRows has the rows of the open positions of every pool, ascending: those that a count
// of its holders reads. It costs 4 bytes for each. With all that the count reads of them
// beside, 24 bytes, a backfill takes about a hundredth less time.
type openRows struct {
	of    [][]uint32 // by pool
	rows  uint32     // of State.Positions that were looked at
	stale []uint32   // of those, to be looked at again
}

// forget notes that a position changed.
func (x *openRows) forget(row uint32) {
	if row < x.rows {
		x.stale = append(x.stale, row)
	}
}

// update looks at the positions that changed and at new ones.
func (x *openRows) update(st *market.State) {
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
			x.of[p.Pool] = append(x.of[p.Pool], x.rows)
		}
	}
}

// makeRoom makes room for the positions that the pools have, and no more: doubled until they
// fit, the rows would take a third more memory. Most pools have one or two, and the garbage
// collector passes every object in each of its cycles, so that all are in one until a pool
// has more.
func (x *openRows) makeRoom(st *market.State) {
	all := 0
	for pool := range st.Pools.Len() {
		all += int(st.Pools.At(pool).OpenPositions)
	}

	room := make([]uint32, all)
	for pool := range x.of {
		n := int(st.Pools.At(uint32(pool)).OpenPositions)
		x.of[pool], room = room[:0:n], room[n:]
	}
}

// set puts a position where it belongs, or takes it out if it is closed.
func (x *openRows) set(row uint32, p *market.Position) {
	rows := &x.of[p.Pool]
	at, found := slices.BinarySearch(*rows, row)
	switch {
	case found && !p.IsOpen():
		*rows = slices.Delete(*rows, at, at+1)
	case !found && p.IsOpen():
		*rows = slices.Insert(*rows, at, row)
	}
}

// cut removes the positions from n on. It costs one pass over the pools.
func (x *openRows) cut(n uint32) {
	if n >= x.rows {
		return
	}
	for pool, rows := range x.of {
		for len(rows) > 0 && rows[len(rows)-1] >= n {
			rows = rows[:len(rows)-1]
		}
		x.of[pool] = rows
	}
	x.rows = n
}
