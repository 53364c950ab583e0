package value

import (
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// TestPastUsd: amounts are worth what quotes say, as far as they are needed, and nothing
// that only the own pool says counts.
func TestPastUsd(t *testing.T) {
	w := newWorld()
	token := w.token(10, 6)
	pool := w.poolFull(token, w.usd, 4, 100_000)
	st := w.state()
	f := func(name string, tokens, usd, price float64, only uint32, want float64) {
		t.Helper()
		a, b := u128(tokens*1e6), u128(usd*1e18)
		amounts := [2]clmath.U256{a.U256(), b.U256()}
		quotes := [2]Quote{{Usd: price, OnlyPool: only}, {Usd: 1, OnlyPool: market.NoIndex}}
		mustNear(t, name, PastUsd(st, pool, &amounts, &quotes), want, 1e-9)
	}

	unknown := market.Unknown
	f("both", 100, 300, 2, market.NoIndex, 500)
	f("no price", 100, 300, unknown, market.NoIndex, unknown)
	f("no price, and none needed", 0, 300, unknown, market.NoIndex, 300)
	f("priced by its own pool alone", 100, 300, 2, pool, unknown)
	f("priced by another pool alone", 100, 300, 2, pool+1, 500)

	w.pools.Mut(pool).Quarantined = true
	st = w.state()
	f("quarantined", 100, 300, 2, market.NoIndex, unknown)
}
