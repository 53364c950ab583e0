package rankings

import (
	"slices"
	"testing"
)

// A Keeper pins what is named and can still be kept, says what others have pinned, and
// lets go of what is no longer named.
func TestKeeper(t *testing.T) {
	var k Keeper
	one, two, three := &viewState{generation: 1}, &viewState{generation: 2}, &viewState{generation: 3}
	v := &View{shared: three, older: []*viewState{one, two}}
	f := func(named []uint64, pinned []uint64, counts [3]int64) {
		t.Helper()
		k.Keep(v, named)
		if got := k.Pinned(v); !slices.Equal(got, pinned) {
			t.Errorf("%d are named: pinned by others are %d; want %d", named, got, pinned)
		}
		if got := [3]int64{one.pins.Load(), two.pins.Load(), three.pins.Load()}; got != counts {
			t.Errorf("%d are named: the pins are %d; want %d", named, got, counts)
		}
	}

	f(nil, nil, [3]int64{})
	one.pins.Add(1)
	f([]uint64{2, 7}, []uint64{1}, [3]int64{1, 1, 0})
	f([]uint64{1, 2, 7}, []uint64{1}, [3]int64{2, 1, 0})
	f([]uint64{1, 3}, []uint64{1}, [3]int64{2, 0, 1})
	one.pins.Add(-1)
	f([]uint64{1}, nil, [3]int64{1, 0, 0})
	f(nil, nil, [3]int64{})
}
