package value

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

var update = flag.Bool("update", false, "write the golden files anew")

// dump writes explanations in lines, with six digits of each number. Lines that the
// plain row has too are left out.
type dump struct {
	strings.Builder
	plain map[string]bool
}

func (d *dump) line(format string, args ...any) {
	if text := fmt.Sprintf(format+"\n", args...); !d.plain[text] {
		d.WriteString(text)
	}
}

func (d *dump) checks(indent string, checks []Check) {
	for _, c := range checks {
		d.line("%s%s: %.6g of %.6g, met %t", indent, c.Name, c.Have, c.Want, c.Met)
	}
}

func (d *dump) explain(name string, w *world, i uint32) {
	e := Explain(w.state(), &w.params, w.feed, i)
	d.line("%s, at %d", name, e.Now-testNow)
	m := &e.Metrics
	d.line("  reason %d, unavailable %t, unrealizable %t, pnl %.6g, cost %.6g, roi %.6g, apr %.6g, feeApr %.6g",
		m.Reason, m.PriceUnavailable, m.Unrealizable, m.PnlUsd, m.PnlCostUsd, m.ROI, m.APR, m.FeeAPR)
	for _, p := range e.Prices {
		d.line("  token %d: usd %.6g, exit %.6g, as of %d, source %d, reason %d, markets %d, only %d, corroborated %t, "+
			"anchor %t, feed %.6g, omitted %d", p.Token, p.Price.Usd, p.Price.ExitUsd, p.Price.AsOf-testNow, p.Price.Source,
			p.Price.Reason, p.Price.Markets, int32(p.Price.OnlyPool), p.Price.Corroborated, p.Price.Anchor, p.FeedUsd, p.Omitted)
		for _, m := range p.Markets {
			d.line("    market %d by %d at %.6g: usd %.6g, reach %.6g, weight %.6g, used %t, reason %d",
				m.Pool, m.By, m.ByUsd, m.Usd, m.ReachUsd, m.WeightUsd, m.Used, m.Reason)
			d.checks("      ", m.Checks)
		}
		d.checks("    ", p.Checks)
	}

	for _, s := range e.Steps {
		d.line("  %s = %.6g: %s", s.Name, s.Value, s.Formula)
		for _, term := range s.Terms {
			raw := ""
			if term.Raw != nil && term.Raw.BitLen() <= 52 {
				raw = " " + term.Raw.Dec()
			}
			d.line("    %s %.6g%s", term.Name, term.Value, raw)
		}
	}
}

// TestExplanations: testdata/explain.golden has all that a reader is shown of rows that
// differ in one thing each: prices, markets, what each threshold asks and what stands
// against it, and every step with its terms.
func TestExplanations(t *testing.T) {
	d := &dump{}
	_, w, i := workedExample()
	d.explain("the worked example", w, i)

	honest := func(name string, change func(w *world, token, pool, i uint32)) {
		w := newWorld()
		token, pool := w.honest()
		i := w.openWhole(pool, 10)
		p := w.positions.Mut(i)
		p.Collected0, p.Collected1, p.Withdrawn0, p.GasWei = u128(2e18), u128(3e18), u128(1e18), u128(4e15)
		p.CostUsd = -12
		w.pools.Mut(pool).FeeGrowthGlobal0X128 = clmath.GrowthOf(&clmath.U256{5e15}, clmath.U128{Lo: 1e18})
		change(w, token, pool, i)
		d.explain(name, w, i)
	}
	from := d.Len()
	honest("an honest token", func(*world, uint32, uint32, uint32) {})
	d.plain = map[string]bool{}
	for line := range strings.Lines(d.String()[from:]) {
		d.plain[line] = true
	}

	honest("below its range", func(w *world, _, pool, i uint32) {
		p := w.positions.Mut(i)
		p.TickLower, p.TickUpper = w.pools.At(pool).Tick+10, w.pools.At(pool).Tick+20
		w.ranges[pool] = append(w.ranges[pool], span{p.TickLower, p.TickUpper, approxU128(p.Liquidity())})
	})
	honest("above its range", func(w *world, _, pool, i uint32) {
		p := w.positions.Mut(i)
		p.TickLower, p.TickUpper = w.pools.At(pool).Tick-20, w.pools.At(pool).Tick
		w.ranges[pool] = append(w.ranges[pool], span{p.TickLower, p.TickUpper, approxU128(p.Liquidity())})
	})
	honest("without deposits", func(w *world, _, _, i uint32) {
		w.positions.Mut(i).Deposited0, w.positions.Mut(i).Deposited1 = clmath.U128{}, clmath.U128{}
	})
	honest("gas unknown", func(w *world, _, _, i uint32) { w.positions.Mut(i).GasUnknown = true })
	honest("minted a minute ago", func(w *world, _, _, i uint32) { w.positions.Mut(i).MintedAt = uint32(testNow - 60) })
	honest("closed", func(w *world, _, _, i uint32) { closed(w.positions.Mut(i)) })
	honest("quarantined", func(w *world, _, pool, _ uint32) { w.pools.Mut(pool).Quarantined = true })
	honest("bad decimals", func(w *world, token, _, _ uint32) { w.tokens.Mut(token).BadDecimals = true })
	honest("decimals too many", func(w *world, token, _, _ uint32) {
		w.tokens.Mut(token).Decimals, w.tokens.Mut(token).BadDecimals = 77, true
	})
	honest("a hook that bars", func(w *world, _, pool, _ uint32) { w.pools.Mut(pool).Hooks[19] = 0x0f })
	honest("its own pool alone", func(w *world, _, pool, _ uint32) { w.pools.Mut(pool).Swaps = 99 })
	honest("contradicted", func(w *world, token, pool, _ uint32) {
		w.pools.Mut(pool).Swaps = 99
		w.pools.Mut(w.poolFull(token, w.usd, 4.6, 150_000)).Swaps = 99
	})
	honest("an outlier", func(w *world, token, _, _ uint32) {
		w.poolFull(token, w.usd, 4.01, 300_000)
		w.poolFull(token, w.usd, 7, 200_000)
	})
	honest("too young", func(w *world, _, pool, _ uint32) { w.pools.Mut(pool).CreatedAt = testNow - 60 })
	honest("fed", func(w *world, token, _, _ uint32) {
		w.feed = []FeedPrice{{Token: w.address(token), Usd: 4.02, AsOf: testNow - 30}}
	})
	honest("one holder", func(w *world, _, pool, _ uint32) { w.pools.Mut(pool).Others = 0 })
	honest("more than can be sold", func(w *world, token, pool, i uint32) {
		w.ranges[pool] = nil
		*w.positions.Mut(i) = *w.positions.At(w.openWhole(w.poolFull(token, w.usd, 4, 200_000), 40_000))
	})
	honest("held since its market went", func(w *world, _, pool, _ uint32) {
		w.pass(1)
		w.deep(pool, 10)
		w.push(pool, 5)
		w.pass(1)
		w.pass(2)
	})

	honest("without thresholds", func(w *world, _, pool, _ uint32) {
		w.params = Params{Stables: w.params.Stables, RealTicks: true}
		w.pools.Mut(pool).LastSwapAt, w.pools.Mut(pool).Others = testNow-100*market.Day, 0
	})
	honest("a market that nothing backs", func(w *world, token, _, _ uint32) {
		paper := w.token(60, 18)
		w.feed = []FeedPrice{{Token: w.address(paper), Usd: 2, AsOf: testNow}}
		w.poolFull(token, paper, 2, 900_000)
	})
	honest("through a token that is no leg", func(w *world, token, _, _ uint32) {
		between, unused := w.token(10, 6), w.token(11, 18)
		w.poolFull(between, w.usd, 2, 300_000)
		w.poolFull(unused, w.usd, 2, 300_000)
		w.poolFull(token, between, 2.1, 200_000)
		w.pools.Mut(w.poolFull(token, unused, 2, 200_000)).LastSwapAt = 0
	})
	honest("without closes", func(w *world, _, pool, _ uint32) { *w.minutes.Mut(pool) = market.Minutes{} })
	honest("the native currency held", func(w *world, _, pool, _ uint32) {
		w.pass(1)
		w.pools.Mut(0).Quarantined = true
	})

	w = newWorld()
	token := w.token(50, 18)
	w.poolFull(token, w.usd, 4, 200_000)
	d.explain("more of token 1 than can be sold", w, w.openWhole(w.poolFull(w.usd, token, 0.25, 1000), 160_000))

	w = newWorld()
	through, far := w.token(10, 6), w.token(11, 18)
	w.poolFull(through, w.eth, 0.001, 1000)
	good := w.poolFull(far, through, 3, 500_000)
	w.poolFull(far, through, 5, 150_000)
	w.pools.Mut(w.poolFull(far, w.usd, 6, 100_000)).LastSwapAt = testNow - 8*market.Day
	d.explain("through another token", w, w.openWhole(good, 10))

	const golden = "testdata/explain.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(d.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(d.String(), "\n")
	for n, line := range strings.Split(string(want), "\n") {
		if n >= len(got) || got[n] != line {
			t.Fatalf("line %d is %q; %s has %q", n+1, got[min(n, len(got)-1)], golden, line)
		}
	}
}

func approxU128(v clmath.U128) float64 {
	wide := v.U256()
	return approx(&wide)
}
