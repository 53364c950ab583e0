package rankings

import (
	"slices"

	"tidemark/rankings/block"
)

// orderer computes the orders of a view from its columns, one after another,
// in buffers that they share.
type orderer struct {
	sorter
	view   *View
	rows   []uint32 // by place, ascending by id: the rows that could be in the order
	keys   []uint64 // by place
	places []uint32 // those that are in it
	ids    []uint32 // the finished order
}

// order computes one order. The ids and their keys, which key returns, are
// good until the next call.
func (o *orderer) order(id orderID) (ids []uint32, key func(i int) uint64) {
	o.choose(id)
	if id == openID || id == closedID {
		return o.rows, func(i int) uint64 { return o.view.key(id, o.rows[i]) }
	}

	c, now := o.view.columns, o.view.State.Now()
	o.keys = slices.Grow(o.keys[:0], len(o.rows))
	o.places = slices.Grow(o.places[:0], len(o.rows))
	inStretches(len(o.rows), o.pause, func(from, to int) {
		for place := from; place < to; place++ {
			row := o.rows[place]
			if id.ofPools() {
				o.keys = append(o.keys, poolKey(o.view.State, id, row))
			} else {
				o.keys = append(o.keys, c.key(id, uint32(place), now))
			}
			if !id.onlyValued() || c.valued.Has(row) {
				o.places = append(o.places, uint32(place))
			}
		}
	})

	words := o.sort(o.keys, o.places)
	o.ids = slices.Grow(o.ids[:0], len(words))
	inStretches(len(words), o.pause, func(from, to int) {
		for _, w := range words[from:to] {
			o.ids = append(o.ids, o.rows[uint32(w)])
		}
	})

	return o.ids, func(i int) uint64 { return o.keys[uint32(words[i])] }
}

// choose fills rows for the kind of order, when they are not there yet.
func (o *orderer) choose(id orderID) {
	switch id {
	case openAPR:
		o.rows = o.members(false)
	case closedPnl:
		o.rows = o.members(true)
	case poolTVL:
		o.rows = o.view.columns.pools
	}
}

// members lists the open positions, or the closed ones.
func (o *orderer) members(closed bool) []uint32 {
	open := o.view.columns.open
	n := open.Count()
	if closed {
		n = open.Len() - n
	}
	rows := make([]uint32, 0, n)
	for i := range open.Len() {
		if open.Has(i) != closed {
			rows = append(rows, i)
		}
	}
	return rows
}

// passingOf marks, by rank, which ids the default filters admit.
func (o *orderer) passingOf(id orderID, ids []uint32) *block.Bitmap {
	standard := o.view.columns.standard
	if id.ofPools() {
		standard = o.view.columns.safe
	}

	passing := block.NewBitmap(uint32(len(ids)))
	inStretches(len(ids), o.pause, func(from, to int) {
		for rank := from; rank < to; rank++ {
			if standard.Has(ids[rank]) {
				passing.Set(uint32(rank))
			}
		}
	})

	passing.Seal()
	return passing
}

// cut calls leaf for every leaf of an order.
func cut(ids []uint32, leaf func(from, to int, hash uint64)) {
	for from := 0; from < len(ids); {
		n, hash := block.CutLeaf(ids[from:])
		leaf(from, from+n, hash)
		from += n
	}
}
