package index

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// Places are sorted by key and then by place, whatever the keys are: in order, in the
// reverse order, with and without ties, and within a few bits or all of them.
func TestSortPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	s := Sorter{Pause: func() {}}
	f := func(name string, n int, key func(i int) uint64) {
		t.Helper()
		keys := make([]uint64, n)
		var places []uint32
		for i := range keys {
			keys[i] = key(i)
			if i%7 != 3 {
				places = append(places, uint32(i))
			}
		}
		want := slices.Clone(places)
		slices.SortStableFunc(want, func(a, b uint32) int { return cmp.Compare(keys[a], keys[b]) })

		words := s.SortPlaces(keys, places)
		for i, w := range words {
			if uint32(w) != want[i] {
				t.Fatalf("%s, %d rows: place %d is at rank %d; want %d", name, n, uint32(w), i, want[i])
			}
		}
		if len(words) != len(want) {
			t.Fatalf("%s: %d places; want %d", name, len(words), len(want))
		}
	}

	for _, n := range []int{0, 1, 2, 9, 5000} {
		f("ascending", n, func(i int) uint64 { return uint64(i) })
		f("descending", n, func(i int) uint64 { return uint64(n - i) })
		f("descending, ties", n, func(i int) uint64 { return uint64(n-i) / 5 })
		f("descending, far apart", n, func(i int) uint64 { return uint64(n-i) << 45 })
		f("all the same", n, func(int) uint64 { return 7 })
		f("random", n, func(int) uint64 { return r.Uint64() })
		f("random, ties", n, func(int) uint64 { return r.Uint64N(20) << 50 })
		f("random, close", n, func(int) uint64 { return 1<<60 + r.Uint64N(3000) })
	}
}
