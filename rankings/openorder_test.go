package rankings_test

import (
	"testing"

	"tidemark/rankings"
)

// Orders of open positions are those that sorting all rows gives, whether they were made
// from the generation before or not: of a calm market they are, and of a moving one not.
func TestOpenOrdersAreRepaired(t *testing.T) {
	w := newWorld(1, 7, 400, 9000, newShelf())
	w.publish()

	for n := range 60 {
		switch w.IntN(6) {
		case 0:
			w.mint()
		case 1:
			w.close(w.Uint32N(w.positions.Len()))
		case 2:
			w.reopen(w.Uint32N(w.positions.Len()))
		case 3: // a reorganisation
			last := w.positions.Len() - 1
			w.close(last)
			w.positions.Truncate(last)
		case 4: // a deposit: the same rows are open
			w.positions.Mut(w.Uint32N(w.positions.Len())).Deposited0.Lo += 1 << 40
		}
		w.moveTo(w.Uint32N(w.pools.Len()), int32(w.IntN(400))-200)
		w.earn(w.Uint32N(w.pools.Len()))
		w.now += 12
		w.publish()
		if d := w.ordersDiff(); d != "" {
			t.Fatalf("generation %d: %s", n, d)
		}
	}

	rankings.SwapOpen(w.view)
	w.earn(0)
	w.publish()
	if w.ordersDiff() == "" {
		t.Error("the orders of a calm market were sorted; want those of before repaired")
	}
	for i := range w.prices.Len() {
		w.prices.Mut(i).Usd *= 1.01
	}
	w.publish()
	if d := w.ordersDiff(); d != "" {
		t.Errorf("of a market that moved: %s", d)
	}
}

// ordersDiff compares the orders that are published with those of a view from nothing.
func (w *world) ordersDiff() string {
	anew, _ := rankings.Build(nil, w.state(), 1)
	return rankings.OrdersDiff(anew, w.view)
}
