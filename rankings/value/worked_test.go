package value

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// workedExample is the world of the package comment's example, and the
// position in it.
func workedExample() (*market.State, *world, uint32) {
	w := newWorld()
	w.poolFull(w.eth, w.usd, 2500, 90_000_000)
	w.pools.Mut(0).LastSwapAt = 0 // leaves the pool at 2,500 alone
	tide := w.token(9, 18)
	pool := w.pool(tide, w.usd, 4)
	w.ranges[pool] = []span{{0, 27726, 100_000e18}}

	i := w.open(pool, 0, 27726, 400e18)
	p := w.positions.Mut(i)
	p.MintedAt = uint32(testNow - 73*market.Day)
	p.Deposited0, p.Withdrawn0, p.Collected0 = u128(375e18), u128(75e18), u128(5e18)
	p.GasWei = u128(4e15)
	p.CostUsd = 75 + 10 - 375 - 8

	// 20 USD of fees for 400e18 of liquidity: 20 / 400 * 2^128.
	w.pools.Mut(pool).FeeGrowthGlobal1X128 = clmath.GrowthOf(
		&clmath.U256{50_000_000_000_000_000}, clmath.U128{Lo: 1_000_000_000_000_000_000})
	w.volume(pool, market.HourOf(testNow)-30, 7000, 21)
	w.volume(pool, market.HourOf(testNow)-2, 50_000, 150)
	return w.state(), w, i
}

// TestWorkedExample recomputes every number of the package comment, by the
// formulas as they stand there, and finds it in the text.
func TestWorkedExample(t *testing.T) {
	st, w, i := workedExample()
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(source), ",", "")
	f := func(name string, got, want float64, decimals int) {
		t.Helper()
		mustNear(t, name, got, want, 1e-6)
		if shown := fmt.Sprintf("%.*f", decimals, got); !strings.Contains(text, shown) {
			t.Errorf("the package comment lacks %s = %s", name, shown)
		}
	}
	var m Metrics
	Position(st, i, &m)
	pool := st.Positions.At(i).Pool
	price := st.Prices.At(st.Pools.At(pool).Currency0)
	top := math.Pow(1.0001, 27726.0/2)

	f("price", price.Usd, 2*2*1, 0)
	root := 2 * math.Sqrt(0.98)
	d := depthOf(st, pool, 0, w.params.MarketImpact)
	f("room", d.room*4/1e18, 100_400*(1/root-0.5)*4, 0)
	f("exit", price.ExitUsd, 100_400*(2-1), 0)
	if !price.Corroborated || price.OnlyPool != pool || price.Source != market.SourcePool {
		t.Errorf("price is %+v", *price)
	}

	f("principal 0", approx(&m.Current.Raw[0])/1e18, 400*(1.0/2-1/top), 6)
	f("principal 1", approx(&m.Current.Raw[1])/1e18, 400*(2-1), 0)
	f("uncollected", approx(&m.Uncollected.Raw[1])/1e18, 0.05*400, 0)
	f("V", m.UnderlyingValueUsd, 400*(0.5-1/top)*4+400, 2)
	f("F", m.FeesUsd, 20+5*4, 0)
	f("W", m.WithdrawalsUsd, 75*4, 0)
	f("D", m.DepositsUsd, 375*4, 0)
	f("G", m.GasUsd, 0.004*2500, 0)
	divergence := m.UnderlyingValueUsd + 300 - 1500
	f("divergence", m.DivergenceUsd, divergence, 2)
	f("pnl", m.PnlUsd, divergence+40-10, 2)
	f("roi", m.ROI, m.PnlUsd/1500*100, 3)
	f("apr", m.APR, m.ROI*365/73, 2)
	f("feeApr", m.FeeAPR, 40.0/1500*100*365/73, 3)
	f("pnlCost", m.PnlCostUsd, m.UnderlyingValueUsd+20-298, 2)
	f("claim", approx(&m.Current.Raw[0])/1e18*4, 400*(0.5-1/top)*4, 2)

	stats := Stats(st, pool)
	f("tvl", stats.TVLUsd, 100_400*(0.5-1/top)*4+100_400, 2)
	f("pool feeApr", stats.FeeAPR, 150/stats.TVLUsd*36500, 2)
	f("volume 7d", stats.VolumeUsd7d, 57_000, 0)
	if m.UnrealizableLeg() || m.PriceUnavailable || m.Risky || m.Reason != market.ReasonNone {
		t.Errorf("flags of %+v", m.Figures)
	}
}
