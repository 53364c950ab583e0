package rankings

import (
	"math"
	"slices"
)

// keptOrders says which orders of prev are those of the next generation too, with their
// leaves and with what the default filters admit of them. What a closed position is
// ranked by never changes, and in a calm market none is opened or closed for a while:
// comparing the columns takes a hundredth of sorting them.
type keptOrders struct{ openIDs, closed bool }

func (k keptOrders) has(id orderID) bool {
	return id == openID && k.openIDs || id.ofClosed() && k.closed
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
	if n := len(is.closedAge); n > 0 && n == len(was.closedAge) && &is.closedAge[0] == &was.closedAge[0] {
		return k // in the same memory nothing has changed
	}

	k.closed = k.closed && slices.Equal(was.closedAge, is.closedAge)
	inStrides(len(is.closedPnl), pause, func(from, to int) {
		for i := from; i < to && k.closed; i++ {
			k.closed = math.Float64bits(was.closedPnl[i]) == math.Float64bits(is.closedPnl[i])
		}
	})
	return k
}

// keepOrder takes an order from prev as it is.
func (b *builder) keepOrder(id orderID) {
	b.view.columns.passingByRank[id] = b.prev.columns.passingByRank[id]
	b.view.costs[id] = b.prev.costs[id]
	b.directory.Orders = append(b.directory.Orders, b.prev.orders[id])
}
