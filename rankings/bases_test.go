package rankings

import (
	"testing"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// tenRows are leaves of ten rows each, numbered from 0.
type tenRows struct{}

func (tenRows) Leaf(_ market.ChainID, number uint64) (ids []uint32, err error) {
	for i := range uint32(10) {
		ids = append(ids, uint32(number)*10+i)
	}
	return ids, nil
}

// TestBasesPause checks that there is a pause after every base that is read.
func TestBasesPause(t *testing.T) {
	pauses := 0
	f := baseFinder{leaves: tenRows{}, pause: func() { pauses++ }}
	var bases []block.Base
	for i := range uint32(3 * block.MaxBases) {
		bases = append(bases, block.Base{Number: uint64(i), First: 10 * i, Rows: 10})
	}
	f.begin(bases, 1000)

	near := func(rank, want int) {
		t.Helper()
		pauses = 0
		if got := f.near(rank, rank+10); len(got) != block.MaxBases || pauses != want {
			t.Errorf("%d bases around rank %d, %d pauses; want %d and %d",
				len(got), rank, pauses, block.MaxBases, want)
		}
	}
	near(0, block.MaxBases)
	near(0, 0) // they are known by now
}
