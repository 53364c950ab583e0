package rankings_test

import (
	"math/rand/v2"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// countedLeaves counts which leaves are read.
type countedLeaves struct {
	*decoded
	read map[[2]uint64]bool
}

func (c *countedLeaves) Leaf(chain market.ChainID, number uint64) ([]uint32, error) {
	c.read[[2]uint64{uint64(chain), number}] = true
	return c.decoded.Leaf(chain, number)
}

// TestSeekReadsFewLeaves checks that a page in the middle of merged runs is found by the
// directories but for the leaves that it is in: at most the one where it begins in each of
// six runs, and one that follows.
func TestSeekReadsFewLeaves(t *testing.T) {
	const positions, runs = 30_000, 6
	w := newWorld(1, 2, 50, positions, nil)
	leaves := &countedLeaves{decoded: &decoded{map[market.ChainID]map[uint64][]uint32{}}}
	views := leaves.buildChains(w)

	r := rand.New(rand.NewPCG(1, 2))
	q := rankings.PositionQuestion{Sort: rankings.ByPnl, Status: rankings.AnyStatus, IncludeRisky: true, Limit: 20}
	most := 0
	for range 200 {
		s, err := rankings.SearchPositions(views, &q)
		if err != nil {
			t.Fatal(err)
		}
		total, _ := s.Total()
		leaves.read = map[[2]uint64]bool{}
		if page, err := s.Page(leaves, r.Uint64N(total-20), 20); err != nil || len(page.Rows) != 20 {
			t.Fatal(len(page.Rows), err)
		}
		most = max(most, len(leaves.read))
	}
	if most > runs+1 {
		t.Errorf("a page reads %d leaves; want at most %d", most, runs+1)
	}
}
