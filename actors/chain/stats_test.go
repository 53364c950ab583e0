package chain

import (
	"math"
	"slices"
	"testing"

	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// TestOnlyOtherStatsAreWritten values every pool again: without a change none is to
// be written, and when one token's price moves, the pools whose stats it changes.
func TestOnlyOtherStatsAreWritten(t *testing.T) {
	s := newStage(t)
	s.publish()

	c, st := s.chain, *s.chain.view.State
	c.everything = true
	if changed := c.valuePools(&st, func() {}); len(changed) != 0 {
		t.Errorf("stats of %d pools are to be written again, but nothing has changed", len(changed))
	}

	native := st.Native
	prices := market.Thaw(st.Prices)
	prices.Mut(native).Usd *= 1.01
	st.Prices = prices.Freeze()
	before := st.Stats
	c.everything = true
	changed := c.valuePools(&st, func() {})
	if len(changed) == 0 || len(changed) == int(st.Pools.Len()) {
		t.Errorf("stats of %d pools of %d change with the native price", len(changed), st.Pools.Len())
	}

	for i := range st.Pools.Len() {
		want := value.Stats(&st, i)
		if !sameStats(st.Stats.At(i), &want) {
			t.Errorf("pool %d has the stats %+v; want %+v", i, *st.Stats.At(i), want)
		}
		if other := !sameStats(before.At(i), &want); other != slices.Contains(changed, i) {
			t.Errorf("pool %d is listed: %t; its stats changed: %t", i, !other, other)
		}
	}
}

// A price that becomes known, or unknown, is another one.
func TestSameFloat(t *testing.T) {
	f := func(a, b float64, want bool) {
		t.Helper()
		if got := sameFloat(a, b); got != want {
			t.Errorf("%v and %v: same %t; want %t", a, b, got, want)
		}
	}

	unknown := math.NaN()
	f(1, 1, true)
	f(1, 2, false)
	f(unknown, unknown, true)
	f(unknown, math.Float64frombits(math.Float64bits(unknown)+1), true)
	f(unknown, 1, false)
	f(1, unknown, false)
}
