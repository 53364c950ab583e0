package value

import (
	"math"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// measured returns the metrics of a position of 100 TIDE at 4 USD and 400
// stables over all prices, after change, with 1 of the native as gas.
func measured(change func(w *world, p *market.Position)) Metrics {
	w := newWorld()
	_, pool := w.honest()
	i := w.openWhole(pool, 100)
	p := w.positions.Mut(i)
	p.GasWei = u128(1e18)
	change(w, p)
	st := w.state()
	var m Metrics
	for leg := range m.Price {
		m.Unrealizable[leg], m.Price[leg].Usd = true, 77 // must be overwritten
	}

	Position(st, i, &m)
	return m
}

func closed(p *market.Position) {
	p.Withdrawn0, p.Withdrawn1 = u128(90e18), u128(500e18)
	p.Collected0, p.Collected1 = u128(3e18), u128(7e18)
	p.ClosedAt = p.MintedAt + 10*market.Day
	p.SetClose([2]market.ClosePrice{
		{Usd: 5, AsOf: 123, Markets: 2, Source: market.SourcePool, Corroborated: true},
		{Usd: 1.5, AsOf: 456, Source: market.SourceAnchor, Corroborated: true},
	})
	p.CloseNativeUsd = 1000
}

func TestOpenPosition(t *testing.T) {
	m := measured(func(w *world, p *market.Position) {
		p.Withdrawn1, p.Collected0 = u128(50e18), u128(10e18)
		p.CostUsd = 50 + 30 - 700 - 1500
	})

	f := func(name string, got, want float64) {
		t.Helper()
		mustNear(t, name, got, want, 1e-9)
	}

	f("V", m.UnderlyingValueUsd, 800)
	f("D", m.DepositsUsd, 800)
	f("W", m.WithdrawalsUsd, 50)
	f("F", m.FeesUsd, 40)
	f("G", m.GasUsd, 2000)
	f("divergence", m.DivergenceUsd, 50)
	f("pnl", m.PnlUsd, 50+40-2000)
	f("pnlCost", m.PnlCostUsd, 800+80-2200)
	f("roi", m.ROI, -1910.0/800*100)
	f("apr", m.APR, -1910.0/800*100*3.65)
	f("feeApr", m.FeeAPR, 40.0/800*100*3.65)
	if !m.Open || !m.InRange || m.AgeSeconds != 100*market.Day || !near(m.NativeUsd, 2000, 1e-9) {
		t.Errorf("%+v", m)
	}
}

func TestClosedPositionKeepsItsPrices(t *testing.T) {
	m := measured(func(w *world, p *market.Position) {
		closed(p)
		p.CostUsd = -11
	})

	f := func(name string, got, want float64) {
		t.Helper()
		mustNear(t, name, got, want, 1e-9)
	}

	f("V", m.UnderlyingValueUsd, 0)
	f("D", m.DepositsUsd, 100*5+400*1.5)
	f("W", m.WithdrawalsUsd, 90*5+500*1.5)
	f("F", m.FeesUsd, 3*5+7*1.5)
	f("G", m.GasUsd, 1000)
	f("pnl", m.PnlUsd, 1200+25.5-1100-1000)
	f("pnlCost", m.PnlCostUsd, -11)
	f("apr", m.APR, (1200+25.5-1100-1000)/1100*100*36.5)
	if m.Open || !m.InRange || m.AgeSeconds != 10*market.Day || m.UnrealizableLeg() {
		t.Errorf("%+v", m.Figures)
	}
	if p := m.Price[0]; p.Usd != 5 || p.AsOf != 123 || p.Markets != 2 || p.Source != market.SourcePool {
		t.Errorf("closing price %+v", p)
	}
}

func TestReopenedPositionIsOpen(t *testing.T) {
	m := measured(func(w *world, p *market.Position) {
		open := p.Liquidity()
		closed(p)
		p.SetLiquidity(open) // the time of the close stays
	})
	mustNear(t, "V", m.UnderlyingValueUsd, 800, 1e-9)
	mustNear(t, "W", m.WithdrawalsUsd, 90*4+500, 1e-9)
	if !m.Open || m.AgeSeconds != 100*market.Day || !near(m.NativeUsd, 2000, 1e-9) {
		t.Errorf("%+v", m)
	}
}

func TestUnknowns(t *testing.T) {
	f := func(name string, change func(*world, *market.Position), check func(m *Metrics) bool) {
		t.Helper()
		if m := measured(change); !check(&m) {
			t.Errorf("%s: %+v", name, m.Figures)
		}
	}
	unknown := func(x ...float64) bool {
		for _, x := range x {
			if market.Known(x) {
				return false
			}
		}
		return true
	}
	unpriced := func(w *world, _ *market.Position) { w.pools.Mut(1).LastSwapAt = 0 }

	f("a leg without a price", unpriced, func(m *Metrics) bool {
		return m.PriceUnavailable && m.Risky && m.Reason == market.ReasonStalePrice &&
			unknown(m.UnderlyingValueUsd, m.DepositsUsd, m.PnlUsd, m.PnlCostUsd, m.ROI, m.APR, m.FeeAPR) &&
			m.WithdrawalsUsd == 0 && m.FeesUsd == 0
	})
	f("that has no amount", func(w *world, p *market.Position) {
		unpriced(w, p)
		p.ClosedAt, p.Deposited0 = uint32(testNow), clmath.U128{}
		p.SetClose([2]market.ClosePrice{{Usd: market.Unknown}, {Usd: 1}})
	}, func(m *Metrics) bool { return !m.PriceUnavailable && near(m.DepositsUsd, 400, 1e-9) })
	f("nothing deposited", func(w *world, p *market.Position) {
		p.Deposited0, p.Deposited1 = clmath.U128{}, clmath.U128{}
	}, func(m *Metrics) bool { return unknown(m.ROI, m.APR, m.FeeAPR) && market.Known(m.PnlUsd) })
	f("a receipt is missing", func(w *world, p *market.Position) { p.GasUnknown = true },
		func(m *Metrics) bool {
			return unknown(m.GasUsd, m.PnlUsd, m.APR) && market.Known(m.FeeAPR) && !m.PriceUnavailable
		})
	f("no gas needs no native price", func(w *world, p *market.Position) {
		w.pools.Mut(0).LastSwapAt, p.GasWei = 0, clmath.U128{}
	}, func(m *Metrics) bool { return m.GasUsd == 0 && market.Known(m.PnlUsd) })
	f("gas does", func(w *world, p *market.Position) { w.pools.Mut(0).LastSwapAt = 0 },
		func(m *Metrics) bool {
			return unknown(m.PnlUsd) && m.Reason == market.ReasonStalePrice && !m.PriceUnavailable
		})
	f("a flow of unknown value", func(w *world, p *market.Position) { p.CostUsd = market.Unknown },
		func(m *Metrics) bool { return unknown(m.PnlCostUsd) && market.Known(m.PnlUsd) })
	f("dust that overflows a percentage", func(w *world, p *market.Position) {
		p.Deposited0, p.Deposited1 = clmath.U128{}, u128(1)
		w.tokens.Mut(w.usd).Decimals, p.Collected0 = 36, u128(math.MaxUint64*1e18)
	}, func(m *Metrics) bool { return !math.IsInf(m.APR, 0) })
}

func TestAnnualisationFloor(t *testing.T) {
	f := func(age int64, wantHours float64) {
		t.Helper()
		m := measured(func(w *world, p *market.Position) {
			p.MintedAt, p.Collected1 = uint32(testNow-age), u128(8e18)
		})
		mustNear(t, "feeApr", m.FeeAPR, 8.0/800*100*365*24/wantHours, 1e-9)
		mustNear(t, "apr", m.APR, m.ROI*365*24/wantHours, 1e-9)
		if m.AgeSeconds != max(age, 0) {
			t.Errorf("age %d; want %d", m.AgeSeconds, age)
		}
	}

	f(-5, 1)
	f(0, 1)
	f(1, 1)
	f(3600, 1)
	f(7200, 2)
}

func TestUnrealizableLeg(t *testing.T) {
	f := func(name string, tokens float64, want bool) {
		t.Helper()
		m := measured(func(w *world, p *market.Position) {
			w.ranges[1] = nil // only the other pool has liquidity
			other := w.poolFull(2, w.usd, 4, 200_000)
			w.pools.Mut(other).Swaps = 1000
			*p = *w.positions.At(w.openWhole(other, tokens))
			p.ID = 1
		})
		if m.Unrealizable[0] != want || m.Unrealizable[1] || m.PriceUnavailable {
			t.Errorf("%s: %+v", name, m.Figures)
		}
		worth := 2 * tokens * 4
		if want {
			worth /= 2
		}
		mustNear(t, name, m.UnderlyingValueUsd, worth, 1e-9)
		mustNear(t, name+": deposits", m.DepositsUsd, 2*tokens*4, 1e-9)
	}

	// The others' 200,000 USD a side pay out 1 - sqrt(0.1) of it: 136,754.
	f("a claim below the exit", 34_188, false)
	f("a claim above it", 34_189, true)
}

// TestOwnExit: what a position itself would pay for the token is no way out of
// it, whichever side of the pool the token stands on.
func TestOwnExit(t *testing.T) {
	f := func(name string, leg int, tokens float64, want bool) {
		t.Helper()
		w := newWorld()
		token, pool := w.token(50, 18), uint32(0)
		whole0 := tokens
		if leg == 0 {
			pool = w.poolFull(token, w.usd, 4, 200_000)
		} else {
			pool = w.poolFull(w.usd, token, 0.25, 50_000)
			whole0 = tokens * 4
		}

		i := w.openWhole(pool, whole0)
		var m Metrics
		Position(w.state(), i, &m)
		if m.Unrealizable[leg] != want || m.Unrealizable[1-leg] || m.PriceUnavailable {
			t.Errorf("%s, leg %d: %+v", name, leg, m.Figures)
		}
	}

	for leg := range 2 {
		f("a claim below the exit of the others", leg, 34_188, false)
		f("a claim above it", leg, 34_189, true)
	}
}

func TestWideSums(t *testing.T) {
	w := newWorld()
	_, pool := w.honest()
	i := w.openWhole(pool, 100)
	var wides market.Table[market.Sums]
	w.positions.Mut(i).Overflow = wides.Append(market.Sums{Deposited0: clmath.U256{0, 0, 1}})

	st := w.state()
	st.Overflow = wides.Freeze()
	var m Metrics
	Position(st, i, &m)
	mustNear(t, "D", m.DepositsUsd, math.Pow(2, 128)/1e18*4, 1e-9)
	if m.Deposits.Raw[0] != (clmath.U256{0, 0, 1}) {
		t.Errorf("deposits %v", m.Deposits)
	}
}

func TestClampPercent(t *testing.T) {
	f := func(x, want float64) {
		t.Helper()
		mustNear(t, "clamped", ClampPercent(x), want, 0)
	}
	f(12.5, 12.5)
	f(1e9, 100_000)
	f(-1e9, -100_000)
	f(market.Unknown, market.Unknown)
}

// A rate of a year is that of the shortest age at least, and unknown where the percentage is.
func TestAnnualRate(t *testing.T) {
	f := func(percent float64, age int64, want float64) {
		t.Helper()
		if got := AnnualRate(percent, PerYear(age)); got != want && (market.Known(got) || market.Known(want)) {
			t.Errorf("%v %% after %d s are %v %% a year; want %v", percent, age, got, want)
		}
	}

	f(10, 365*market.Day, 10)
	f(-2, market.Hour, -2*24*365)
	f(1, 1, 24*365)
	f(1, -5, 24*365)
	f(0, 1, 0)
	f(market.Unknown, market.Day, market.Unknown)
	f(1e308, market.Hour, market.Unknown)
}
