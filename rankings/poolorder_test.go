package rankings_test

import (
	"testing"

	"tidemark/rankings"
)

// Orders of pools are those that sorting all pools gives, whether they were made from the
// generation before or not.
func TestPoolOrdersAreRepaired(t *testing.T) {
	w := newWorld(1, 8, 900, 300, newShelf())
	w.publish()

	for n := range 60 {
		last := w.pools.Len() - 1
		switch w.IntN(4) {
		case 0:
			w.addPool()
		case 1: // a reorganisation; no position is in a pool that was added
			if last >= 900 {
				w.pools.Truncate(last)
				w.stats.Truncate(last)
			}
		case 2: // another one, which puts another pool there
			if last >= 900 {
				w.fill(w.pools.Mut(last).ID[:])
			}
		}

		moves := 12
		if n%10 == 9 {
			moves = 600
		}
		for range moves {
			w.moveTo(w.Uint32N(w.pools.Len()), int32(w.IntN(400))-200)
		}
		w.now += 12
		w.publish()
		if d := w.ordersDiff(); d != "" {
			t.Fatalf("generation %d: %s", n, d)
		}
	}

	rankings.SwapPools(w.view)
	w.moveTo(0, 0)
	w.publish()
	if w.ordersDiff() == "" {
		t.Error("the orders of a calm market were sorted; want those of before repaired")
	}
}
