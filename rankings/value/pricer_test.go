package value

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// A Pricer finds the prices that Prices does, of a market that goes on, in which pools come
// and go and thresholds change, once it is told which pools changed.
func TestPricer(t *testing.T) {
	var k Pricer
	f := func(st *market.State, p *Params, changed ...uint32) {
		t.Helper()
		for _, i := range changed {
			k.Forget(i, market.NoIndex, true)
		}
		want, n := Prices(st, p, nil, func() {}), 0
		k.Each(st, p, nil, func() {}, func(token uint32, got *market.Price) {
			n++
			if !sameFields(reflect.ValueOf(*got), reflect.ValueOf(want[token])) {
				t.Errorf("token %d is at %+v; want %+v", token, *got, want[token])
			}
		})
		if n != len(want) {
			t.Errorf("%d prices; want %d", n, len(want))
		}
	}

	for seed := range uint64(10) {
		st, w := scramble(seed)
		k = Pricer{}
		f(st, &w.params)
		f(st, &w.params)

		less := *st
		pools := market.Thaw(st.Pools)
		pools.Truncate(st.Pools.Len() - 2)
		less.Pools = pools.Freeze()
		f(&less, &w.params)
		f(st, &w.params)

		var changed []uint32
		for i := uint32(0); i < w.pools.Len(); i += 3 {
			pool := w.pools.Mut(i)
			pool.SqrtPriceX96.Rsh(&pool.SqrtPriceX96, 1)
			pool.Liquidity.Lo /= 3
			changed = append(changed, i)
		}
		later := *st
		later.Pools = w.pools.Freeze()
		f(&later, &w.params, changed...)
		for _, impact := range []float64{1, 0, 30} {
			w.params.MarketImpact = impact
			f(&later, &w.params)
		}
		for range 2 {
			w.params.RealTicks, w.params.ExitLimit = !w.params.RealTicks, !w.params.ExitLimit
			f(&later, &w.params)
		}
	}
}

// The hours that a Pricer begins are those of one that keeps nothing, of a market that goes
// on, once it is told which pools changed.
func TestPricerBeginsHours(t *testing.T) {
	var k Pricer
	f := func(st *market.State, p *Params, hour uint32, liquidity bool, changed ...uint32) {
		t.Helper()
		for _, i := range changed {
			k.Forget(i, market.NoIndex, liquidity)
		}
		want := new(Pricer).beginHour(st, p, nil, hour)
		got := k.beginHour(st, p, nil, hour)
		if !reflect.DeepEqual(append([]market.HeldPool{}, got.Pools...), append([]market.HeldPool{}, want.Pools...)) {
			t.Errorf("hour %d holds %+v; want %+v", hour, got.Pools, want.Pools)
		}
		for i := range want.Prices {
			a, b := got.Prices[i], want.Prices[i]
			same := sameFields(reflect.ValueOf(a.Price), reflect.ValueOf(b.Price))
			if !same || a.PriceLostAt != b.PriceLostAt || a.TrustLostAt != b.TrustLostAt {
				t.Errorf("hour %d: token %d is at %+v; want %+v", hour, i, got.Prices[i], want.Prices[i])
			}
		}
	}

	counted := 0
	for seed := range uint64(20) {
		st, w := scramble(seed)
		for i := range w.positions.Len() {
			w.positions.Mut(i).Owner = i * i % 3
		}
		st.Positions = w.positions.Freeze()
		k = Pricer{}
		for range 3 {
			hour := market.HourOf(w.now) + 1
			f(st, &w.params, hour, false)
			f(st, &w.params, hour+200, false) // pools are old enough by then
			for i := range k.holders {
				if h := &k.holders[i]; h.asked {
					if want := othersOf(st, uint32(i)); h.others != want {
						t.Errorf("others have %d %% of pool %d; want %d", h.others, i, want)
					}
					counted += int(h.others)
				}
			}

			for _, liquidity := range []bool{true, false} {
				var changed []uint32
				for i := uint32(0); i < w.pools.Len(); i += 3 {
					pool := w.pools.Mut(i)
					if pool.Tick += int32(60 + i%2*20_000); liquidity {
						pool.Liquidity.Lo /= 3
					}
					changed = append(changed, i)
				}
				later := *st
				later.Pools = w.pools.Freeze()
				st = &later
				f(st, &w.params, hour+200, liquidity, changed...)
			}
		}
	}
	if counted == 0 {
		t.Error("no pool has another holder; this is no test")
	}
}

// othersOf is othersIn by sums of all holders.
func othersOf(st *market.State, pool uint32) uint8 {
	held, most, tick := map[uint32]float64{}, 0.0, st.Pools.At(pool).Tick
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		if p.Pool == pool && p.IsOpen() && p.TickLower <= tick && tick < p.TickUpper {
			held[p.Owner] += approx128(p.Liquidity())
			most = max(most, held[p.Owner])
		}
	}
	part := 100 * most / approx128(st.Pools.At(pool).Liquidity)
	return uint8(min(max(100-math.Ceil(part-1e-9), 0), mostOthers))
}

// A position that is closed and opened again has its part of what others hold.
func TestPricerCountsReopened(t *testing.T) {
	var k Pricer
	counted := 0
	for seed := range uint64(20) {
		st, w := scramble(seed)
		for i := range w.positions.Len() {
			w.positions.Mut(i).Owner = i * i % 3
		}
		k = Pricer{}
		closed := map[uint32]clmath.U128{}
		for step := range uint32(6) {
			for i := range w.positions.Len() {
				p := w.positions.Mut(i)
				was, reopens := closed[i]
				switch {
				case i%2 == 0 || !p.IsOpen() && !reopens:
					continue
				case reopens:
					p.SetLiquidity(was)
					delete(closed, i)
				case i%3 == step%3:
					closed[i] = p.Liquidity()
					p.SetClose([2]market.ClosePrice{})
				}
				k.Forget(p.Pool, i, true)
			}

			now := *st
			now.Positions = w.positions.Freeze()
			k.beginHour(&now, &w.params, nil, market.HourOf(w.now)+200)
			for i := range k.holders {
				if h := &k.holders[i]; h.asked {
					if want := othersOf(&now, uint32(i)); h.others != want {
						t.Errorf("step %d: others have %d %% of pool %d; want %d", step, h.others, i, want)
					}
					counted += int(h.others)
				}
			}
		}
	}
	if counted == 0 {
		t.Error("no pool has another holder; this is no test")
	}
}

// The rows of every pool are found after rows were taken away and others stand there.
func TestPoolRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	var x poolRows
	var pools []uint32 // of the rows
	for range 300 {
		if r.IntN(4) == 0 {
			pools = pools[:r.IntN(len(pools)+1)]
			x.cut(uint32(len(pools)))
		}
		for range r.IntN(20) {
			pools = append(pools, uint32(r.IntN(9)))
		}
		x.extend(9, uint32(len(pools)), func(row uint32) uint32 { return pools[row] })

		for pool := range uint32(9) {
			var want []uint32
			for i, p := range pools {
				if p == pool {
					want = append(want, uint32(i))
				}
			}
			if got := x.rowsOf(pool); !slices.Equal(got, want) {
				t.Fatalf("pool %d has the rows %d; want %d", pool, got, want)
			}
		}
	}
}

// The open rows of every pool are as in the State after positions have come, opened,
// changed and closed, and after some were taken away and others stand there.
func TestOpenRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	const pools = 9
	st := &market.State{}
	var places market.Table[market.Pool]
	for i := range uint32(pools) {
		places.Append(market.Pool{OpenPositions: i % 3}) // room that some outgrow
	}
	st.Pools = places.Freeze()

	var x openRows
	var positions market.Table[market.Position]
	change := func(row uint32) {
		p := positions.Mut(row)
		p.Owner, p.TickLower, p.TickUpper = r.Uint32N(5), -r.Int32N(9), r.Int32N(9)
		if p.SetLiquidity(clmath.U128{Lo: r.Uint64() | 1}); r.IntN(3) == 0 {
			p.SetClose([2]market.ClosePrice{})
		}
	}

	for range 300 {
		if r.IntN(4) == 0 {
			positions.Truncate(r.Uint32N(positions.Len() + 1))
			x.cut(positions.Len())
		}
		for range r.IntN(20) {
			change(positions.Append(market.Position{Pool: r.Uint32N(pools)}))
		}
		for range r.IntN(20) {
			if n := positions.Len(); n > 0 {
				row := r.Uint32N(n)
				change(row)
				x.forget(row)
			}
		}
		st.Positions = positions.Freeze()
		x.update(st)

		var want [pools][]uint32
		for row := range positions.Len() {
			if p := positions.At(row); p.IsOpen() {
				want[p.Pool] = append(want[p.Pool], row)
			}
		}
		for pool, rows := range want {
			if !slices.Equal(x.of[pool], rows) {
				t.Fatalf("pool %d has the open rows %d; want %d", pool, x.of[pool], rows)
			}
		}
	}
}
