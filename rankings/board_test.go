package rankings_test

import (
	"sync"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// TestBoard publishes three chains at once, and checks that every snapshot is
// complete and that generations only increase.
func TestBoard(t *testing.T) {
	var board rankings.Board
	if len(board.Load().Chains) != 0 {
		t.Fatal("an empty board has chains")
	}

	ids := []market.ChainID{43114, 1, 42161}
	rounds := 300
	if testing.Short() {
		rounds = 30
	}

	var writers sync.WaitGroup
	for _, id := range ids {
		writers.Go(func() {
			for gen := range uint64(rounds) {
				v, _ := rankings.Build(nil, &market.State{Chain: id}, gen+1)
				v.Confirm(int64(gen))
				v.Confirm(int64(gen) - 1)
				board.Publish(v)
				board.SetStatus(id, rankings.ChainStatus{LastIndexedAt: int64(gen)})
			}
		})
	}

	seen := map[market.ChainID]uint64{}
	for done := false; !done; {
		done = true
		snapshot := board.Load()
		for i, c := range snapshot.Chains {
			if i > 0 && c.ID <= snapshot.Chains[i-1].ID {
				t.Fatalf("chain %d after %d", c.ID, snapshot.Chains[i-1].ID)
			}
			if c.View.State.Chain != c.ID || c.View.Generation < seen[c.ID] ||
				c.View.Confirmed() != int64(c.View.Generation-1) {
				t.Fatalf("chain %d: generation %d after %d", c.ID, c.View.Generation, seen[c.ID])
			}
			seen[c.ID] = c.View.Generation
		}
		for _, id := range ids {
			done = done && seen[id] == uint64(rounds)
		}
	}

	writers.Wait()
	board.Withdraw(1)
	c, found := board.Load().Chain(1)
	if !found || c.View != nil || c.Status.LastIndexedAt != int64(rounds)-1 {
		t.Fatalf("withdrawn: %+v, %v", c, found)
	}

	if _, found := board.Load().Chain(5); found {
		t.Fatal("found a chain that nobody put there")
	}
}

// TestAnnounce: views before one that replaces blocks are told apart from when the store has
// its blocks, unless they could not be written.
func TestAnnounce(t *testing.T) {
	var board rankings.Board
	f := func(want uint64) {
		t.Helper()
		if c, _ := board.Load().Chain(1); c.Unbroken != want {
			t.Errorf("unbroken since generation %d; want %d", c.Unbroken, want)
		}
	}
	publish := func(generation uint64, reverted bool) {
		v, _ := rankings.Build(nil, &market.State{Chain: 1}, generation)
		v.Changes = &rankings.Changes{Since: generation - 1, Reverted: reverted}
		board.Publish(v)
	}

	publish(1, false)
	publish(2, false)
	f(1)
	recall := board.Announce(1, 3)
	f(3)
	recall()
	f(1)
	board.Announce(1, 3)
	publish(3, true)
	f(3)
	publish(4, false)
	f(3)
}
