package ledger

import (
	"errors"
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
			w.Ledger = store.restart(w.cfg)
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

			before := w.Freeze()
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
	clean(t, w.Freeze())

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
	if len(got.holdings) != len(want.holdings) || len(got.poolOf) != len(want.poolOf) ||
		len(got.ownerOf) != len(want.ownerOf) || len(got.nonNFTOf) != len(want.nonNFTOf) {
		t.Error("the indexes have other sizes")
	}

	for k, n := range want.holdings {
		if got.holdings[k] != n {
			t.Errorf("holding %+v is %d; want %d", k, got.holdings[k], n)
		}
	}

	for {
		a, okA := got.freeTicks.take()
		b, okB := want.freeTicks.take()
		if a != b || okA != okB {
			t.Fatalf("the next free tick is %d %t; want %d %t", a, okA, b, okB)
		}
		if !okA {
			break
		}
	}

	for {
		a, okA := got.freeHours.take()
		b, okB := want.freeHours.take()
		if a != b || okA != okB {
			t.Fatalf("the next free bucket is %d %t; want %d %t", a, okA, b, okB)
		}
		if !okA {
			break
		}
	}
}
