package rankings_test

import (
	"math/rand/v2"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// TestMergedSeek asks for pages all over merged rankings of two chains of unequal
// size, whose orders have three leaves and more. Their ids interleave, so a page is
// found by the fences of both chains, and the page behind it by where it ends.
func TestMergedSeek(t *testing.T) {
	s := newShelf()
	var worlds []*world
	for i, positions := range []int{12_000, 7000} {
		w := newWorld([]market.ChainID{1, 42161}[i], 5, 20, positions, s)
		w.publish()
		worlds = append(worlds, w)
	}
	table := newTable(rand.New(rand.NewPCG(5, 5)), worlds, func(*world) bool { return false })

	const limit = 30 // more than are read together
	step := uint64(149)
	if testing.Short() {
		step = 1201
	}
	for by := range rankings.PositionSort(8) {
		for _, status := range []rankings.Status{rankings.Active, rankings.AnyStatus} {
			q := rankings.PositionQuestion{Sort: by, Status: status, IncludeRisky: true}
			want := filterPositions(table.positions[by], &q)
			search, err := rankings.SearchPositions(table.views, &q)
			if err != nil {
				t.Fatal(err)
			}
			for offset := uint64(0); offset < uint64(len(want))+step; offset += step {
				page, err := search.Page(s, offset, limit)
				if err == nil {
					err = check(page, -1, want, offset, limit)
				}
				if err != nil {
					t.Fatalf("%v, %v, offset %d: %v", by, status, offset, err)
				}
				if status == rankings.Active && page.HasMore != (page.End != nil) {
					t.Fatalf("%v, offset %d: a row follows: %v; the end is %d",
						by, offset, page.HasMore, page.End)
				}

				// Where another page ends is no place to begin.
				for _, behind := range []uint64{offset + limit, offset + limit + 1} {
					next, err := search.PageAfter(s, page.End, behind, limit)
					if err == nil {
						err = check(next, -1, want, behind, limit)
					}
					if err != nil {
						t.Fatalf("%v, %v, offset %d behind a page: %v", by, status, behind, err)
					}
				}
			}
		}
	}
}
