package main

import (
	"testing"
	"time"

	"tidemark/actors/feed/sim"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// TestSimulatedRowsAddUp holds every row of simulated markets, asked for over
// HTTP, to its own arithmetic and to its explanation's.
func TestSimulatedRowsAddUp(t *testing.T) {
	s := overHTTP(newStage(t))
	s.params.Stables = []market.Address{{0x01, 1}, {0x01, 2}, {0x01, 3}}
	s.params.WrappedNative = market.Address{0x02}
	for i, id := range []string{"1", "42161"} {
		s.toChain([]string{id})
		s.at.chain.Prices = s.params
		source, err := sim.New(sim.Config{
			Chain: s.at.id, Seed: uint64(3 + i), Positions: 150, Pools: 20, Days: 12, Actions: 2000,
			Genesis: 1_767_312_000, StartBlock: 1, PositionManager: script.Manager,
			Stables: s.params.Stables, Wrapped: s.params.WrappedNative, Frozen: true,
		})
		s.must(err)
		s.follow(source)
	}
	s.where = "every row"
	if rows := s.checkAll(); rows < 300 {
		t.Errorf("only %d positions were checked", rows)
	}
}

// follow takes the chain to the head of a simulated market.
func (s *stage) follow(source *sim.Feed) {
	for {
		step, err := source.Next(s.t.Context(), s.at.chain.Cursor())
		s.must(err)
		s.must(s.at.chain.Advance(step, time.Now()))
		if s.at.chain.Status().LastIndexed.Number == step.Head.Number {
			return
		}
	}
}
