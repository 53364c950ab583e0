package value

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// scramble builds a random world: tokens of all decimals, pools with prices
// over many magnitudes, positions in and out of range, extremes of every sum.
func scramble(seed uint64) (*market.State, *world) {
	r := rand.New(rand.NewPCG(seed, 7))
	w := newWorld()
	for i := range byte(12) {
		w.token(10+i, uint8(r.IntN(37)))
		w.tokens.Mut(uint32(i) + 2).BadDecimals = r.IntN(12) == 0
	}

	huge := func() clmath.U128 {
		if r.IntN(4) == 0 {
			return clmath.U128{}
		}
		return clmath.U128{Lo: r.Uint64(), Hi: r.Uint64() >> r.IntN(65)}
	}

	for range 30 {
		a, b := uint32(r.IntN(14)), uint32(r.IntN(14))
		if r.IntN(2) == 0 {
			b = uint32(r.IntN(2)) // an anchor
		}
		if a == b {
			continue
		}
		index := w.pool(a, b, 1)
		sqrt := clmath.SqrtPriceAtTick(int32(r.IntN(1_600_000) - 800_000))
		pool := w.pools.Mut(index)
		pool.SqrtPriceX96, pool.Tick = sqrt, clmath.TickAtSqrtPrice(&sqrt)
		*w.minutes.Mut(index) = market.Minutes{}
		ring := w.minutes.Mut(index)
		ring.Minute[0], ring.Sqrt[0] = 1, approx(&sqrt)
		if r.IntN(3) == 0 { // fees that no market could pay
			pool.FeeGrowthGlobal0X128 = clmath.U256{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()}
		}
		pool.LastSwapAt -= int64(r.IntN(10)) * market.Day
		if r.IntN(5) == 0 {
			pool.Hooks[19] = byte(r.IntN(16))
		}
		if r.IntN(2) == 0 { // as much as the largest positions, so that most can be sold
			lower, upper := max(pool.Tick-80_000, clmath.MinTick), min(pool.Tick+80_000, clmath.MaxTick)
			w.open(index, lower, upper, math.Exp2(108))
		}
		w.volume(index, market.HourOf(testNow)-uint32(r.IntN(300)), r.Float64()*1e6, r.Float64()*1e3)
		for range r.IntN(8) {
			lower := pool.Tick + int32(r.IntN(40_000)) - 30_000
			lower = min(max(lower, clmath.MinTick), clmath.MaxTick-1)
			upper := min(lower+1+int32(r.IntN(60_000)), clmath.MaxTick)
			p := w.positions.Mut(w.open(index, lower, upper, math.Exp2(float64(r.IntN(110)))))
			p.Deposited0, p.Deposited1, p.Withdrawn0 = huge(), huge(), huge()
			p.Collected0, p.Collected1, p.GasWei = huge(), huge(), huge()
			p.MintedAt = uint32(testNow - int64(r.IntN(1e8)))
			p.CostUsd = r.NormFloat64() * 1e6
			p.GasUnknown = r.IntN(5) == 0
			if r.IntN(8) == 0 { // a closed row has no ticks
				closed(p)
				w.ranges[index] = w.ranges[index][:len(w.ranges[index])-1]
				p.LowerSlot, p.UpperSlot = market.NoIndex, market.NoIndex
			}
		}
	}

	return w.state(), w
}

// infinite returns the floats of a struct that are infinite.
func infinite(v reflect.Value) (names []string) {
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		if field.Kind() == reflect.Float64 && math.IsInf(field.Float(), 0) {
			names = append(names, name)
		}
	}
	return names
}

func TestEveryRowAddsUp(t *testing.T) {
	rows, known, unrealizable := 0, 0, 0
	for seed := range uint64(60) {
		st, w := scramble(seed)
		var m Metrics
		var f Figures
		ranker := NewRanker(st)
		for i := range st.Positions.Len() {
			Position(st, i, &m)
			ranker.Rank(i, &f)
			rows++
			if a, b := reflect.ValueOf(m.Figures), reflect.ValueOf(f); !sameFields(a, b) {
				t.Fatalf("seed %d row %d: Rank says %+v, Position %+v", seed, i, f, m.Figures)
			}
			if names := infinite(reflect.ValueOf(f)); names != nil {
				t.Fatalf("seed %d row %d: %v are infinite", seed, i, names)
			}
			if f.UnrealizableLeg() {
				unrealizable++
				for _, x := range []float64{f.PnlUsd, f.PnlCostUsd, f.ROI, f.APR, f.FeeAPR, f.DivergenceUsd} {
					if market.Known(x) {
						t.Fatalf("seed %d row %d: with a leg that is unrealizable: %+v", seed, i, f)
					}
				}
			}
			if market.Known(f.PnlUsd) {
				known++
				mustNear(t, "pnl", f.PnlUsd, f.DivergenceUsd+f.FeesUsd-f.GasUsd, 1e-12)
				mustNear(t, "divergence", f.DivergenceUsd,
					f.UnderlyingValueUsd+f.WithdrawalsUsd-f.DepositsUsd, 1e-12)
			}
			if e := Explain(st, &w.params, nil, i); !sameFields(
				reflect.ValueOf(e.Metrics.Figures), reflect.ValueOf(f)) {
				t.Fatalf("seed %d row %d: Explain says %+v", seed, i, e.Metrics.Figures)
			}
		}

		for i := range st.Prices.Len() {
			p := st.Prices.At(i)
			if math.IsInf(p.Usd, 0) || p.Usd <= 0 || p.ExitUsd != p.ExitUsd || p.ExitUsd < 0 ||
				market.Known(p.Usd) != (p.Source != market.SourceNone) ||
				market.Known(p.Usd) != (shownPrice(p).Reason == market.ReasonNone) {
				t.Fatalf("seed %d token %d: %+v", seed, i, *p)
			}
		}

		for i := range st.Pools.Len() {
			stats := Stats(st, i)
			if names := infinite(reflect.ValueOf(stats)); names != nil {
				t.Fatalf("seed %d pool %d: %v are infinite", seed, i, names)
			}
		}
	}
	if known*4 < rows || unrealizable*10 < rows {
		t.Errorf("of %d rows only %d have a pnl and %d an unrealizable leg: the corpus shows little",
			rows, known, unrealizable)
	}
}

// sameFields compares structs field by field, an Unknown equal to itself.
func sameFields(a, b reflect.Value) bool {
	for i := range a.NumField() {
		x, y := a.Field(i).Interface(), b.Field(i).Interface()
		fx, isFloat := x.(float64)
		if x != y && !(isFloat && fx != fx && y.(float64) != y.(float64)) {
			return false
		}
	}
	return true
}

// TestHoldingsAreTheSumOfPositions: to one raw unit for every position and
// every range, since each of them rounds down.
func TestHoldingsAreTheSumOfPositions(t *testing.T) {
	for seed := range uint64(40) {
		st, _ := scramble(seed)
		sums := make([][2]clmath.U256, st.Pools.Len())
		counts := make([]uint64, st.Pools.Len())
		var m Metrics
		for i := range st.Positions.Len() {
			Position(st, i, &m)
			pool := st.Positions.At(i).Pool
			for leg := range 2 {
				sums[pool][leg].Add(&sums[pool][leg], &m.Current.Raw[leg])
			}
			counts[pool]++
		}

		for i := uint32(1); i < st.Pools.Len(); i++ { // pool 0 has no position
			amount0, amount1 := Holdings(st, i)
			for leg, held := range [2]clmath.U256{amount0, amount1} {
				diff := new(clmath.U256).Sub(&held, &sums[i][leg])
				if diff.Sign() < 0 {
					diff.Neg(diff)
				}
				if slack := 4*counts[i] + 4; !diff.LtUint64(slack) {
					t.Errorf("seed %d pool %d leg %d: holds %s, its positions %s: more than %d apart",
						seed, i, leg, held.Dec(), sums[i][leg].Dec(), slack)
				}
			}
		}
	}
}

// TestPricesAreStable: the same State has the same prices, whatever ran before.
func TestPricesAreStable(t *testing.T) {
	for seed := range uint64(20) {
		st, w := scramble(seed)
		for i, price := range Prices(st, &w.params, nil, func() {}) {
			if !sameFields(reflect.ValueOf(price), reflect.ValueOf(*st.Prices.At(uint32(i)))) {
				t.Fatalf("seed %d token %d: %+v, then %+v", seed, i, *st.Prices.At(uint32(i)), price)
			}
		}
	}
}

func TestRowsAllocateNothing(t *testing.T) {
	st, _ := scramble(1)
	var m Metrics
	var f Figures
	ranker := NewRanker(st)
	if n := testing.AllocsPerRun(10, func() {
		for i := range st.Positions.Len() {
			Position(st, i, &m)
			ranker.Rank(st.Positions.Len()-1-i, &f)
		}
	}); n != 0 {
		t.Errorf("a walk over all rows allocates %v times", n)
	}
}

// wrappedWorld is a random market of the native currency, its wrapped form and others. merged
// has the same without the wrapped form: its pools are those of the native currency.
func wrappedWorld(seed uint64, merged bool) (w *world, wrapped uint32) {
	r := rand.New(rand.NewPCG(seed, 9))
	w = newWorld()
	wrapped = w.token(2, 18)
	w.params.WrappedNative = w.address(wrapped)
	w.pools.Mut(0).Quarantined = r.IntN(3) > 0
	usd := []float64{2000, 1, 2000, 5, 200, 0.5}
	for i := range byte(3) {
		w.token(10+i, 18)
	}

	for range 16 {
		a, b := uint32(r.IntN(6)), uint32(r.IntN(6))
		price := usd[a] / usd[b] * (0.98 + 0.04*r.Float64())
		deep := math.Pow(10, 3+4*r.Float64()) / usd[b]
		held := [2]uint32{uint32(r.IntN(2)) * market.NoIndex, market.HourOf(testNow) - uint32(r.IntN(9))}
		if merged && a == wrapped {
			a = w.eth
		}
		if merged && b == wrapped {
			b = w.eth
		}
		if a == b || max(a, b) == wrapped && min(a, b) == w.eth {
			w.pools.Mut(w.pool(w.usd, w.usd+2, 1)).Quarantined = true // no market either
			continue
		}
		w.pools.Mut(w.poolFull(a, b, price, deep)).Held = held
	}

	known := r.IntN(4) // by which of the two something is held: bits
	for n, token := range [2]uint32{w.eth, wrapped} {
		if known>>n&1 == 0 && !(merged && known > 0) {
			continue
		}
		at := w.tokens.Mut(token)
		at.HourUsd, at.HourSource = 1990, []market.Source{market.SourceAnchor, market.SourcePool}[seed%2]
		at.HourOnlyPool, at.HourCorroborated = market.NoIndex, seed%3 == 0
		at.PriceLostAt = uint32(seed/2%2) * (market.HourOf(testNow) - 3)
	}
	return w, wrapped
}

// TestWrappedIsNative holds that tokens are worth the same whether pools have the native
// currency or its wrapped form, also when an hour begins.
func TestWrappedIsNative(t *testing.T) {
	byMarkets := 0
	for seed := range uint64(2000) {
		w, wrapped := wrappedWorld(seed, false)
		one, _ := wrappedWorld(seed, true)
		st, want := w.state(), one.state()
		hour := market.HourOf(testNow) + 1
		begun := new(Pricer).beginHour(st, &w.params, nil, hour)
		wants := new(Pricer).beginHour(want, &one.params, nil, hour)

		for token := range st.Tokens.Len() {
			as := token
			if token == wrapped {
				as = w.eth
			}
			got, p := st.Prices.At(token), want.Prices.At(as)
			if !sameFields(reflect.ValueOf(*got), reflect.ValueOf(*p)) {
				t.Fatalf("seed %d: token %d is %+v; of one currency %+v", seed, token, *got, *p)
			}
			x, y := begun.Prices[token], wants.Prices[as]
			if !sameFields(reflect.ValueOf(x.Price), reflect.ValueOf(y.Price)) ||
				x.PriceLostAt != y.PriceLostAt || x.TrustLostAt != y.TrustLostAt {
				t.Fatalf("seed %d: token %d begins the hour as %+v; of one currency %+v", seed, token, x, y)
			}
			if token == wrapped && got.Source == market.SourceDerived && got.Markets > 1 {
				byMarkets++
			}
		}
	}
	if byMarkets < 20 {
		t.Errorf("only in %d markets others price the two", byMarkets)
	}
}
