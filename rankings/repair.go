package rankings

import (
	"cmp"
	"math/bits"
	"slices"

	"tidemark/rankings/index"
)

// orderRepair makes an order of a view from that of the generation before: few rows have
// another key, or came or went. These are taken out and put in again, which takes a third of
// sorting all.
type orderRepair struct {
	view    *View
	id      orderID
	in      []uint64 // rows that are in the order, by chunk
	changed []uint64 // rows that may have another key, or be in one of the two orders only
	pause   func()
}

const (
	// repairShare is the part of all rows that may be changed: to put one in takes about as
	// long as to sort 20.
	repairShare = 32
	// strideComing is how many rows are put in between two pauses, each of which reads a
	// dozen others.
	strideComing = 64
)

// pays reports whether few enough rows are changed.
func (r *orderRepair) pays(ids []uint32) bool {
	changed := 0
	for w, word := range r.changed {
		changed += bits.OnesCount64(word & r.in[w])
	}
	return ids != nil && changed <= len(ids)/repairShare
}

// hasChanged reports whether a row of the generation before is marked. A row that no longer
// exists counts as changed.
func (r *orderRepair) hasChanged(row uint32) bool {
	w := int(row / 64)
	return w >= len(r.changed) || r.changed[w]>>(row%64)&1 != 0
}

// takeOut removes the changed rows from an order.
func (r *orderRepair) takeOut(ids []uint32) []uint32 {
	var gone []uint32
	index.InStrides(len(ids), r.pause, func(from, to int) {
		for i, row := range ids[from:to] {
			if r.hasChanged(row) {
				gone = append(gone, uint32(from+i))
			}
		}
	})
	return removeAt(ids, gone)
}

// findComing returns the changed rows that are in the order. They are sorted; where they
// belong is not known yet.
func (r *orderRepair) findComing() (come []comingRow) {
	v := r.view
	for w, word := range r.changed {
		for rest := word & r.in[w]; rest != 0; rest &= rest - 1 {
			row := uint32(w*64 + bits.TrailingZeros64(rest))
			come = append(come, comingRow{key: v.sortKey(r.id, row), row: row})
		}
		if w%(index.StrideRows/64) == 0 {
			r.pause()
		}
	}

	slices.SortFunc(come, index.InTurns(func(a, b comingRow) int { return v.compareComing(r.id, a, b) }, r.pause))
	return come
}

// putIn inserts the changed rows that are in the order. isAfter reports whether the i-th row
// of the others is after one of them.
func (r *orderRepair) putIn(ids []uint32, isAfter func(i int, c *comingRow) bool) []uint32 {
	come, at := r.findComing(), 0
	for n := range come {
		c := &come[n]
		if at < len(ids) { // it is near the one before
			at += searchNear(len(ids)-at, 0, func(i int) bool { return isAfter(at+i, c) })
		}
		c.at = uint32(at)
		if n%strideComing == 0 {
			r.pause()
		}
	}
	return insertAt(ids, come)
}

// comingRow is a row that comes into an order before an index.
type comingRow struct {
	key     uint64
	row, at uint32
}

// compareComing compares rows that come into an order.
func (v *View) compareComing(id orderID, a, b comingRow) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	return id.compareRows(v, a.row, b.row)
}

// isAfter reports whether a row that an order has is after one that comes into it.
func (v *View) isAfter(id orderID, row uint32, r *comingRow) bool {
	return v.compareComing(id, comingRow{key: v.sortKey(id, row), row: row}, *r) > 0
}

// removeAt removes the elements at some indexes, which ascend.
func removeAt(ids, gone []uint32) []uint32 {
	if len(gone) == 0 {
		return ids
	}
	to := int(gone[0])
	for n, at := range gone {
		end := len(ids)
		if n+1 < len(gone) {
			end = int(gone[n+1])
		}
		to += copy(ids[to:], ids[at+1:end])
	}
	return ids[:to]
}

// insertAt inserts rows, whose indexes ascend. Those from the last one on move first, so
// that each element moves once.
func insertAt(ids []uint32, come []comingRow) []uint32 {
	end, n := len(ids), len(ids)+len(come)
	if n > cap(ids) {
		ids = append(make([]uint32, 0, n+spareRows), ids...)
	}

	ids = ids[:n]
	for i, c := range slices.Backward(come) {
		at := int(c.at)
		copy(ids[at+i+1:], ids[at:end])
		ids[at+i], end = c.row, at
	}
	return ids
}

// spareRows is the room for rows that come before an order moves to other memory.
const spareRows = 1 << 12

// keepCopy copies an order to where it is kept for the next generation.
func keepCopy(to *[]uint32, ids []uint32) {
	if cap(*to) < len(ids) {
		*to = make([]uint32, 0, len(ids)+spareRows)
	}
	*to = append((*to)[:0], ids...)
}
