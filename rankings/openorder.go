package rankings

import (
	"math/bits"
	"slices"
)

// openIDs has the open positions in the orders in which time alone moves none: by ROI, by
// PnL and by value. In a calm market few rows have another key than in the generation
// before. These are taken out and put in again, which takes a third of sorting all.
//
// A generation takes the orders from the one before and changes them in place.
type openIDs struct {
	by [openValue - openROI + 1][]uint32 // nil: to be sorted
	// changed marks, by chunk, the rows that may have another key than in the generation
	// before, or be in the order of one of the two only. Only the orders of this generation
	// need it.
	changed []uint64
}

// at returns one of the orders.
func (o *openIDs) at(id orderID) *[]uint32 { return &o.by[id-openROI] }

// hasChanged reports whether a row of the generation before is marked. One that is no more
// is, too.
func (o *openIDs) hasChanged(row uint32) bool {
	w := int(row / 64)
	return w >= len(o.changed) || o.changed[w]>>(row%64)&1 != 0
}

// countChanged counts the marked rows that are open.
func (o *openIDs) countChanged(open []uint64) (n int) {
	for w, word := range o.changed {
		n += bits.OnesCount64(word & open[w])
	}
	return n
}

// openShare is the part of all rows that may be changed: to put one in takes about as long
// as to sort 20.
const openShare = 32

// repairOpen returns an order of open positions of v, made from that of the generation
// before, or nil if it has to be sorted.
func repairOpen(v *View, id orderID, pause func()) []uint32 {
	c := v.columns
	ids := *c.openIDs.at(id)
	changed := c.openIDs.countChanged(c.open.Words())
	if ids == nil || changed > len(ids)/openShare {
		return nil
	}

	come := v.changedOpen(id, changed, pause)
	gone := make([]uint32, 0, changed)
	inStrides(len(ids), pause, func(from, to int) {
		for i, row := range ids[from:to] {
			if c.openIDs.hasChanged(row) {
				gone = append(gone, uint32(from+i))
			}
		}
	})
	ids = removeAt(ids, gone)
	pause()

	at := 0
	for i := range come {
		at = v.findRow(id, ids, at, &come[i])
		come[i].at = uint32(at)
		pause()
	}
	ids = insertAt(ids, come)
	*c.openIDs.at(id) = ids
	return ids
}

// changedOpen returns the changed rows, at most so many, that are in an order of v. They are
// sorted; where they belong is not known yet.
func (v *View) changedOpen(id orderID, most int, pause func()) []comingRow {
	c := v.columns
	in := c.open.Words()
	if id.onlyValued() {
		in = c.valued.Words()
	}

	come := make([]comingRow, 0, most)
	for w, word := range c.openIDs.changed {
		for rest := word & in[w]; rest != 0; rest &= rest - 1 {
			row := uint32(w*64 + bits.TrailingZeros64(rest))
			come = append(come, comingRow{key: v.sortKey(id, row), row: row})
		}
		if w%(strideRows/64) == 0 {
			pause()
		}
	}
	slices.SortFunc(come, inTurns(compareComing, pause))
	return come
}

// findRow returns the index, from one on, before which a row comes into an order. It is
// near, since rows come in their order.
func (v *View) findRow(id orderID, ids []uint32, from int, r *comingRow) int {
	if from == len(ids) {
		return from
	}
	return from + searchNear(len(ids)-from, 0, func(i int) bool { return v.isAfter(id, ids[from+i], r) })
}
