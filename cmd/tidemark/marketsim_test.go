package main

import (
	"testing"
	"time"

	"tidemark/actors/feed/sim"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// TestSimulatedRowsAddUp holds every row of simulated markets, asked for over
// HTTP, to its own arithmetic, to its explanation's and to its charts'.
func TestSimulatedRowsAddUp(t *testing.T) {
	t.Run("frozen", func(t *testing.T) { simulatedRows(t, nil) })
	t.Run("live", func(t *testing.T) {
		now := time.Unix(simGenesis, 0).AddDate(0, 0, simDays).Add(5*time.Hour + 17*time.Minute)
		simulatedRows(t, func() time.Time { return now })
	})
}

const (
	simGenesis = 1_767_312_000
	simDays    = 12
)

// simulatedRows checks two chains; without a clock they are frozen.
func simulatedRows(t *testing.T, clock func() time.Time) {
	s := overHTTP(newStage(t))
	for i, id := range []string{"1", "42161"} {
		s.toChain([]string{id})
		s.follow(s.simulate(uint64(3+i), clock))
	}
	s.where = "every row"
	if rows := s.checkAll(); rows < 300 {
		t.Errorf("only %d positions were checked", rows)
	}
}

// simulate makes a market for the chain that is played.
func (s *stage) simulate(seed uint64, clock func() time.Time) *sim.Feed {
	s.params.Stables = []market.Address{{0x01, 1}, {0x01, 2}, {0x01, 3}}
	s.params.WrappedNative = market.Address{0x02}
	s.at.chain.Prices = s.params
	source, err := sim.New(sim.Config{
		Chain: s.at.id, Seed: seed, Positions: 150, Pools: 20, Days: simDays, Actions: 2000,
		Genesis: simGenesis, StartBlock: 1, PositionManager: script.Manager,
		Stables: s.params.Stables, Wrapped: s.params.WrappedNative,
		Frozen: clock == nil, Now: clock,
	})
	s.must(err)
	return source
}

// TestWindowsGlide: over two hours no window of a pool falls in one refresh by
// more than a twelfth of its oldest hour.
func TestWindowsGlide(t *testing.T) {
	s := newStage(t)
	now := time.Unix(simGenesis, 0).AddDate(0, 0, simDays)
	source := s.simulate(3, func() time.Time { return now })
	var before *market.State
	fell := 0
	for range 120 {
		s.follow(source)
		s.publish()
		c, _ := s.board.Load().Chain(1)
		st := c.View.State
		for i := range st.Pools.Len() {
			if before == nil || i >= before.Pools.Len() {
				continue
			}
			was, is := before.Stats.At(i), st.Stats.At(i)
			day, week := tradeOf(before, i, 24), tradeOf(before, i, 168)
			if is.VolumeUsd24h < was.VolumeUsd24h {
				fell++
			}
			if is.VolumeUsd24h < was.VolumeUsd24h-day/12-1e-6 || is.VolumeUsd7d < was.VolumeUsd7d-week/12-1e-6 {
				t.Errorf("at %d the windows of pool %d fell from %v and %v to %v and %v; the oldest hours have %v and %v",
					st.Now(), i, was.VolumeUsd24h, was.VolumeUsd7d, is.VolumeUsd24h, is.VolumeUsd7d, day, week)
			}
		}
		before, now = st, now.Add(time.Minute)
	}

	if fell < 50 {
		t.Errorf("windows fell only %d times", fell)
	}
}

// tradeOf is what a pool traded in the hour so many hours ago.
func tradeOf(st *market.State, pool, ago uint32) float64 {
	hour := market.HourOf(st.Now()) - ago
	for at := st.Pools.At(pool).LastHour; at != market.NoIndex; at = st.Hours.At(at).Prev {
		if st.Hours.At(at).Hour == hour {
			return st.Hours.At(at).VolumeUsd
		}
	}
	return 0
}

// follow takes the chain to the head of a simulated market.
func (s *stage) follow(source *sim.Feed) {
	for {
		step, err := source.Next(s.t.Context(), s.at.chain.Cursor())
		s.must(err)
		if !step.SpanConfirmed.IsZero() {
			step.SpanConfirmed = time.Now() // the server's clock is not the feed's
		}
		s.must(s.at.chain.Advance(step, time.Now()))
		if s.at.chain.Status().LastIndexed.Number == step.Head.Number {
			return
		}
	}
}
