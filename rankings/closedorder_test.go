package rankings

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Elements are taken out and put in at their indexes, whether there is room or not.
func TestEditsOfAnOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for range 2000 {
		ids := make([]uint32, r.IntN(12), 12+r.IntN(4))
		for i := range ids {
			ids[i] = uint32(i)
		}
		var gone, want []uint32
		for i := range ids {
			if r.IntN(3) == 0 {
				gone = append(gone, uint32(i))
			} else {
				want = append(want, uint32(i))
			}
		}
		ids = removeAt(ids, gone)
		if !slices.Equal(ids, want) {
			t.Fatalf("without %v it is %v; want %v", gone, ids, want)
		}

		var come []comingRow
		for i := 0; i <= len(ids); i++ {
			for range r.IntN(3) {
				come = append(come, comingRow{row: 100 + uint32(len(come)), at: uint32(i)})
			}
		}
		was := slices.Clone(ids)
		want = slices.Clone(was)
		for i, c := range come {
			want = slices.Insert(want, int(c.at)+i, c.row)
		}
		if ids = insertAt(ids, come); !slices.Equal(ids, want) {
			t.Fatalf("with %+v, %v is %v; want %v", come, was, ids, want)
		}
	}
}
