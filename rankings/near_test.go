package rankings

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/rankings/market"
)

// TestSearchNear checks that a search from any guess ends where sort.Search does, and how
// many places it looks at if the guess is right.
func TestSearchNear(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for at := 0; at <= n; at++ {
			for guess := range n {
				looks := 0
				got := searchNear(n, guess, func(i int) bool {
					if looks++; i < 0 || i >= n {
						t.Fatalf("of %d, from %d: looks at %d", n, guess, i)
					}
					return i >= at
				})

				if got != at {
					t.Errorf("of %d, from %d: %d; want %d", n, guess, got, at)
				}
				if most := 2; guess == at && looks > most {
					t.Errorf("of %d, from the place itself: %d looks; want at most %d", n, looks, most)
				}
			}
		}
	}
}

// TestPositionOfID finds every position of tables with and without gaps, and none that is
// not there.
func TestPositionOfID(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	f := func(ids ...uint64) {
		t.Helper()
		var positions market.Table[market.Position]
		for _, id := range ids {
			positions.Append(market.Position{ID: id})
		}
		v := &View{State: &market.State{Positions: positions.Freeze()}}

		near := []uint64{0, 1, 1 << 63, 1<<64 - 1}
		for _, id := range ids {
			near = append(near, id-1, id, id+1)
		}
		for _, id := range near {
			want, found := slices.BinarySearch(ids, id)
			if got, ok := v.Position(id); ok != found || found && got != uint32(want) {
				t.Errorf("id %d of %v: %d, %t; want %d, %t", id, ids, got, ok, want, found)
			}
		}
	}

	f()
	f(7)
	f(0, 1<<64-1)
	for range 200 {
		var ids []uint64
		id := dice.Uint64N(100)
		for range 1 + dice.IntN(50) {
			id += 1 + dice.Uint64N(4)*dice.Uint64N(1<<dice.IntN(20))
			ids = append(ids, id)
		}
		f(ids...)
	}
	if guess := nearest(1_000_001, 1, 1_000_001, 500_001); guess != 500_000 {
		t.Errorf("the middle id is guessed at %d", guess)
	}
}
