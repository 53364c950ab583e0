package value

import (
	"testing"

	"tidemark/rankings/market"
)

// solverOf returns a solver over the world, before its first step.
func (w *world) solverOf() *solver { return newSolver(w.state(), &w.params, w.feed) }

// TestOffThePeg: a stable is off when every close of the last hour had it cheaper by
// more than the peg allows, and the closes reach back that far. The peg of 75 % and
// the roots are exact in binary.
func TestOffThePeg(t *testing.T) {
	f := func(name string, side int, want bool, set func(w *world, pool uint32)) {
		t.Helper()
		w := newWorld()
		w.params.Peg = 75
		usdt := w.token(3, 18)
		a, b := usdt, w.usd
		if side == 1 {
			a, b = w.usd, usdt
		}
		pool := w.poolFull(a, b, 1, 1_000_000)
		*w.minutes.Mut(pool) = market.Minutes{}
		set(w, pool)

		s := w.solverOf()
		s.priceAnchors()
		if got := s.cheapFor(pool, side); got != want {
			t.Errorf("%s: side %d is cheap: %t", name, side, got)
		}
	}

	hour := market.HourOf(testNow)
	root := func(side int, root float64) float64 {
		if side == 1 {
			return two96 / root
		}
		return two96 * root
	}
	for side := range 2 {
		minute := func(ago int64, at float64) func(*world, uint32) {
			return func(w *world, pool uint32) {
				w.closeAt(pool, testNow-ago, 1)
				ring := w.minutes.Mut(pool)
				ring.Sqrt[ring.Newest] = root(side, at)
			}
		}
		ended := func(ago uint32, at float64) func(*world, uint32) {
			return func(w *world, pool uint32) {
				w.volume(pool, hour-ago-1, 1, 1)
				w.hours.Mut(w.pools.At(pool).LastHour).Close = root(side, at)
			}
		}
		all := func(set ...func(*world, uint32)) func(*world, uint32) {
			return func(w *world, pool uint32) {
				for _, f := range set {
					f(w, pool)
				}
			}
		}

		const cheap, fair = 0.49, 0.5
		f("no closes", side, false, all())
		f("cheap for an hour", side, true, minute(3600, cheap))
		f("cheap for less", side, false, minute(3599-59, cheap))
		f("at the bound for an hour", side, false, minute(3600, fair))
		f("fair within the hour", side, false, all(minute(7200, cheap), minute(60, fair)))
		f("fair, then cheap for an hour", side, true, all(minute(7200, fair), minute(3600, cheap)))
		f("fair until a minute too late", side, false, all(minute(3540, fair), minute(3480, cheap)))

		f("the hour before it ended cheap", side, true, all(ended(1, cheap), minute(60, cheap)))
		f("the hour before it ended fair", side, false, all(ended(1, fair), minute(60, cheap)))
		f("fair while the minutes speak", side, true,
			all(ended(1, cheap), ended(0, fair), minute(300, cheap), minute(60, cheap)))
		f("fair when the minutes begin", side, false,
			all(ended(1, cheap), ended(0, fair), minute(0, cheap)))
		f("no hour that is old enough", side, false, all(ended(0, cheap), minute(60, cheap)))
		f("an hour that stands for its day", side, false, func(w *world, pool uint32) {
			w.volume(pool, market.OldestHour(market.DayOf(testNow))-1, 1, 1)
			w.hours.Mut(w.pools.At(pool).LastHour).Close = root(side, cheap)
			minute(60, cheap)(w, pool)
		})
		f("the oldest hour of its own", side, true, func(w *world, pool uint32) {
			w.volume(pool, market.OldestHour(market.DayOf(testNow)), 1, 1)
			w.hours.Mut(w.pools.At(pool).LastHour).Close = root(side, cheap)
			minute(60, cheap)(w, pool)
		})
	}
}

// offPeg adds a pool of two stables in which the first sells for so much, since a day.
func (w *world) offPeg(a, b uint32, price, depth float64) uint32 {
	pool := w.poolFull(a, b, price, depth)
	*w.minutes.Mut(pool) = market.Minutes{}
	w.closeAt(pool, testNow-market.Day, price)
	return pool
}

// TestMostOfTheDepthDecides: a stable is dropped when more than half of the depth of
// its markets against stables has it cheap; markets that are barred have no say.
func TestMostOfTheDepthDecides(t *testing.T) {
	f := func(name string, anchor bool, set func(w *world, usdt uint32)) {
		t.Helper()
		w := newWorld()
		usdt := w.token(3, 18)
		w.params.Stables = append(w.params.Stables, w.address(usdt))
		set(w, usdt)
		checkPeg(t, name, w, usdt, anchor)
	}

	f("all of it", false, func(w *world, usdt uint32) { w.offPeg(usdt, w.usd, 0.9, 500_000) })
	f("from the other side", false, func(w *world, usdt uint32) { w.offPeg(w.usd, usdt, 1/0.9, 500_000) })
	f("no peg is asked for", true, func(w *world, usdt uint32) {
		w.params.Peg = 0
		w.offPeg(usdt, w.usd, 0.9, 500_000)
	})
	f("half of it", true, func(w *world, usdt uint32) {
		w.params.Peg = 0.001
		w.offPeg(usdt, w.usd, 0.9999, 500_000)
		w.offPeg(usdt, w.usd, 0.9999, 500_000)
		for _, pool := range []uint32{1, 2} { // the same roots, of which one closed at par
			w.ranges[pool][0].liquidity = 5e23
		}
		w.minutes.Mut(2).Sqrt[0] = two96
	})
	f("a little more than half", false, func(w *world, usdt uint32) {
		w.offPeg(usdt, w.usd, 0.97, 510_000)
		w.offPeg(usdt, w.usd, 1, 490_000)
	})
	f("less than half", true, func(w *world, usdt uint32) {
		w.offPeg(usdt, w.usd, 0.97, 480_000)
		w.offPeg(usdt, w.usd, 1, 500_000)
	})
	f("barred markets against it", true, func(w *world, usdt uint32) {
		w.pools.Mut(w.offPeg(usdt, w.usd, 0.9, 900_000)).Quarantined = true
	})
	f("barred markets for it", false, func(w *world, usdt uint32) {
		w.offPeg(usdt, w.usd, 0.9, 500_000)
		w.pools.Mut(w.poolFull(usdt, w.usd, 1, 900_000)).LastSwapAt = 0
	})
}

// TestDroppedStables are priced as any token, by the anchors that are left, and price
// nothing at a dollar: of a chain of three, the last has no market against an anchor.
func TestDroppedStables(t *testing.T) {
	w := newWorld()
	near, far := w.token(3, 18), w.token(4, 6)
	w.params.Stables = append(w.params.Stables, w.address(near), w.address(far))
	w.offPeg(near, w.usd, 0.9, 900_000)
	w.offPeg(far, near, 0.5, 200_000)

	st := w.state()
	mustNear(t, "the near one", st.Prices.At(near).Usd, 0.9, 1e-9)
	mustNear(t, "the far one", st.Prices.At(far).Usd, 0.45, 1e-9)
	if p := st.Prices.At(near); p.Markets != 1 || p.Anchor || p.Source != market.SourcePool {
		t.Errorf("the near one is %+v", *p)
	}
	if p := st.Prices.At(far); p.Markets != 1 || p.Anchor || p.Source != market.SourceDerived {
		t.Errorf("the far one is %+v", *p)
	}
}

// TestNativeMarkets: the median of as many of the deepest markets as are asked for,
// against anchors and nothing else.
func TestNativeMarkets(t *testing.T) {
	f := func(name string, usd float64, markets uint16, set func(w *world, wrapped uint32)) {
		t.Helper()
		w := newWorld()
		wrapped := w.token(2, 18)
		w.params.WrappedNative = w.address(wrapped)
		w.pools.Mut(0).LastSwapAt = 0
		set(w, wrapped)
		st := w.state()
		for _, token := range []uint32{w.eth, wrapped} {
			if p := st.Prices.At(token); !near(p.Usd, usd, 1e-9) || p.Markets != markets || !p.Anchor ||
				p.Source != market.SourceAnchor || p.AsOf != testNow-market.Hour {
				t.Errorf("%s: token %d is %+v; want %g of %d markets", name, token, *p, usd, markets)
			}
		}
	}

	// The thinnest first, so that the order of the pools is not that of the depth.
	five := func(w *world, wrapped uint32) {
		w.poolFull(w.eth, w.usd, 2500, 1_000_000)
		w.poolFull(w.eth, w.usd, 2100, 3_000_000)
		w.poolFull(w.usd, wrapped, 1.0/2300, 2000) // 4.6 million
		w.poolFull(wrapped, w.usd, 2200, 4_000_000)
		w.poolFull(w.eth, w.usd, 2400, 2_000_000)
	}
	asked := func(n int) func(*world, uint32) {
		return func(w *world, wrapped uint32) {
			five(w, wrapped)
			w.params.NativePools = n
		}
	}
	f("three", 2200, 3, asked(3))
	f("two", 2250, 2, asked(2))
	f("one", 2300, 1, asked(1))
	f("none is one", 2300, 1, asked(0))
	f("four", 2250, 4, asked(4))
	f("more than there are", 2300, 5, asked(9))

	f("of equal depth the older pools", 2050, 2, func(w *world, _ uint32) {
		w.params.NativePools = 2
		for _, price := range []float64{2000, 2100, 2200} {
			pool := w.poolFull(w.eth, w.usd, 2000, 3_000_000)
			*w.minutes.Mut(pool) = market.Minutes{}
			w.closeAt(pool, testNow-market.Hour, price)
		}
	})
	f("a stable off its peg has no say", 2100, 1, func(w *world, _ uint32) {
		usdt := w.token(3, 18)
		w.params.Stables = append(w.params.Stables, w.address(usdt))
		w.offPeg(usdt, w.usd, 0.5, 500_000)
		w.poolFull(w.eth, usdt, 4200, 90_000_000)
		w.poolFull(w.eth, w.usd, 2100, 3_000_000)
	})
	f("native against wrapped says nothing", 2100, 1, func(w *world, wrapped uint32) {
		w.poolFull(w.eth, wrapped, 3, 90_000)
		w.poolFull(w.eth, w.usd, 2100, 3_000_000)
	})
}

// TestNativeWithoutMarkets: the feed prices the native currency, by either of its
// addresses; else what it was holds for as long as any price, and it stays an anchor.
func TestNativeWithoutMarkets(t *testing.T) {
	w := newWorld()
	wrapped := w.token(2, 18)
	w.params.WrappedNative = w.address(wrapped)
	token := w.token(9, 18)
	w.poolFull(token, w.eth, 0.001, 1000)
	w.pass(1)
	w.pools.Mut(0).Quarantined = true

	f := func(name string, usd float64, asOf int64, source market.Source) {
		t.Helper()
		st := w.state()
		for _, native := range []uint32{w.eth, wrapped} {
			p := st.Prices.At(native)
			mustNear(t, name, p.Usd, usd, 1e-9)
			if !p.Anchor || !p.Corroborated || p.AsOf != asOf || p.Source != source || p.Markets != 0 {
				t.Errorf("%s: token %d is %+v", name, native, *p)
			}
		}
		mustNear(t, name+": a token against it", st.Prices.At(token).Usd, usd/1000, 1e-9)
	}

	held := testNow - market.Hour
	f("held", 2000, held, market.SourceAnchor)
	w.pass(1)
	lost := w.now
	w.now = lost + 6*market.Hour - 1
	f("held to the last second", 2000, held, market.SourceAnchor)

	for _, address := range []market.Address{w.address(w.eth), w.address(wrapped)} {
		w.feed = []FeedPrice{{Token: address, Usd: 1900, AsOf: w.now - 60}}
		f("fed", 1900, w.now-60, market.SourceFeed)
	}
	w.feed = append(w.feed, FeedPrice{Token: w.address(w.eth), Usd: 1800, AsOf: w.now - 30})
	f("fed for both", 1800, w.now-30, market.SourceFeed)

	w.feed = nil
	w.now = lost + 6*market.Hour
	st := w.state()
	for _, native := range []uint32{w.eth, wrapped} {
		p := st.Prices.At(native)
		if market.Known(p.Usd) || p.Anchor || p.Corroborated || p.Reason != market.ReasonNoMarket {
			t.Errorf("after the grace token %d is %+v", native, *p)
		}
	}
}

// TestNativeHeldByEither: what only one of the native currency and its wrapped form was
// worth when the hour began is held for both, and both are trusted as that one was.
func TestNativeHeldByEither(t *testing.T) {
	f := func(name string, known int, source market.Source) {
		t.Helper()
		w := newWorld()
		natives := [2]uint32{w.eth, w.token(2, 18)}
		w.params.WrappedNative = w.address(natives[1])
		*w.tokens.Mut(natives[known]) = market.Token{
			Address: w.address(natives[known]), Decimals: 18, HourUsd: 1900, HourSource: source,
			HourAt: market.HourOf(testNow), HourAsOf: testNow - 60, HourOnlyPool: market.NoIndex,
			HourCorroborated: true,
		}
		w.pools.Mut(0).Quarantined = true

		st := w.state()
		for _, native := range natives {
			p := st.Prices.At(native)
			if p.Usd != 1900 || p.Source != source || !p.Corroborated ||
				p.Anchor != (source == market.SourceAnchor) {
				t.Errorf("%s: token %d is %+v", name, native, *p)
			}
		}
	}

	f("the native currency's", 0, market.SourceAnchor)
	f("its wrapped form's", 1, market.SourceAnchor)
	f("the native currency's, by its markets", 0, market.SourcePool)
	f("its wrapped form's, by its markets", 1, market.SourcePool)
}

// TestAnchorsNeedDecimals: a listed token whose decimals are bad is no anchor.
func TestAnchorsNeedDecimals(t *testing.T) {
	w := newWorld()
	w.tokens.Mut(w.usd).BadDecimals = true
	token := w.token(9, 18)
	w.poolFull(token, w.usd, 4, 1_000_000)

	st := w.state()
	for i := range st.Prices.Len() {
		if p := st.Prices.At(i); market.Known(p.Usd) || p.Anchor || p.Corroborated {
			t.Errorf("token %d is %+v", i, *p)
		}
	}
	if p := st.Prices.At(w.usd); p.Reason != market.ReasonBadDecimals {
		t.Errorf("the stable is %+v", *p)
	}
}
