package value

import (
	"testing"

	"tidemark/rankings/market"
)

// TestExitThroughHeldPrice: a token whose price is only held prices no other, so a pool
// against it is no part of a way out, and nothing of it can be taken out of one.
func TestExitThroughHeldPrice(t *testing.T) {
	w := newWorld()
	w.params.LoneHolder = 0
	token, _ := w.honest() // whose exit is 136,754 USD
	other := w.token(51, 18)
	way := w.poolFull(other, w.usd, 4, 200_000)
	pool := w.pool(token, other, 1)
	w.pools.Mut(pool).CreatedAt = testNow - market.Hour // too young to price either token
	i := w.openWhole(pool, 25_000)                      // 100,000 USD of either token
	w.pass(1)

	check := func(name string, exit float64) {
		t.Helper()
		st := w.state()
		var m Metrics
		Position(st, i, &m)
		mustNear(t, name+": exit", st.Prices.At(token).ExitUsd, exit, 1e-3)
		if m.Unrealizable[0] || m.PriceUnavailable {
			t.Errorf("%s: %+v", name, m.Figures)
		}
	}
	check("priced", 136_754+68_377)
	w.deep(way, 10)
	check("held", 136_754)
}
