package ledger

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"tidemark/rankings/market"
)

// TestRandomMarkets applies random spans with reverts, refused spans, stores at any
// time and restarts. The result equals that of the remaining spans alone, and its
// seconds those of a count from block to block.
func TestRandomMarkets(t *testing.T) {
	var parts, closed, again int
	for seed := range uint64(12) {
		steps := 150
		if testing.Short() {
			steps = 40
		}
		st, clock := randomMarket(t, seed, steps)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		a, b, c := clock.compare(t, st)
		parts, closed, again = parts+a, closed+b, again+c
	}

	if parts == 0 || closed == 0 || again == 0 {
		t.Errorf("%d positions partly in range, %d closed, %d opened again; want some of each",
			parts, closed, again)
	}
}

// randomMarket returns the state at the end and the clock of its spans.
func randomMarket(t *testing.T, seed uint64, steps int) (*market.State, *clockModel) {
	t.Helper()
	w, store := newWorld(seed), newShadow()
	var kept []*step
	for range steps {
		s := w.step()
		if w.r.IntN(6) == 0 {
			refuse(t, w, s)
		}

		if err := s.apply(w.Ledger); err != nil {
			t.Fatal(err)
		}

		kept = append(kept, s)
		switch w.r.IntN(12) {
		case 0, 1:
			for n := w.r.IntN(6); n > 0 && len(w.undos) > 0; n-- {
				if err := w.Revert(); err != nil {
					t.Fatal(err)
				}
				kept = kept[:len(kept)-1]
			}
		case 2, 3, 4:
			store.take(w.Ledger)
			store.compare(t, w.Ledger)
		case 5:
			w.Freeze()
		case 6:
			w.Forget(w.st.Head.Number - w.r.Uint64N(600))
		case 7:
			store.take(w.Ledger)
			before := w.Ledger
			w.Ledger = store.restart(w.cfg)
			sameIndexes(t, w.Ledger, before)
		}
	}

	store.take(w.Ledger)
	st := w.Freeze()
	clean(t, st)
	store.compareBuckets(t)
	fresh, want, clock := New(w.cfg), newShadow(), newClockModel()
	for _, s := range kept {
		if err := s.apply(fresh); err != nil {
			t.Fatal(err)
		}
		clock.span(&s.span)
	}

	want.take(fresh)
	sameState(t, st, fresh.Freeze())
	sameSeries(t, store.series, want.series)
	sameIndexes(t, w.Ledger, fresh)
	return st, clock
}

// refuse changes the last swap or transfer of a span, and checks that the ledger
// refuses the span and does not change.
func refuse(t *testing.T, w *world, s *step) {
	t.Helper()
	for i := len(s.span.Blocks) - 1; i >= 0; i-- {
		logs := s.span.Blocks[i].Logs
		for k := len(logs) - 1; k >= 0; k-- {
			whole := logs[k].Event
			switch e := whole.(type) {
			case market.Swap:
				e.Liquidity.Lo++
				logs[k].Event = e
			case market.TransferNFT:
				e.From[5]++
				logs[k].Event = e
			default:
				continue
			}

			before, ops := w.Freeze(), w.ops.Len()
			s.span.Strict = true
			err := s.apply(w.Ledger)
			s.span.Strict = false
			var m *Mismatch
			if !errors.As(err, &m) {
				t.Fatalf("the ledger took %+v; %v", logs[k].Event, err)
			}
			if m.Chain != 1 || m.Block != s.span.Blocks[i].Number || m.LogIndex != logs[k].Index {
				t.Fatalf("the ledger names another log: %s", m)
			}
			sameState(t, w.Freeze(), before)
			for _, op := range slices.Collect(w.ops.All())[ops:] { // the days of ticks before it may have been put
				if op.Drop || TickDays.Entry(&op) == nil {
					t.Fatalf("a refused span left an operation on a series: %+v", op.Entry)
				}
			}

			quarantine(t, w, s, before)
			logs[k].Event = whole
			return
		}
	}
}

// quarantine applies a wrong span that is not strict: either a pool is quarantined
// and all invariants hold, or no pool can be blamed. Then it reverts the span.
func quarantine(t *testing.T, w *world, s *step, before *market.State) {
	t.Helper()
	if len(s.span.Tokens) > 0 {
		return // the Revert below would keep the tokens
	}
	if s.hour != 0 {
		w.BeginHour(s.hour, s.prices, s.pools)
	}
	quarantined, err := w.Apply(&s.span)
	var m *Mismatch
	if errors.As(err, &m) && m.Pool == (market.PoolID{}) {
		return
	}
	if err != nil || len(quarantined) == 0 || w.QuarantinedPools() != len(quarantined) {
		t.Fatalf("a broken span gives %v, %v; %d pools are quarantined",
			quarantined, err, w.QuarantinedPools())
	}
	broken := w.Freeze()
	clean(t, broken)
	sameIndexes(t, From(w.cfg, broken, nil, func() {}), w.Ledger)

	if err := w.Revert(); err != nil {
		t.Fatal(err)
	}
	if w.QuarantinedPools() != 0 {
		t.Error("a quarantine outlived its span")
	}
	sameState(t, w.Freeze(), before)
}

// sameIndexes compares the indexes of two ledgers.
func sameIndexes(t *testing.T, got, want *Ledger) {
	t.Helper()
	sameIndex(t, "token", got.tokenOf.all(), want.tokenOf.all())
	sameIndex(t, "owner", got.ownerOf.all(), want.ownerOf.all())
	sameIndex(t, "pool", got.poolOf.all(), want.poolOf.all())
	sameIndex(t, "nonNFT", got.nonNFTOf, want.nonNFTOf)
	sameIndex(t, "holding", got.holdings, want.holdings)
	if got.quarantined != want.quarantined {
		t.Errorf("%d pools are quarantined; want %d", got.quarantined, want.quarantined)
	}
	if got.day != want.day || got.hourNow != want.hourNow {
		t.Errorf("the clock is at day %d, hour %d; want %d, %d", got.day, got.hourNow, want.day, want.hourNow)
	}

	sameSlots(t, "tick", got.freeTicks, want.freeTicks)
	sameSlots(t, "bucket", got.freeHours, want.freeHours)
	for day := range got.day + 1 {
		if a, b := got.buckets.newestOf(day), want.buckets.newestOf(day); !slices.Equal(a, b) {
			t.Errorf("the newest buckets of day %d are %d; want %d", day, a, b)
		}
	}
}

func sameIndex[K, V comparable](t *testing.T, name string, got, want map[K]V) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("the index by %s is %v; want %v", name, got, want)
	}
}

// sameSlots compares the free records of two ledgers in the order in which they
// would be used.
func sameSlots(t *testing.T, name string, got, want freeSlots) {
	t.Helper()
	got.words, want.words = slices.Clone(got.words), slices.Clone(want.words)
	for {
		a, okA := got.take()
		b, okB := want.take()
		if a != b || okA != okB {
			t.Fatalf("the next free %s is %d %t; want %d %t", name, a, okA, b, okB)
		}
		if !okA {
			return
		}
	}
}
