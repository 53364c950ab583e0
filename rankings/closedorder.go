package rankings

import (
	"slices"
	"sort"

	"tidemark/rankings/block"
)

// closedIDs has the closed positions in the order of their PnL and of their age. What a
// closed position is sorted by stays what it was, so that the orders of a generation are
// those before it but for a few rows: these are taken out and put in again, where sorting
// all would be a twentieth of a refresh.
//
// A generation takes the orders from the one before and changes them in place.
type closedIDs struct {
	by [2][]uint32 // by PnL and by age; nil: to be sorted
	// changed are the rows, ascending, that are not closed in both generations, or not with
	// the same keys. Only the orders of this generation need them.
	changed []uint32
}

// changedShare is the part of all rows that may be changed: to find one takes about as
// long as to sort ten.
const changedShare = 16

// repairClosed returns an order of closed positions of v, made from that of prev, or nil
// if it has to be sorted. To find where a row belongs reads a dozen others, which are hardly
// ever in the processor's cache, so it pauses after each.
func repairClosed(prev, v *View, id orderID, pause func()) []uint32 {
	c := v.columns
	kept := c.keptOrder(id)
	ids := *kept
	if ids == nil || len(c.closedIDs.changed) > len(ids)/changedShare {
		return nil
	}

	e := closedEdit{view: prev, id: id, ids: ids, order: &prev.orders[id]}
	before, n := prev.State.Positions.Len(), v.State.Positions.Len()
	for _, row := range c.closedIDs.changed {
		if row < before && !prev.columns.open.Has(row) {
			e.remove(row)
		}
		if !c.open.Has(row) {
			e.insert(v.sortKey(id, row), row)
		}
		pause()
	}
	for row := n; row < before; row++ { // a reorganisation took it away
		if !prev.columns.open.Has(row) {
			e.remove(row)
		}
	}

	*kept = e.apply()
	return *kept
}

// closedEdit is what changes in an order of closed positions, with indexes of the order
// as it was in a view.
type closedEdit struct {
	view  *View
	id    orderID
	order *block.Order
	ids   []uint32
	gone  []uint32
	come  []comingRow
}

// leafOf returns the indexes of the leaf that a row with a key belongs to.
func (e *closedEdit) leafOf(key uint64, row uint32) (from, to int) {
	o := e.order
	if o.Leaves() == 0 {
		return 0, 0
	}
	i := max(e.id.leafOf(e.view, o, key, row), 0)
	return int(o.Rows[i]), int(o.Rows[i+1])
}

func (e *closedEdit) remove(row uint32) {
	from, to := e.leafOf(e.view.sortKey(e.id, row), row)
	at := slices.Index(e.ids[from:to], row)
	if at < 0 {
		panic("BUG: a closed position is not in its order")
	}
	e.gone = append(e.gone, uint32(from+at))
}

func (e *closedEdit) insert(key uint64, row uint32) {
	from, to := e.leafOf(key, row)
	r := comingRow{key: key, row: row}
	at := sort.Search(to-from, func(i int) bool { return e.view.isAfter(e.id, e.ids[from+i], &r) })
	r.at = uint32(from + at)
	e.come = append(e.come, r)
}

// apply changes the order in place, if there is room.
func (e *closedEdit) apply() []uint32 {
	slices.Sort(e.gone)
	slices.SortFunc(e.come, func(a, b comingRow) int { return e.view.compareComing(e.id, a, b) })
	for i, removed := 0, 0; i < len(e.come); i++ {
		for removed < len(e.gone) && e.gone[removed] < e.come[i].at {
			removed++
		}
		e.come[i].at -= uint32(removed)
	}
	return insertAt(removeAt(e.ids, e.gone), e.come)
}
