package value

import (
	"math"
	"testing"

	"tidemark/rankings/market"
)

// TestTimeInRange: the world's ticks have 0 seconds outside, so the seconds inside
// of a range around the price are the clock.
func TestTimeInRange(t *testing.T) {
	const inside, day = uint32(testNow), market.Day
	f := func(want float64, change func(w *world, p *market.Position)) {
		t.Helper()
		m := measured(func(w *world, p *market.Position) {
			p.Timed, p.SecondsInside = true, inside-25*day // of 100 days
			change(w, p)
		})
		mustNear(t, "timeInRange", m.TimeInRange, want, 1e-15)
	}

	f(0.25, func(*world, *market.Position) {})
	f(0.5, func(_ *world, p *market.Position) { p.SecondsClosed = 50 * day })
	f(0, func(_ *world, p *market.Position) { p.SecondsInside = inside })
	f(1, func(_ *world, p *market.Position) { p.SecondsInside = inside - 100*day })
	f(0.4, func(_ *world, p *market.Position) { closed(p); p.SecondsInside = 4 * day })
	f(0.8, func(_ *world, p *market.Position) {
		closed(p)
		p.SecondsInside, p.SecondsClosed = 4*day, 5*day
	})

	f(market.Unknown, func(_ *world, p *market.Position) { p.MintedAt = uint32(testNow) })
	f(market.Unknown, func(_ *world, p *market.Position) { closed(p); p.ClosedAt = p.MintedAt })
	f(market.Unknown, func(_ *world, p *market.Position) { p.Timed = false })
	f(market.Unknown, func(w *world, p *market.Position) { w.pools.Mut(p.Pool).Quarantined = true })
}

func TestPricesOfARange(t *testing.T) {
	f := func(change func(w *world, p *market.Position), lower, upper float64) {
		t.Helper()
		m := measured(func(w *world, p *market.Position) {
			p.TickLower, p.TickUpper = -20_000, 20_000
			w.ranges[p.Pool] = []span{{-20_000, 20_000, approx128(p.Liquidity())}}
			change(w, p)
		})
		mustNear(t, "priceLower", m.PriceLower, lower, 1e-9)
		mustNear(t, "priceUpper", m.PriceUpper, upper, 1e-9)
	}

	at := math.Pow(1.0001, 20_000)
	f(func(*world, *market.Position) {}, 1/at, at)
	f(func(_ *world, p *market.Position) { closed(p) }, 1/at, at)
	f(func(w *world, p *market.Position) {
		w.tokens.Mut(w.pools.At(p.Pool).Currency0).Decimals -= 2
	}, 0.01/at, 0.01*at)
	f(func(w *world, p *market.Position) {
		w.tokens.Mut(w.pools.At(p.Pool).Currency1).BadDecimals = true
	}, market.Unknown, market.Unknown)
}
