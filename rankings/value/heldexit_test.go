package value

import (
	"fmt"
	"math"
	"testing"

	"tidemark/rankings/market"
)

// TestExitThroughHeldPrice: a token whose price is only held prices no other, so a pool
// against it is no part of a way out, and nothing of it can be taken out of one.
func TestExitThroughHeldPrice(t *testing.T) {
	w := newWorld()
	w.params.LoneHolder = 0
	token, _ := w.honest() // whose exit is 136,754 USD
	other := w.token(51, 18)
	way := w.poolFull(other, w.usd, 4, 200_000)
	pool := w.pool(token, other, 1)
	w.pools.Mut(pool).CreatedAt = testNow - market.Hour // too young to price either token
	i := w.openWhole(pool, 25_000)                      // 100,000 USD of either token
	w.pass(1)

	check := func(name string, exit float64) {
		t.Helper()
		st := w.state()
		var m Metrics
		Position(st, i, &m)
		mustNear(t, name+": exit", st.Prices.At(token).ExitUsd, exit, 1e-3)
		if m.Unrealizable[0] || m.PriceUnavailable {
			t.Errorf("%s: %+v", name, m.Figures)
		}
	}
	check("priced", 136_754+68_377)
	w.deep(way, 10)
	check("held", 136_754)
}

// TestExitThroughHeldAnswer: what the feed said of a token prices others for as long as it
// says so; when that is only held, a pool against the token is no way out.
func TestExitThroughHeldAnswer(t *testing.T) {
	w := newWorld()
	w.params.LoneHolder = 0
	token, _ := w.honest() // whose exit is 136,754 USD
	other := w.token(51, 18)
	for _, asOf := range []int64{w.now, w.now + market.Hour} {
		w.feed = append(w.feed, FeedPrice{Token: w.address(other), Usd: 8, AsOf: asOf})
	}
	way := w.poolFull(other, w.usd, 4, 200_000) // which the feed does not believe
	pool := w.pool(token, other, 0.5)
	w.pools.Mut(pool).CreatedAt = testNow - market.Hour // too young to price either token
	i := w.openWhole(pool, 25_000)                      // 100,000 USD of either token

	check := func(name string, source market.Source, exit float64) {
		t.Helper()
		st := w.state()
		mustNear(t, name+": exit", st.Prices.At(token).ExitUsd, exit, 1e-3)
		if p := st.Prices.At(other); p.Usd != 8 || p.Source != source || PoolPrices(st, st.Pools.At(pool))[1].Reason != 0 {
			t.Errorf("%s: %+v", name, *p)
		}

		var m Metrics
		Position(st, i, &m)
		if m.Unrealizable[0] || m.PriceUnavailable {
			t.Errorf("%s: %+v", name, m.Figures)
		}
	}
	check("said", market.SourceFeed, 136_754+68_377)
	for hour := range 3 {
		w.pass(1)
		w.feed = nil
		w.pools.Mut(way).LastSwapAt = testNow - 30*market.Day // so that it prices nothing
		check(fmt.Sprintf("held for %d hours", hour), market.SourceFeed, 136_754)
	}
}

// TestExitThroughListedHook: a pool whose hook may change swaps is a way out if the hook is
// listed, and what of it is the position's own is taken out as anywhere.
func TestExitThroughListedHook(t *testing.T) {
	f := func(listed bool, tokens float64, want bool) {
		t.Helper()
		w := newWorld()
		token, _ := w.honest() // whose exit is 136,754 USD: that of 34,188 tokens
		hook := market.Address{0: 7, 19: beforeSwap | beforeSwapDelta}
		if listed {
			w.params.HookAllow = []market.Address{hook}
		}
		pool := w.poolFull(token, w.usd, 4, 2000)
		w.pools.Mut(pool).Hooks = hook
		i := w.openWhole(pool, tokens)
		w.pass(1)
		w.pass(1)

		var m Metrics
		st := w.state()
		Position(st, i, &m)
		if m.Unrealizable[0] != want || m.Unrealizable[1] || m.PriceUnavailable {
			t.Errorf("listed %t, %g tokens: %+v", listed, tokens, m.Figures)
		}

		k := NewRanker(st)
		var f Figures
		k.Rank(i, &f)
		var kept Kept
		k.Keep(&kept)
		var r Results
		k.Renew(i, pool, &kept, &r)
		mustNear(t, "V when renewed", r.UnderlyingValueUsd, m.UnderlyingValueUsd, 0)
	}

	f(false, 34_180, false)
	f(false, 34_200, true)
	f(true, 34_500, false) // with what others have in the pool, 1,367 USD more
	f(true, 34_550, true)
}

// TestExitThroughNewHook: the pool of a listed hook that is no market yet is no way out, of
// which its only holder could claim what nobody but himself would pay; nor is anything of it
// taken out then. Where it alone prices the token it is one at once.
func TestExitThroughNewHook(t *testing.T) {
	f := func(name string, age int64, exit float64, tokens float64, want bool) {
		t.Helper()
		w := newWorld()
		token, _ := w.honest() // whose exit is 136,754 USD
		hook := market.Address{0: 7, 19: beforeSwap | beforeSwapDelta}
		w.params.HookAllow = []market.Address{hook}
		pool := w.poolFull(token, w.usd, 4, 2000) // 1,367 USD of others
		w.pools.Mut(pool).Hooks, w.pools.Mut(pool).CreatedAt = hook, testNow-age
		i := w.openWhole(pool, tokens)
		w.pass(1)

		var m Metrics
		st := w.state()
		Position(st, i, &m)
		if m.Unrealizable[0] != want || m.Unrealizable[1] || m.PriceUnavailable {
			t.Errorf("%s, %g tokens: %+v", name, tokens, m.Figures)
		}
		own := tokens * 4 * (1 - math.Sqrt(0.1))
		if exit != 136_754 {
			exit += own
		}
		mustNear(t, name+": exit", st.Prices.At(token).ExitUsd, exit, 1e-3)
	}

	f("a day old in an hour", market.Day-market.Hour-1, 136_754, 34_180, false)
	f("a day old in an hour", market.Day-market.Hour-1, 136_754, 34_500, true)
	f("a day old", market.Day, 136_754+1367, 34_500, false)
	f("a day old", market.Day, 136_754+1367, 34_550, true)

	w := newWorld()
	w.params.HookAllow = []market.Address{{19: beforeSwapDelta}}
	token, pool := w.honest()
	w.pools.Mut(pool).Hooks = w.params.HookAllow[0]
	mustNear(t, "exit by one market alone", w.state().Prices.At(token).ExitUsd, 136_754, 1e-3)
}

// TestExitThroughOutvotedPrice: a token that an anchor's market prices, and that others price
// otherwise in the end, prices the tokens of its pools all the same.
func TestExitThroughOutvotedPrice(t *testing.T) {
	f := func(tokens float64, want bool) {
		t.Helper()
		w := newWorld()
		w.params.LoneHolder = 0
		token, _ := w.honest() // whose exit is 136,754 USD
		by, deep := w.token(51, 18), w.token(52, 18)
		w.poolFull(by, w.usd, 4, 150_000)
		w.poolFull(deep, w.usd, 4, 5_000_000)
		w.poolFull(by, deep, 1.25, 250_000) // so that it is at 5 USD
		pool := w.pool(token, by, 1)
		i := w.openWhole(pool, tokens)
		w.pass(1)

		st := w.state()
		var m Metrics
		Position(st, i, &m)
		if p := st.Prices.At(by); p.Source != market.SourceDerived || m.Unrealizable != [2]bool{want, false} {
			t.Errorf("%g tokens: %+v, by one at %+v", tokens, m.Figures, *p)
		}
	}

	f(25_000, false)
	f(50_000, true)
}
