package value

import (
	"math"
	"testing"

	"tidemark/rankings/market"
)

func TestAnchors(t *testing.T) {
	w := newWorld()
	st := w.state()
	eth, usd := st.Prices.At(w.eth), st.Prices.At(w.usd)
	mustNear(t, "native", eth.Usd, 2000, 1e-9)
	mustNear(t, "stable", usd.Usd, 1, 0)
	for _, p := range []*market.Price{eth, usd} {
		if !p.Anchor || !p.Corroborated || p.Source != market.SourceAnchor || !math.IsInf(p.ExitUsd, 1) {
			t.Errorf("anchor is %+v", *p)
		}
	}

	st.Head.Time = testNow + 1234 // a stable is as of the hour
	if p := Prices(st, &w.params, nil, func() {})[w.usd]; p.AsOf != testNow {
		t.Errorf("the stable is as of %d; want %d", p.AsOf, testNow)
	}
}

func TestNativeIsTheMedianOfTheDeepestThree(t *testing.T) {
	w := newWorld()
	wrapped := w.token(2, 18)
	w.params.WrappedNative = w.address(wrapped)
	w.poolFull(wrapped, w.usd, 2010, 5_000_000)
	w.poolFull(w.usd, wrapped, 1.0/2030, 1000)
	w.poolFull(w.eth, w.usd, 1500, 1_500_000)
	st := w.state()
	mustNear(t, "native", st.Prices.At(w.eth).Usd, 2010, 1e-9)
	mustNear(t, "wrapped", st.Prices.At(wrapped).Usd, 2010, 1e-9)
	if n := st.Prices.At(w.eth).Markets; n != 3 {
		t.Errorf("native has %d markets; want the deepest 3", n)
	}
}

// TestNativeWaitsForAMarket: a chain's first native/stable pool is as any market,
// and prices the native currency once it is a day old; the stable needs nothing.
func TestNativeWaitsForAMarket(t *testing.T) {
	f := func(age int64, want float64, reason market.Reason) {
		t.Helper()
		w := newWorld()
		w.pools.Mut(0).CreatedAt = testNow - age
		st := w.state()
		eth, usd := st.Prices.At(w.eth), st.Prices.At(w.usd)
		mustNear(t, "native", eth.Usd, want, 1e-9)
		if eth.Reason != reason || usd.Usd != 1 || !usd.Anchor {
			t.Errorf("%d s: native %+v, stable %+v", age, *eth, *usd)
		}
	}

	f(market.Hour, market.Unknown, market.ReasonThinMarket)
	f(market.Day-1, market.Unknown, market.ReasonThinMarket)
	f(market.Day, 2000, market.ReasonNone)
}

// TestEligibility changes one thing at a time in a good market.
func TestEligibility(t *testing.T) {
	f := func(name string, change func(w *world, token, pool uint32), reason market.Reason) {
		t.Helper()
		w := newWorld()
		token := w.token(9, 18)
		pool := w.poolFull(token, w.usd, 5, 200_000)
		change(w, token, pool)
		price := w.state().Prices.At(token)
		if (reason == market.ReasonNone) != market.Known(price.Usd) || price.Reason != reason {
			t.Errorf("%s: price %v, reason %d; want reason %d", name, price.Usd, price.Reason, reason)
		}
	}

	thin, stale := market.ReasonThinMarket, market.ReasonStalePrice
	f("nothing", func(w *world, _, p uint32) {}, market.ReasonNone)
	f("a week without a swap", func(w *world, _, p uint32) {
		w.pools.Mut(p).LastSwapAt = testNow - 7*market.Day - 1
	}, stale)

	f("never swapped", func(w *world, _, p uint32) { w.pools.Mut(p).LastSwapAt = 0 }, stale)
	f("created today", func(w *world, _, p uint32) {
		w.pools.Mut(p).CreatedAt = testNow - market.Day + 1
	}, thin)

	f("as old as needed", func(w *world, _, p uint32) {
		w.pools.Mut(p).CreatedAt = testNow - market.Day
	}, market.ReasonNone)

	f("no liquidity at the price", func(w *world, _, p uint32) {
		w.ranges[p] = []span{{-887220, -800000, 1e24}}
	}, thin)

	f("impact", func(w *world, _, p uint32) { w.ranges[p][0].liquidity /= 4.2 }, thin)
	f("impact just met", func(w *world, _, p uint32) { w.ranges[p][0].liquidity /= 1.9 }, market.ReasonNone)
	f("a hook that takes", func(w *world, _, p uint32) { w.pools.Mut(p).Hooks[19] = 1 << 2 },
		market.ReasonHookDelta)
	f("a hook that takes first", func(w *world, _, p uint32) { w.pools.Mut(p).Hooks[19] = 1 << 3 },
		market.ReasonHookDelta)
	f("a hook that does not", func(w *world, _, p uint32) { w.pools.Mut(p).Hooks[19] = 0xf3 },
		market.ReasonNone)
	f("a listed hook", func(w *world, _, p uint32) {
		w.pools.Mut(p).Hooks[19] = 1 << 2
		w.params.HookAllow = []market.Address{{19: 1 << 2}}
	}, market.ReasonNone)
	f("bad decimals", func(w *world, token, _ uint32) { w.tokens.Mut(token).BadDecimals = true },
		market.ReasonBadDecimals)
	f("first swapped just now", func(w *world, _, p uint32) {
		*w.minutes.Mut(p) = market.Minutes{}
		w.closeAt(p, testNow-60, 5)
	}, thin)
	f("no pool at all", func(w *world, _, p uint32) { w.pools.Mut(p).Currency0 = w.eth },
		market.ReasonNoMarket)
}

func TestHops(t *testing.T) {
	w := newWorld()
	a, b, c, d := w.token(10, 6), w.token(11, 18), w.token(12, 8), w.token(13, 18)
	w.poolFull(a, w.eth, 0.001, 100) // a = 2 USD
	w.poolFull(b, a, 3, 100_000)     // b = 6
	w.poolFull(c, b, 7, 100_000)     // would be 42, at three hops
	w.poolFull(d, c, 1, 100_000)     // would be 42
	st := w.state()
	mustNear(t, "first hop", st.Prices.At(a).Usd, 2, 1e-9)
	mustNear(t, "second hop", st.Prices.At(b).Usd, 6, 1e-9)
	if p := st.Prices.At(a); p.Source != market.SourcePool {
		t.Errorf("source of the first hop is %d", p.Source)
	}

	if p := st.Prices.At(b); p.Source != market.SourceDerived || p.OnlyPool == market.NoIndex {
		t.Errorf("second hop is %+v", *p)
	}

	for _, token := range []uint32{c, d} {
		if p := st.Prices.At(token); market.Known(p.Usd) || p.Reason != market.ReasonNoMarket {
			t.Errorf("third hop is %+v", *p)
		}
	}
}

func TestWeightedMedianAndOutliers(t *testing.T) {
	w := newWorld()
	token := w.token(9, 18)
	w.poolFull(token, w.usd, 5, 1_000_000)
	w.poolFull(token, w.usd, 5.2, 600_000)
	w.poolFull(token, w.usd, 5.3, 500_000)
	w.poolFull(token, w.usd, 9, 900_000)
	p := w.state().Prices.At(token)
	mustNear(t, "price", p.Usd, 5.2, 1e-9)
	if p.Markets != 3 || p.OnlyPool != market.NoIndex {
		t.Errorf("markets %d, only pool %d", p.Markets, p.OnlyPool)
	}
}

func TestMedianOfMinutes(t *testing.T) {
	f := func(want float64, closes ...float64) {
		t.Helper()
		w := newWorld()
		token := w.token(9, 18)
		pool := w.poolFull(token, w.usd, 5, 200_000)
		for i, price := range closes {
			w.closeAt(pool, testNow-int64(len(closes)-1-i)*60, price)
		}
		mustNear(t, "median", w.state().Prices.At(token).Usd, want, 1e-9)
	}

	repeat := func(n int, price float64) (out []float64) {
		for range n {
			out = append(out, price)
		}
		return out
	}

	f(5)
	f(5, 50)
	f(5, repeat(14, 50)...)
	f(50, repeat(16, 50)...)
	f(50, repeat(31, 50)...)
	f(6, append(repeat(30, 6), 1)...)

	middle := (math.Sqrt(5) + math.Sqrt(50)) / 2
	f(middle*middle, repeat(15, 50)...)
}

func TestFeed(t *testing.T) {
	f := func(name string, usd float64, age int64, want float64, source market.Source) {
		t.Helper()
		w := newWorld()
		token := w.token(9, 18)
		w.pools.Mut(w.poolFull(token, w.usd, 5, 200_000)).Swaps = 10
		w.feed = []FeedPrice{{Token: w.address(token), Usd: usd, AsOf: testNow - age}}
		p := w.state().Prices.At(token)
		mustNear(t, name, p.Usd, want, 1e-9)
		fresh := age <= 600 && usd > 0
		if p.Source != source || p.Corroborated != fresh || (p.OnlyPool == market.NoIndex) != fresh {
			t.Errorf("%s: %+v", name, *p)
		}
	}
	f("agrees", 5.1, 30, 5, market.SourcePool)
	f("is far off", 8, 30, 8, market.SourceFeed)
	f("is old", 8, 601, 5, market.SourcePool)
	f("is not positive", 0, 30, 5, market.SourcePool)

	w := newWorld()
	token := w.token(9, 18)
	w.feed = []FeedPrice{{Token: w.address(token), Usd: 3, AsOf: testNow - 60}}
	p := w.state().Prices.At(token)
	if p.Usd != 3 || p.AsOf != testNow-60 || p.Source != market.SourceFeed || !p.Corroborated {
		t.Errorf("a token without a market: %+v", *p)
	}
}

// checkPeg checks whether a second stable is an anchor; the first one is.
func checkPeg(t *testing.T, name string, w *world, second uint32, anchor bool) {
	t.Helper()
	st := w.state()
	if p := st.Prices.At(second); p.Anchor != anchor {
		t.Errorf("%s: %+v", name, *p)
	}
	if p := st.Prices.At(w.usd); !p.Anchor {
		t.Errorf("%s: the sound stable is %+v", name, *p)
	}
}

func TestPeg(t *testing.T) {
	f := func(name string, wantAnchor bool, setup func(w *world, pool uint32)) {
		t.Helper()
		w := newWorld()
		usdt := w.token(3, 6)
		w.params.Stables = append(w.params.Stables, w.address(usdt))
		pool := w.poolFull(usdt, w.usd, 1, 1_000_000)
		setup(w, pool)
		checkPeg(t, name, w, usdt, wantAnchor)
	}

	off := func(ago int64) func(*world, uint32) {
		return func(w *world, pool uint32) {
			w.volume(pool, market.HourOf(testNow)-3, 1, 1)
			*w.minutes.Mut(pool) = market.Minutes{}
			w.closeAt(pool, testNow-2*market.Day, 1)
			w.push(pool, 0.9)
			*w.minutes.Mut(pool) = market.Minutes{}
			w.closeAt(pool, testNow-2*market.Day, 1)
			w.closeAt(pool, testNow-ago, 0.9)
		}
	}

	f("on its peg", true, func(*world, uint32) {})
	f("off since two hours", false, off(2*market.Hour))
	f("off since an hour", false, off(market.Hour))
	f("off since half an hour", true, off(market.Hour/2))
	f("off, says one thin pool", true, func(w *world, pool uint32) {
		off(2*market.Hour)(w, pool)
		w.poolFull(w.tokens.Len()-1, w.usd, 1, 3_000_000)
	})

	f("off, with more closes than are kept", false, func(w *world, pool uint32) {
		w.push(pool, 0.9)
		w.volume(pool, market.HourOf(testNow)-2, 1, 1)
		w.volume(pool, market.HourOf(testNow)-1, 1, 1)
		for ago := int64(40); ago >= 0; ago-- {
			w.closeAt(pool, testNow-ago*60, 0.9)
		}
	})
}
