package value

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

func TestWindows(t *testing.T) {
	now := market.HourOf(testNow)
	minute := int64(0)
	f := func(volume24h, volume7d float64, hours ...uint32) {
		t.Helper()
		w := newWorld()
		w.now += minute * 60
		_, pool := w.honest()
		for _, ago := range hours {
			w.volume(pool, now-ago, float64(ago)+1, 0.001*float64(ago+1))
		}
		stats := Stats(w.state(), pool)
		mustNear(t, "24h", stats.VolumeUsd24h, volume24h, 1e-12)
		mustNear(t, "7d", stats.VolumeUsd7d, volume7d, 1e-12)
		mustNear(t, "fees 24h", stats.FeesUsd24h, volume24h/1000, 1e-12)
		mustNear(t, "fees 7d", stats.FeesUsd7d, volume7d/1000, 1e-12)
		mustNear(t, "feeApr", stats.FeeAPR, stats.FeesUsd24h/stats.TVLUsd*36500, 1e-12)
	}
	f(0, 0)
	f(1, 1, 0)
	f(24+1, 24+1, 23, 0)
	f(0, 26, 25)
	f(2, 168+26+2, 167, 25, 1)
	f(2, 2, 500, 169, 1)

	// Of the hour before those counts what the window still has of it.
	f(25, 25, 24)
	f(25+24, 169+25+24, 168, 24, 23)
	minute = 4
	f(25, 25, 24)
	minute = 5
	f(25*11.0/12, 25, 24)
	f(2, 169*11.0/12+2, 168, 1)
	minute = 34
	f(25*6.0/12+24, 169*6.0/12+25+24, 168, 24, 23)
	minute = 59
	f(25*1.0/12, 25, 24)
}

// TestWindowsFallInSteps: without trade a window falls every five minutes, by
// a twelfth of its oldest hour and never more.
func TestWindowsFallInSteps(t *testing.T) {
	w := newWorld()
	_, pool := w.honest()
	for hour := market.HourOf(testNow) - 200; hour <= market.HourOf(testNow); hour++ {
		w.volume(pool, hour, float64(100+hour%7), 1)
	}

	st := w.state()
	before := Stats(st, pool)
	for range 24 * 60 {
		oldest := float64(100 + (market.HourOf(st.Head.Time)-dayHours)%7)
		st.Head.Time += market.Minute
		stats := Stats(st, pool)
		fell := before.VolumeUsd24h - stats.VolumeUsd24h
		if step := st.Head.Time%WindowStep == 0; step != (fell > 0) || fell > oldest/12+1e-9 {
			t.Fatalf("at %d the volume fell by %v; its oldest hour has %v", st.Head.Time, fell, oldest)
		}
		before = stats
	}
}

func TestUnknownBucketMakesItsWindowsUnknown(t *testing.T) {
	w := newWorld()
	_, pool := w.honest()
	w.volume(pool, market.HourOf(testNow)-30, market.Unknown, 1)
	w.volume(pool, market.HourOf(testNow)-3, 7, 1)
	stats := Stats(w.state(), pool)
	if market.Known(stats.VolumeUsd7d) || stats.VolumeUsd24h != 7 || stats.FeesUsd7d != 2 {
		t.Errorf("%+v", stats)
	}
}

func TestTVL(t *testing.T) {
	f := func(name string, change func(w *world, token, pool uint32), tvl float64, unpriced bool) {
		t.Helper()
		w := newWorld()
		token, pool := w.honest()
		change(w, token, pool)
		stats := Stats(w.state(), pool)
		mustNear(t, name, stats.TVLUsd, tvl, 1e-9)
		if stats.Unrealizable != strings.Contains(name, "cut") {
			t.Errorf("%s: unrealizable is %v", name, stats.Unrealizable)
		}
		if stats.Unpriced != unpriced || (stats.FeeAPR == 0) != (tvl > 0 && !unpriced) {
			t.Errorf("%s: %+v", name, stats)
		}
	}

	f("both legs", func(w *world, _, _ uint32) {}, 400_000, false)
	f("one leg", func(w *world, _, pool uint32) { w.pools.Mut(pool).LastSwapAt = 0 }, 200_000, true)
	f("a leg cut to twice its way out", func(w *world, _, pool uint32) {
		tick := w.pools.At(pool).Tick
		w.ranges[pool] = append(w.ranges[pool], span{tick + 10, tick + 2000, 1e26})
	}, 200_000+2*(1-math.Sqrt(0.1))*200_000, false)

	f("no leg", func(w *world, token, pool uint32) {
		w.pools.Mut(pool).LastSwapAt = 0
		w.params.Stables = nil
	}, market.Unknown, true)

	f("nothing in it", func(w *world, _, pool uint32) { w.ranges[pool] = nil }, 0, false)
	f("the unpriced leg is empty", func(w *world, _, pool uint32) {
		w.pools.Mut(pool).LastSwapAt = 0
		w.ranges[pool] = []span{{-887220, 0, 1e18}}
	}, 1, false)
}

func TestCurrentPrice(t *testing.T) {
	f := func(decimals0, decimals1 uint8, bad bool, want float64) {
		t.Helper()
		w := newWorld()
		a, b := w.token(10, decimals0), w.token(11, decimals1)
		pool := w.pool(a, b, 0.25)
		w.tokens.Mut(a).BadDecimals = bad
		mustNear(t, "current price", Stats(w.state(), pool).CurrentPrice, want, 1e-9)
	}

	f(18, 18, false, 0.25)
	f(18, 6, false, 0.25)
	f(6, 18, false, 0.25)
	f(0, 36, false, 0.25)
	f(18, 18, true, market.Unknown)
}

// TestDepthIsWhatASwapPays holds the walk against the contract's own swap
// arithmetic, range by range, down to a tenth of the price.
func TestDepthIsWhatASwapPays(t *testing.T) {
	w := newWorld()
	token, pool := w.honest()
	w.around(pool, 100, 50, 1e22)
	w.around(pool, 40_000, -2_000, 3e21)
	w.around(pool, -500, 30_000, 2e21)
	_ = token

	st := w.state()
	for side := range 2 {
		out, in := exactSale(st, pool, side)
		d := depthOf(st, pool, side, 90)
		mustNear(t, "reach", d.reach, out, 1e-9)
		mustNear(t, "room", d.room, in, 1e-9)
	}
}

// exactSale sells until the price is a tenth, in exact integers.
func exactSale(st *market.State, index uint32, side int) (out, in float64) {
	pool := st.Pools.At(index)
	price, liquidity := pool.SqrtPriceX96, pool.Liquidity
	end := sqrtOf(math.Pow(approx(&price)/two96, 2) / 10)
	if side == 1 {
		end = sqrtOf(math.Pow(approx(&price)/two96, 2) * 10)
	}

	refs := st.TickLists.At(index)
	for step := range refs {
		ref := refs[step]
		if side == 0 {
			ref = refs[len(refs)-1-step]
		}
		if side == 0 && ref.Tick > pool.Tick || side == 1 && ref.Tick <= pool.Tick {
			continue
		}
		tick := st.Ticks.At(ref.Slot)
		stop := tick.SqrtPriceX96
		if last := side == 0 && stop.Lt(&end) || side == 1 && stop.Gt(&end); last {
			stop = end
		}
		a0 := clmath.Amount0(&price, &stop, liquidity, false)
		a1 := clmath.Amount1(&price, &stop, liquidity, false)
		if side == 0 {
			out, in = out+approx(&a1), in+approx(&a0)
		} else {
			out, in = out+approx(&a0), in+approx(&a1)
		}
		if stop == end {
			break
		}
		price = stop
		net := tick.LiquidityNet
		if side == 0 {
			net = net.Neg()
		}
		liquidity, _ = liquidity.Apply(net)
	}

	return out, in
}

// TestQuarantine: nothing of a quarantined pool or of its positions is worth
// anything, not even an amount of 0, and it prices nothing.
func TestQuarantine(t *testing.T) {
	w := newWorld()
	token, pool := w.honest()
	open, shut := w.openWhole(pool, 10), w.openWhole(pool, 10)
	closed(w.positions.Mut(shut))
	w.pools.Mut(pool).Quarantined = true
	st := w.state()
	if p := st.Prices.At(token); market.Known(p.Usd) || p.Reason != market.ReasonNoMarket || p.ExitUsd != 0 {
		t.Errorf("the token is %+v", *p)
	}

	for _, p := range PoolPrices(st, st.Pools.At(pool)) {
		if market.Known(p.Usd) || p.Reason != market.ReasonQuarantined || p.OnlyPool != market.NoIndex {
			t.Errorf("the pool shows %+v", p)
		}
	}
	if p := PoolPrices(st, st.Pools.At(0)); p[0] != *st.Prices.At(w.eth) || p[1] != *st.Prices.At(w.usd) {
		t.Errorf("a sound pool shows %+v", p)
	}

	stats := Stats(st, pool)
	for _, usd := range []float64{
		stats.TVLUsd, stats.VolumeUsd24h, stats.VolumeUsd7d, stats.FeesUsd24h, stats.FeesUsd7d, stats.FeeAPR,
		stats.VolumeUsd1h, stats.VolumeUsd30d, stats.FeesUsd1h, stats.FeesUsd30d,
	} {
		if market.Known(usd) || !stats.Unpriced || !market.Known(stats.CurrentPrice) {
			t.Errorf("the pool is %+v", stats)
		}
	}
	for _, i := range []uint32{open, shut} {
		var m Metrics
		Position(st, i, &m)
		for _, usd := range []float64{
			m.UnderlyingValueUsd, m.PendingFeesUsd, m.CollectedUsd, m.DepositsUsd, m.WithdrawalsUsd,
			m.GasUsd, m.FeesUsd, m.PnlUsd, m.PnlCostUsd, m.ROI, m.APR, m.FeeAPR, m.NativeUsd,
			m.Current.Usd, m.Uncollected.Usd, m.Price[0].Usd, m.Price[1].Usd,
		} {
			if market.Known(usd) || m.Reason != market.ReasonQuarantined || !m.PriceUnavailable {
				t.Errorf("position %d is %+v", i, m)
			}
		}
		past := PastFigures(st, pool, &Past{Legs: [2]Quote{{Usd: 4}, {Usd: 1}}, NativeUsd: 2000})
		if market.Known(past.PnlUsd) || market.Known(past.UnderlyingValueUsd) {
			t.Errorf("a past day is %+v", past)
		}
	}
}

// TestRepricedStats: stats that are brought to other prices are those that are computed anew.
func TestRepricedStats(t *testing.T) {
	for seed := range uint64(10) {
		st, w := scramble(seed)
		quarantineSome(st, w)
		var prices market.Table[market.Price]
		for i := range st.Prices.Len() {
			p := *st.Prices.At(i)
			p.Usd, p.ExitUsd = 1.5*p.Usd, 0.75*p.ExitUsd
			if i%4 == 3 {
				p.Usd = market.Unknown
			}
			prices.Append(p)
		}
		later := *st
		later.Prices = prices.Freeze()

		for i := range st.Pools.Len() {
			got, want := Stats(st, i), Stats(&later, i)
			Reprice(&later, i, &got)
			if !sameFields(reflect.ValueOf(got), reflect.ValueOf(want)) {
				t.Fatalf("seed %d pool %d: %+v; want %+v", seed, i, got, want)
			}
		}
	}
}

// TestStatsWithoutPrices: a chain that catches up has tokens that are newer than its prices.
// A pool of theirs has the stats of one whose tokens have no price.
func TestStatsWithoutPrices(t *testing.T) {
	st, _ := scramble(1)
	var unknown market.Table[market.Price]
	for range st.Prices.Len() {
		unknown.Append(unpriced(market.ReasonNoMarket))
	}
	without, none := *st, *st
	without.Prices, none.Prices = unknown.Freeze(), market.Frozen[market.Price]{}

	for i := range st.Pools.Len() {
		got, want := Stats(&none, i), Stats(&without, i)
		if !sameFields(reflect.ValueOf(got), reflect.ValueOf(want)) {
			t.Fatalf("pool %d: %+v; want %+v", i, got, want)
		}
	}
}
