package rankings_test

import (
	"errors"
	"slices"
	"testing"

	"tidemark/rankings"
)

// TestPoolPositions: the positions of a pool are all that name it, ascending, also those
// that were minted or came back since the lists were built.
func TestPoolPositions(t *testing.T) {
	w := newTestWorld(t, 900)
	for range 6 {
		w.publish()
		st, all := w.state(), 0

		for pool := range st.Pools.Len() {
			positions, most, err := w.view.PoolPositions(pool)
			if err != nil {
				t.Fatal(err)
			}
			got, want := slices.Collect(positions), []uint32(nil)
			for i := range st.Positions.Len() {
				if st.Positions.At(i).Pool == pool {
					want = append(want, i)
				}
			}
			if all += len(got); !slices.Equal(got, want) || most < len(got) {
				t.Errorf("pool %d: got %d of %d at most; want %d", pool, len(got), most, len(want))
			}
			for i := range positions { // it can be left early, and read again
				if i != got[0] {
					t.Errorf("pool %d begins with %d; want %d", pool, i, got[0])
				}
				break
			}
		}

		if all < 900 {
			t.Errorf("only %d positions", all)
		}
		w.change()
	}
}

// TestPoolPositionsWarming: a view without columns knows no positions of a pool.
func TestPoolPositionsWarming(t *testing.T) {
	cold := rankings.View{State: newTestWorld(t, 900).state()}
	if _, _, err := cold.PoolPositions(0); !errors.Is(err, rankings.ErrWarming) {
		t.Errorf("got %v; want %v", err, rankings.ErrWarming)
	}
}
