package main

import (
	"cmp"
	"slices"
	"strconv"
	"testing"
	"time"

	"tidemark/actors/feed/sim"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
	"tidemark/storage"
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
		s.follow(s.simulate(sim.Config{Seed: uint64(3 + i), Now: clock}))
	}
	s.where = "every row"
	if rows := s.checkAll(); rows < 300 {
		t.Errorf("only %d positions were checked", rows)
	}
}

// simulate makes a market for the chain that is played, small and short where
// size says nothing else. Without a clock it is frozen.
func (s *stage) simulate(size sim.Config) *sim.Feed {
	s.params.WrappedNative = market.Address{0x02}
	s.setStables([]market.Address{{0x01, 1}, {0x01, 2}, {0x01, 3}})
	size.Chain, size.Genesis, size.StartBlock = s.at.id, simGenesis, 1
	size.PositionManager, size.Stables, size.Wrapped = script.Manager, s.params.Stables, s.params.WrappedNative
	size.Frozen = size.Now == nil
	if size.Positions == 0 {
		size.Positions, size.Pools, size.Days, size.Actions = 150, 20, simDays, 2000
	}
	source, err := sim.New(size)
	s.must(err)
	return source
}

// TestWindowsGlide: over two hours no window of a pool falls in one refresh by
// more than a twelfth of its oldest hour.
func TestWindowsGlide(t *testing.T) {
	s := newStage(t)
	now := time.Unix(simGenesis, 0).AddDate(0, 0, simDays)
	source := s.simulate(sim.Config{Seed: 3, Now: func() time.Time { return now }})
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

// TestPricesStayKnown: over 90 days of the default market no token of the ten
// deepest gains or loses its price, or its trust, more than once.
func TestPricesStayKnown(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3, 4} {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { pricesStayKnown(t, seed) })
	}
}

func pricesStayKnown(t *testing.T, seed uint64) {
	s := newStage(t)
	s.follow(s.simulate(sim.Config{Seed: seed, Positions: 3000, Pools: 80, Days: 90}))
	s.publish()
	c, _ := s.board.Load().Chain(1)
	st := c.View.State

	var tokens []uint32
	for i := range st.Tokens.Len() {
		if p := st.Prices.At(i); !p.Anchor && market.Known(p.Usd) {
			tokens = append(tokens, i)
		}
	}
	slices.SortFunc(tokens, func(a, b uint32) int {
		return cmp.Compare(st.Prices.At(b).ExitUsd, st.Prices.At(a).ExitUsd)
	})
	if len(tokens) < 10 {
		t.Fatalf("only %d tokens have a price", len(tokens))
	}
	for _, token := range tokens[:10] {
		var known, trusted, wasKnown, wasTrusted int
		it := s.store.HourPrices(1, token, 0, market.HourOf(st.Now()), storage.OldestFirst)
		for it.Next() {
			is := *it.Entry()
			count(&known, &wasKnown, market.Known(is.Usd))
			count(&trusted, &wasTrusted, is.Corroborated)
		}
		s.must(it.Err())
		it.Close()
		if known > 1 || trusted > 1 {
			t.Errorf("token %d gained or lost its price %d times and its trust %d times", token, known, trusted)
		}
	}
}

// count counts how often something changed that was not so at first.
func count(changes, was *int, is bool) {
	now := 0
	if is {
		now = 1
	}
	if now != *was {
		*changes++
	}
	*was = now
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
