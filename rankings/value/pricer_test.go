package value

import (
	"reflect"
	"testing"

	"tidemark/rankings/market"
)

// A Pricer finds the prices that Prices does, of a market that goes on, in which pools come
// and go and thresholds change, once it is told which pools changed.
func TestPricer(t *testing.T) {
	var k Pricer
	f := func(st *market.State, p *Params, changed ...uint32) {
		t.Helper()
		for _, i := range changed {
			k.Forget(i)
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
	f := func(st *market.State, p *Params, hour uint32, changed ...uint32) {
		t.Helper()
		for _, i := range changed {
			k.Forget(i)
		}
		want := new(Pricer).BeginHour(st, p, nil, hour)
		got := k.BeginHour(st, p, nil, hour)
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
		k = Pricer{}
		for range 3 {
			hour := market.HourOf(w.now) + 1
			f(st, &w.params, hour)
			f(st, &w.params, hour+200) // pools are old enough by then
			for _, h := range k.holders {
				if h.others > 0 {
					counted++
				}
			}

			var changed []uint32
			for i := uint32(0); i < w.pools.Len(); i += 3 {
				pool := w.pools.Mut(i)
				pool.Tick += 60
				pool.Liquidity.Lo /= 3
				changed = append(changed, i)
			}
			later := *st
			later.Pools = w.pools.Freeze()
			st = &later
			f(st, &w.params, hour+1, changed...)
		}
	}
	if counted == 0 {
		t.Error("no pool has another holder; this is no test")
	}
}
