package rankings

import "slices"

// keptOrders says which orders of prev are those of the next generation too, with their
// leaves and with what the default filters admit of them. What a closed position is
// ranked by never changes, and in a calm market none is opened or closed for a while:
// comparing the columns takes a hundredth of sorting them. Open ones all get older alike.
type keptOrders struct{ openIDs, openAges, closed bool }

func (k keptOrders) has(id orderID) bool {
	return id == openID && k.openIDs || id == openAge && k.openAges || id.ofClosed() && k.closed
}

// compareOrders finds the orders that v has from prev. Both have columns.
func compareOrders(prev, v *View, pause func()) (k keptOrders) {
	if prev == nil || prev.columns == nil || prev.State.Positions.Len() != v.State.Positions.Len() {
		return k
	}
	was, is := prev.columns, v.columns
	open := is.open.Words()
	if !slices.Equal(was.open.Words(), open) {
		return k
	}

	// The default filters may admit other rows because of their pools.
	k = keptOrders{openIDs: true, closed: true}
	old, standard := was.defaultPositions.Words(), is.defaultPositions.Words()
	for i := range standard {
		turned := standard[i] ^ old[i]
		k.openIDs = k.openIDs && turned&open[i] == 0
		k.closed = k.closed && turned&^open[i] == 0
	}
	pause()
	known := is.age.Had == is.age.Len() // what the columns have otherwise than before
	k.openAges = known && k.openIDs && agesAlike(prev, v)
	k.closed = known && k.closed && len(is.closedPnl.Changed) == 0
	for _, row := range is.age.Changed {
		if is.open.Has(row) {
			k.openAges = false
		} else {
			k.closed = false
		}
	}
	return k
}

// agesAlike reports whether all open positions have got older by the same time since prev.
// An age that is negative by the clock of the chain counts as 0, and so might not.
func agesAlike(prev, v *View) bool {
	o := &prev.orders[openAge]
	if o.Leaves() == 0 {
		return false
	}
	youngest := int64(o.Keys[0])
	return youngest > 0 && youngest+v.State.Now()-prev.State.Now() > 0
}

// keepOrder takes an order from prev as it is, but for ages, which are those of now.
func (b *builder) keepOrder(id orderID) {
	b.view.columns.passingByRank[id] = b.prev.columns.passingByRank[id]
	b.view.costs[id] = b.prev.costs[id]
	order := b.prev.orders[id]
	if id == openAge {
		order.Keys = slices.Clone(order.Keys)
		for i := range order.Keys {
			order.Keys[i] += uint64(b.view.State.Now() - b.prev.State.Now())
		}
	}
	b.directory.Orders = append(b.directory.Orders, order)
}
