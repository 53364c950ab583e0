package rankings_test

import (
	"slices"
	"testing"

	"tidemark/rankings"
)

// Orders of closed positions and those by id are made again only if a position was opened
// or closed, or if the default filters admit other rows of them.
func TestOrdersAreKept(t *testing.T) {
	w := newTestWorld(t, 9000)
	f := func(what string, change func(), want ...int) {
		t.Helper()
		before := w.view
		change()
		w.publish()
		if got := rankings.SharedOrders(before, w.view); !slices.Equal(got, want) {
			t.Errorf("%s: orders %v are kept; want %v", what, got, want)
		}
		anew, _ := rankings.Build(nil, w.state(), 1)
		if diff := rankings.OrdersDiff(anew, w.view); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		if diff := rankings.ColumnsDiff(anew, w.view); diff != "" {
			t.Errorf("%s: columns: %s", what, diff)
		}
	}

	const openAge, openID, closedPnl, closedAge, closedID = 5, 6, 7, 8, 9
	closed, open := uint32(0), uint32(0)
	for i := range w.positions.Len() {
		if w.positions.At(i).IsOpen() {
			open = i
		} else {
			closed = i
		}
	}

	f("time passes, and the youngest was of now", func() { w.now++ }, openID, closedPnl, closedAge, closedID)
	f("time passes", func() { w.now++ }, openAge, openID, closedPnl, closedAge, closedID)
	f("fees", func() { w.earn(w.positions.At(open).Pool) }, openAge, openID, closedPnl, closedAge, closedID)
	f("a closed position", func() { w.positions.Mut(closed).ClosedAt-- }, openAge, openID)
	f("time goes back", func() { w.now -= 2 }, openID, closedPnl, closedAge, closedID)
	w.now += 2
	w.publish()
	pool := w.pools.At(w.positions.At(open).Pool)
	for _, token := range []uint32{pool.Currency0, pool.Currency1} {
		w.prices.Mut(token).Corroborated = true
	}
	w.positions.Mut(closed).Pool = w.positions.At(open).Pool
	w.publish()
	f("the value of a pool", func() {
		s := w.stats.Mut(w.positions.At(open).Pool)
		if s.TVLUsd < rankings.DefaultMinPoolTVLUsd {
			s.TVLUsd = rankings.DefaultMinPoolTVLUsd
		} else {
			s.TVLUsd = 0
		}
	})
}
