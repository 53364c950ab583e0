package rankings

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"tidemark/rankings/block"
	"tidemark/rankings/index"
	"tidemark/rankings/value"
)

// orderBuilder computes the orders of a view from its columns, one after
// another, in shared buffers.
type orderBuilder struct {
	index.Sorter
	prev     *View // the one before, of which view was made; nil: none
	view     *View
	rows     []uint32  // by place, ascending by id: rows that can be in the order
	keys     []uint64  // by place
	perYear  []float64 // of the ages of open positions, by place
	byIndex  []uint64  // keys of pools, by index
	places   []uint32  // places that are in the order, and in others like it
	placesOf orderID   // one of these; orderCount: none of the same rows
	ids      []uint32  // the finished order
	byStatus []uint32  // rows, when they are of positions
	bases    baseFinder
	wide     bool // its buffers have the room of closed positions
}

// spareBuilder is what the last Build has left. Its buffers are large, and
// getting pages of memory for them from the system takes milliseconds. One is
// enough, since chains are built one after the other.
var spareBuilder atomic.Pointer[orderBuilder]

func newOrderBuilder(prev, v *View, pause func()) *orderBuilder {
	o := spareBuilder.Swap(nil)
	if o == nil {
		o = new(orderBuilder)
	}
	o.prev, o.view, o.Pause = prev, v, pause
	return o
}

// release leaves the buffers to the next builder, unless they are larger than that one needs:
// there are twice as many closed positions as open ones, and they are hardly ever sorted.
func (o *orderBuilder) release() {
	if o.wide {
		return
	}
	o.prev, o.view, o.Pause, o.rows = nil, nil, nil, nil
	o.bases.leaves, o.bases.pause = nil, nil
	spareBuilder.Store(o)
}

// build computes one order: its rows, and a function that returns the key of
// the i-th. Both are valid until the next call. Orders must be built in the
// sequence of their numbers, because they share rows; see chooseRows.
func (o *orderBuilder) build(id orderID) (ids []uint32, key func(i int) uint64) {
	o.chooseRows(id)
	if id == openID || id == closedID {
		return o.rows, func(i int) uint64 { return o.view.sortKey(id, o.rows[i]) }
	}

	if ids = o.repair(id); ids != nil {
		o.Pause()
		return ids, func(i int) uint64 { return o.view.sortKey(id, ids[i]) }
	}

	ids, key = o.sortRows(id)
	if kept := o.view.columns.keptOrder(id); kept != nil {
		o.wide = o.wide || id.ofClosed()
		keepCopy(kept, ids)
		o.Pause()
	}
	return ids, key
}

// repair makes an order from that of the generation before. It returns nil if there is none,
// or if to sort takes less.
func (o *orderBuilder) repair(id orderID) []uint32 {
	switch {
	case id <= openValue:
		return o.repairOpen(id)
	case id.ofClosed():
		return repairClosed(o.prev, o.view, id, o.Pause)
	case id.ofPools():
		return o.repairPools(id)
	}
	return nil
}

// keptOrder returns where an order is kept for the next generation; nil: it is not.
func (c *columns) keptOrder(id orderID) *[]uint32 {
	switch {
	case id <= openValue:
		return &c.openIDs.by[id]
	case id.ofClosed():
		return &c.closedIDs.by[id-closedPnl]
	case id.ofPools():
		return &c.poolOrders.by[id-poolTVL]
	}
	return nil
}

// sortRows sorts the rows of an order by the keys of its column.
func (o *orderBuilder) sortRows(id orderID) (ids []uint32, key func(i int) uint64) {
	o.findKeys(id)
	o.choosePlaces(id)
	words := o.SortPlaces(o.keys, o.places)
	o.ids = slices.Grow(o.ids[:0], len(words))
	index.InStrides(len(words), o.Pause, func(from, to int) {
		for _, w := range words[from:to] {
			o.ids = append(o.ids, o.rows[uint32(w)])
		}
	})

	return o.ids, func(i int) uint64 { return o.keys[uint32(words[i])] }
}

// chooseRows sets rows at the first order of each kind: open positions, closed
// positions, pools. The orders that follow use the same rows.
func (o *orderBuilder) chooseRows(id orderID) {
	switch id {
	case openAPR:
		o.rows = o.rowsByStatus(false)
		o.findPerYear()
	case closedPnl:
		o.rows = o.rowsByStatus(true)
	case poolTVL:
		o.rows = o.view.columns.pools
	default:
		return
	}
	o.placesOf = orderCount
}

// choosePlaces sets places, unless they are those of an order before it.
func (o *orderBuilder) choosePlaces(id orderID) {
	if o.placesOf < orderCount && o.placesOf.onlyValued() == id.onlyValued() {
		return
	}

	o.placesOf = id
	values := o.view.columns.value
	o.places = slices.Grow(o.places[:0], len(o.rows))
	index.InStrides(len(o.rows), o.Pause, func(from, to int) {
		for place := from; place < to; place++ {
			if !id.onlyValued() || isValued(values[place]) {
				o.places = append(o.places, uint32(place))
			}
		}
	})
}

// findKeys computes the keys of all rows that can be in an order, each loop from one column.
func (o *orderBuilder) findKeys(id orderID) {
	c, now := o.view.columns, o.view.State.Now()
	o.keys = slices.Grow(o.keys[:0], len(o.rows))[:len(o.rows)]
	var values []float64
	if !id.ofPools() && !id.ofClosed() {
		values = c.floats(id)
	}

	index.InStrides(len(o.keys), o.Pause, func(from, to int) {
		keys, rows := o.keys[from:to], o.rows[from:to]
		switch id {
		case openAPR, openFeeAPR:
			perYear := o.perYear[from:to]
			for i, x := range values[from:to] {
				keys[i] = descending(value.AnnualRate(x, perYear[i]))
			}
		case openROI, openPnl, openValue:
			for i, x := range values[from:to] {
				keys[i] = descending(x)
			}
		case openAge, closedPnl, closedAge:
			for i, row := range rows {
				keys[i] = c.sortKey(id, row, now)
			}
		}
	})
	if id.ofPools() {
		o.findPoolKeys(id)
	}
}

// findPerYear computes what the orders by annual rates share.
func (o *orderBuilder) findPerYear() {
	age, now := &o.view.columns.age, o.view.State.Now()
	o.perYear = slices.Grow(o.perYear[:0], len(o.rows))[:len(o.rows)]
	index.InStrides(len(o.rows), o.Pause, func(from, to int) {
		perYear := o.perYear[from:to]
		for i, row := range o.rows[from:to] {
			perYear[i] = value.PerYear(now - int64(age.At(row)))
		}
	})
}

// findPoolKeys is findKeys of an order of pools. Rows are in the order of ids, and records
// are read in that of indexes, because memory is read ahead then.
func (o *orderBuilder) findPoolKeys(id orderID) {
	st := o.view.State
	o.byIndex = slices.Grow(o.byIndex[:0], len(o.rows))[:len(o.rows)]
	index.InStrides(len(o.rows), o.Pause, func(from, to int) {
		for i := from; i < to; i++ {
			o.byIndex[i] = poolKey(st, id, uint32(i))
		}
	})
	index.InStrides(len(o.rows), o.Pause, func(from, to int) {
		for i, row := range o.rows[from:to] {
			o.keys[from+i] = o.byIndex[row]
		}
	})
}

// rowsByStatus returns the open positions, or the closed ones.
func (o *orderBuilder) rowsByStatus(closed bool) []uint32 {
	open := o.view.columns.open
	n := open.Count()
	if closed {
		n = open.Len() - n
	}

	o.byStatus = slices.Grow(o.byStatus[:0], int(n))
	rows := open.Len()
	for w, word := range open.Words() {
		if closed {
			word = ^word & (^uint64(0) >> (64 - min(rows-uint32(w)*64, 64)))
		}
		for ; word != 0; word &= word - 1 {
			o.byStatus = append(o.byStatus, uint32(w*64+bits.TrailingZeros64(word)))
		}
		if w%(index.StrideRows/64) == 0 {
			o.Pause()
		}
	}
	return o.byStatus
}

// markPassing returns, by rank, the ids that the default filters admit.
func (o *orderBuilder) markPassing(id orderID, ids []uint32) *block.Bitmap {
	standard := o.view.columns.standard(id)
	passing := block.NewBitmap(uint32(len(ids)))
	index.InStrides(len(ids), o.Pause, func(from, to int) {
		passing.SetWhere(uint32(from), ids[from:to], standard)
	})

	passing.Seal()
	return passing
}

// cutLeaves calls leaf for every leaf of an order.
func cutLeaves(ids []uint32, leaf func(from, to int, hash uint64)) {
	for from := 0; from < len(ids); {
		n, hash := block.CutLeaf(ids[from:])
		leaf(from, from+n, hash)
		from += n
	}
}
