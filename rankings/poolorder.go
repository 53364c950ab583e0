package rankings

import "tidemark/rankings/market"

// poolOrders has the pools in their orders. In a market in which few pools trade these are
// the orders of the generation before but for a few rows.
//
// A generation takes the orders from the one before and changes them in place.
type poolOrders struct {
	by [orderCount - poolTVL][]uint32 // nil: to be sorted
	// changed marks, by order and 64 pools, those that have another key than in the
	// generation before. Only the orders of this generation need it.
	changed [orderCount - poolTVL][]uint64
}

// take takes the orders from the generation before, which had so many pools of n.
func (p *poolOrders) take(from *poolOrders, before, n uint32) {
	if before > n || from.by[0] == nil {
		return // a reorganisation took pools away, or a follower made the generation before
	}
	p.by, from.by = from.by, poolOrders{}.by
	for i := range p.changed {
		p.changed[i] = make([]uint64, (n+63)/64)
	}
}

// comparePoolKeys marks pool i in the orders in which it has another key than in prev.
func (f *columnBuilder) comparePoolKeys(i uint32, was, is *market.Pool) {
	before, now := f.prev.State, f.st
	if f.poolOrders.changed[0] == nil || was == is && before.Stats.At(i) == now.Stats.At(i) {
		return
	}
	other := was.ID != is.ID
	for n, changed := range f.poolOrders.changed {
		id := poolTVL + orderID(n)
		if other || poolKey(before, id, i) != poolKey(now, id, i) {
			changed[i/64] |= 1 << (i % 64)
		}
	}
}

// addPool marks a pool that prev does not have.
func (p *poolOrders) addPool(i uint32) {
	for _, changed := range p.changed {
		if changed != nil {
			changed[i/64] |= 1 << (i % 64)
		}
	}
}

// repairPools returns an order of pools, made from that of the generation before, or nil if
// it has to be sorted.
func (o *orderBuilder) repairPools(id orderID) []uint32 {
	v, order := o.view, o.view.columns.keptOrder(id)
	changed := v.columns.poolOrders.changed[id-poolTVL]
	r := orderRepair{view: v, id: id, in: changed, changed: changed, pause: o.Pause}
	if !r.pays(*order) {
		return nil
	}

	ids := r.takeOut(*order)
	*order = r.putIn(ids, func(i int, c *comingRow) bool { return v.isAfter(id, ids[i], c) })
	return *order
}
