package rankings

import (
	"slices"
	"sync/atomic"

	"tidemark/rankings/block"
)

// orderBuilder computes the orders of a view from its columns, one after
// another, in shared buffers.
type orderBuilder struct {
	sorter
	view     *View
	rows     []uint32 // by place, ascending by id: rows that can be in the order
	keys     []uint64 // by place
	places   []uint32 // places that are in the order
	ids      []uint32 // the finished order
	byStatus []uint32 // rows, when they are of positions
	bases    baseFinder
}

// spare is the builder that the last Build has left. Its buffers are large, and
// getting pages of memory for them from the system takes milliseconds. One is
// enough, since chains are built one after the other.
var spare atomic.Pointer[orderBuilder]

func newOrderBuilder(v *View, pause func()) *orderBuilder {
	o := spare.Swap(nil)
	if o == nil {
		o = new(orderBuilder)
	}
	o.view, o.pause = v, pause
	return o
}

// release leaves the buffers to the next builder.
func (o *orderBuilder) release() {
	o.view, o.pause, o.rows = nil, nil, nil
	o.bases.leaves, o.bases.bases = nil, nil
	spare.Store(o)
}

// build computes one order: its rows, and a function that returns the key of
// the i-th. Both are valid until the next call. Orders must be built in the
// sequence of their numbers, because they share rows; see chooseRows.
func (o *orderBuilder) build(id orderID) (ids []uint32, key func(i int) uint64) {
	o.chooseRows(id)
	if id == openID || id == closedID {
		return o.rows, func(i int) uint64 { return o.view.sortKey(id, o.rows[i]) }
	}

	// The keys of all rows, and the places of those in the order.
	c, now := o.view.columns, o.view.State.Now()
	o.keys = slices.Grow(o.keys[:0], len(o.rows))
	o.places = slices.Grow(o.places[:0], len(o.rows))
	inStrides(len(o.rows), o.pause, func(from, to int) {
		for place := from; place < to; place++ {
			row := o.rows[place]
			if id.ofPools() {
				o.keys = append(o.keys, poolKey(o.view.State, id, row))
			} else {
				o.keys = append(o.keys, c.sortKey(id, uint32(place), now))
			}
			if !id.onlyValued() || c.valued.Has(row) {
				o.places = append(o.places, uint32(place))
			}
		}
	})

	words := o.sortPlaces(o.keys, o.places)
	o.ids = slices.Grow(o.ids[:0], len(words))
	inStrides(len(words), o.pause, func(from, to int) {
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
	case closedPnl:
		o.rows = o.rowsByStatus(true)
	case poolTVL:
		o.rows = o.view.columns.pools
	}
}

// rowsByStatus returns the open positions, or the closed ones.
func (o *orderBuilder) rowsByStatus(closed bool) []uint32 {
	open := o.view.columns.open
	n := open.Count()
	if closed {
		n = open.Len() - n
	}

	o.byStatus = slices.Grow(o.byStatus[:0], int(n))
	inStrides(int(open.Len()), o.pause, func(from, to int) {
		for i := from; i < to; i++ {
			if open.Has(uint32(i)) != closed {
				o.byStatus = append(o.byStatus, uint32(i))
			}
		}
	})
	return o.byStatus
}

// markPassing returns, by rank, the ids that the default filters admit.
func (o *orderBuilder) markPassing(id orderID, ids []uint32) *block.Bitmap {
	standard := o.view.columns.standard(id)
	passing := block.NewBitmap(uint32(len(ids)))
	inStrides(len(ids), o.pause, func(from, to int) {
		for rank := from; rank < to; rank++ {
			if standard.Has(ids[rank]) {
				passing.Set(uint32(rank))
			}
		}
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
