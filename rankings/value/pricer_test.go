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
