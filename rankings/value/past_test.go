package value

import (
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// TestPastFigures: a row of a past day is computed from what its history tells, by the
// quotes of that day, and what cannot be known is not 0.
func TestPastFigures(t *testing.T) {
	w := newWorld()
	token := w.token(10, 6)
	pool := w.poolFull(token, w.usd, 4, 100_000)
	st := w.state()
	amounts := func(tokens, usd float64) [2]clmath.U256 {
		a, b := u128(tokens*1e6), u128(usd*1e18)
		return [2]clmath.U256{a.U256(), b.U256()}
	}
	wei := u128(1e16)
	past := Past{
		Principal: amounts(100, 300), Uncollected: amounts(3, 2),
		Deposited: amounts(150, 500), Withdrawn: amounts(20, 40), Collected: amounts(1, 5),
		GasWei: wei.U256(), AgeSeconds: 73 * market.Day, NativeUsd: 2000,
		Legs: [2]Quote{{Usd: 2, ExitUsd: 300, OnlyPool: market.NoIndex}, {Usd: 1, ExitUsd: 1e9, OnlyPool: market.NoIndex}},
	}

	type want struct{ v, pending, collected, d, w, g, f, divergence, pnl, roi, apr, feeApr float64 }
	unknown := market.Unknown
	f := func(name string, change func(p *Past), legs [2]bool, x want) {
		t.Helper()
		p := past
		change(&p)
		got := PastFigures(st, pool, &p)
		for _, figure := range []struct {
			what      string
			got, want float64
		}{
			{"V", got.UnderlyingValueUsd, x.v}, {"uncollected", got.PendingFeesUsd, x.pending},
			{"collected", got.CollectedUsd, x.collected}, {"D", got.DepositsUsd, x.d}, {"W", got.WithdrawalsUsd, x.w},
			{"G", got.GasUsd, x.g}, {"F", got.FeesUsd, x.f}, {"divergence", got.DivergenceUsd, x.divergence},
			{"pnl", got.PnlUsd, x.pnl}, {"roi", got.ROI, x.roi}, {"apr", got.APR, x.apr}, {"feeApr", got.FeeAPR, x.feeApr},
		} {
			mustNear(t, name+": "+figure.what, figure.got, figure.want, 1e-9)
		}
		if got.Unrealizable != legs || got.AgeSeconds != p.AgeSeconds {
			t.Errorf("%s: unrealizable %t, age %d; want %t, %d", name, got.Unrealizable, got.AgeSeconds, legs, p.AgeSeconds)
		}
	}

	whole := want{500, 8, 7, 800, 80, 20, 15, -220, -225, -225.0 / 8, -225.0 / 8 * 5, 15.0 / 8 * 5}
	f("as it is", func(*Past) {}, [2]bool{}, whole)

	unpaid := whole
	unpaid.pending, unpaid.f, unpaid.pnl = unknown, unknown, unknown
	unpaid.roi, unpaid.apr, unpaid.feeApr = unknown, unknown, unknown
	f("fees unknown", func(p *Past) { p.FeesUnknown, p.Uncollected = true, [2]clmath.U256{} }, [2]bool{}, unpaid)

	none := whole
	none.g, none.pnl, none.roi, none.apr = unknown, unknown, unknown, unknown
	f("gas unknown", func(p *Past) { p.GasUnknown = true }, [2]bool{}, none)

	// A claim of 103 tokens, 206 USD, against the exit of that day.
	f("all that can be sold", func(p *Past) { p.Legs[0].ExitUsd = 206.001 }, [2]bool{}, whole)
	f("more than that", func(p *Past) { p.Legs[0].ExitUsd = 205.999 }, [2]bool{true, false},
		want{300, 2, 7, 800, 80, 20, 9, unknown, unknown, unknown, unknown, unknown})
	f("fees that are not known claim nothing", func(p *Past) {
		p.FeesUnknown, p.Legs[0].ExitUsd = true, 200.001
	}, [2]bool{}, unpaid)
	f("the other leg", func(p *Past) { p.Legs[1].ExitUsd = 1 }, [2]bool{false, true},
		want{200, 6, 7, 800, 80, 20, 13, unknown, unknown, unknown, unknown, unknown})

	void := want{unknown, unknown, unknown, unknown, unknown, 20, unknown, unknown, unknown, unknown, unknown, unknown}
	f("priced by its own pool alone", func(p *Past) { p.Legs[0].OnlyPool = pool }, [2]bool{}, void)
	f("priced by another pool alone", func(p *Past) { p.Legs[0].OnlyPool = pool + 1 }, [2]bool{}, whole)

	w.pools.Mut(pool).Quarantined = true
	st = w.state()
	void.g = unknown
	f("quarantined", func(*Past) {}, [2]bool{}, void)
}

// TestQuoteOf: what a pool alone says of a token is no independent price, unless it is
// corroborated.
func TestQuoteOf(t *testing.T) {
	p := market.Price{Usd: 3, ExitUsd: 4, OnlyPool: 5, Corroborated: true}
	if got := QuoteOf(&p); got != (Quote{3, 4, market.NoIndex}) {
		t.Errorf("corroborated: %+v", got)
	}
	p.Corroborated = false
	if got := QuoteOf(&p); got != (Quote{3, 4, 5}) {
		t.Errorf("not corroborated: %+v", got)
	}
}
