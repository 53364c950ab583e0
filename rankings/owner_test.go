package rankings_test

import (
	"errors"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// TestHoldings holds what every owner has against its rows, while positions change
// hands, close and open, and pools are in quarantine.
func TestHoldings(t *testing.T) {
	w := newTestWorld(t, 900)
	missing, several := uint64(0), 0
	f := func(name string, change func()) {
		t.Helper()
		change()
		w.publish()

		// A view that is computed anew has the rows in other lists, and the same sums.
		anew, _ := rankings.Build(nil, w.state(), 1)
		st := w.state()
		for i := range st.Owners.Len() {
			owner := st.Owners.At(i)
			want := holdingsOf(st, i)
			if got := sumOwner(t, w.view, owner, 7); got != want {
				t.Errorf("%s: owner %d: got %+v; want %+v", name, i, got, want)
			}
			if got := sumOwner(t, anew, owner, 1<<20); got != want {
				t.Errorf("%s: owner %d, anew: got %+v; want %+v", name, i, got, want)
			}
			missing += want.Unknown
			if want.Open > 1 && want.Closed > 1 {
				several++
			}
		}
	}

	f("at first", func() {})
	f("owners change", func() {
		for i := range uint32(300) {
			w.positions.Mut(i * 3).Owner = i % 5
		}
	})
	f("a quarantine", func() { w.pools.Mut(0).Quarantined = true })
	f("positions close", func() {
		for i := range uint32(200) {
			w.close(i * 4)
		}
	})
	for range 10 {
		f("blocks", w.change)
	}
	if missing == 0 || several == 0 {
		t.Errorf("%d values were missing; %d owners had several positions", missing, several)
	}

	if got := sumOwner(t, w.view, &market.Address{0xfe}, 10); got != (rankings.Holdings{}) {
		t.Errorf("nobody has %+v", got)
	}
}

func sumOwner(
	t *testing.T, v *rankings.View, owner *market.Address, budget int,
) rankings.Holdings {
	t.Helper()
	walk, err := v.Holdings(owner)
	if err != nil {
		t.Fatal(err)
	}

	for left := walk.Left(); !walk.Step(budget); left = walk.Left() {
		if walk.Left() >= left {
			t.Fatalf("%d rows are left after a step; there were %d", walk.Left(), left)
		}
	}
	return walk.Sums()
}

// holdingsOf adds up all rows that are an owner's.
func holdingsOf(st *market.State, owner uint32) (h rankings.Holdings) {
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		if p.Owner != owner {
			continue
		}
		var m value.Metrics
		value.Position(st, i, &m)

		if h.Closed++; m.Open {
			h.Open, h.Closed = h.Open+1, h.Closed-1
		}
		known := h.UnderlyingValueUsd.Add(m.UnderlyingValueUsd)
		known = h.PendingFeesUsd.Add(m.PendingFeesUsd) && known
		if known = h.PnlUsd.Add(m.PnlUsd) && known; !known {
			h.Unknown++
		}
	}
	return h
}

// TestSum: a sum of nothing is 0, and of nothing but unknown values unknown.
func TestSum(t *testing.T) {
	f := func(want float64, values ...float64) {
		t.Helper()
		var s rankings.Sum
		for _, v := range values {
			s.Add(v)
		}
		if got := s.Usd(); got != want && market.Known(want) || market.Known(got) != market.Known(want) {
			t.Errorf("%v sum up to %v; want %v", values, got, want)
		}
	}

	f(0)
	f(0, 0)
	f(3, 1, 2)
	f(1, 1, market.Unknown)
	f(0, 0, market.Unknown)
	f(market.Unknown, market.Unknown)
}

func TestHoldingsWarming(t *testing.T) {
	w := newTestWorld(t, 50)
	cold, err := rankings.Open(chilled(w.view.State), w.generation, w.directory)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cold.Holdings(&market.Address{}); !errors.Is(err, rankings.ErrWarming) {
		t.Errorf("a cold view: got %v", err)
	}
}
