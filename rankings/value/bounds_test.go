package value

import (
	"math"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// TestThresholdsOfAMarket: each threshold is met on its bound and missed one step
// beyond it, as the smallest step of its kind goes.
func TestThresholdsOfAMarket(t *testing.T) {
	f := func(name string, reason market.Reason, change func(w *world, pool uint32, d depth)) {
		t.Helper()
		w := newWorld()
		token := w.token(9, 18)
		pool := w.poolFull(token, w.usd, 4, 200_000)
		d := depthOf(w.state(), pool, 0, w.params.MarketImpact)
		change(w, pool, d)

		s := w.solverOf()
		s.priceAnchors()
		q := s.appendQuote(nil, pool, 0, 1/s.whole[w.usd])[0]
		if q.bar != reason || (q.usd > 0) != (reason == market.ReasonNone) {
			t.Errorf("%s: %+v; want reason %d", name, q, reason)
		}
		if q.reach != q.weight || q.reach == 0 && reason != market.ReasonQuarantined && reason != market.ReasonHookDelta {
			t.Errorf("%s: what selling yields is %+v", name, q)
		}
	}

	none, thin, stale := market.ReasonNone, market.ReasonThinMarket, market.ReasonStalePrice
	room := func(w *world, pool uint32, d depth) float64 {
		spot := rootOf(&w.pools.At(pool).SqrtPriceX96, 0)
		return d.room * spot * spot * (1 / 1e18)
	}
	f("within the impact, just as much", none, func(w *world, pool uint32, d depth) {
		w.params.MarketUsd = room(w, pool, d)
	})
	f("within the impact, a little less", thin, func(w *world, pool uint32, d depth) {
		w.params.MarketUsd = math.Nextafter(room(w, pool, d), math.Inf(1))
	})

	// With an impact of 90 % more goes in than comes out.
	f("in all, just as much", none, func(w *world, _ uint32, d depth) {
		w.params.MarketImpact, w.params.MarketUsd = 90, d.reach*(1/1e18)
	})
	f("in all, a little less", thin, func(w *world, _ uint32, d depth) {
		w.params.MarketImpact, w.params.MarketUsd = 90, math.Nextafter(d.reach*(1/1e18), math.Inf(1))
	})

	f("swapped in time", none, func(w *world, pool uint32, _ depth) {
		w.pools.Mut(pool).LastSwapAt = testNow - 7*market.Day
	})
	f("swapped too long ago", stale, func(w *world, pool uint32, _ depth) {
		w.pools.Mut(pool).LastSwapAt = testNow - 7*market.Day - 1
	})
	f("swapped whenever", none, func(w *world, pool uint32, _ depth) {
		w.params.MarketRecency, w.pools.Mut(pool).LastSwapAt = 0, 0
	})
	f("never swapped", stale, func(w *world, pool uint32, _ depth) {
		w.params.MarketRecency, w.pools.Mut(pool).LastSwapAt = 2*testNow, 0
	})
	f("within a second", none, func(w *world, pool uint32, _ depth) {
		w.params.MarketRecency, w.pools.Mut(pool).LastSwapAt = 1, testNow-1
	})
	f("old enough", none, func(w *world, pool uint32, _ depth) {
		w.pools.Mut(pool).CreatedAt = testNow - market.Day
	})
	f("a second too young", thin, func(w *world, pool uint32, _ depth) {
		w.pools.Mut(pool).CreatedAt = testNow - market.Day + 1
	})
	f("without a median", thin, func(w *world, pool uint32, _ depth) {
		*w.minutes.Mut(pool) = market.Minutes{}
	})
	f("quarantined", market.ReasonQuarantined, func(w *world, pool uint32, _ depth) {
		w.pools.Mut(pool).Quarantined, w.pools.Mut(pool).LastSwapAt = true, 0
	})
	f("with a hook that takes", market.ReasonHookDelta, func(w *world, pool uint32, _ depth) {
		w.pools.Mut(pool).Hooks[19], w.pools.Mut(pool).LastSwapAt = beforeSwapDelta, 0
	})
}

// TestBarredMarketsHaveNoSay: a market that prices nothing is not counted beside one
// that does, even if it is deeper, but what it can be sold for is a way out.
func TestBarredMarketsHaveNoSay(t *testing.T) {
	f := func(name string, exit bool, bar func(w *world, pool uint32)) {
		t.Helper()
		w := newWorld()
		token := w.token(9, 18)
		good := w.poolFull(token, w.usd, 4, 200_000)
		barred := w.poolFull(token, w.usd, 4.1, 900_000)
		bar(w, barred)
		p := w.state().Prices.At(token)
		mustNear(t, name, p.Usd, 4, 1e-9)
		if p.Markets != 1 || p.OnlyPool != good || (p.ExitUsd > 200_000) != exit {
			t.Errorf("%s: %+v", name, *p)
		}
	}

	f("without a median", true, func(w *world, pool uint32) {
		*w.minutes.Mut(pool) = market.Minutes{}
		w.closeAt(pool, testNow-60, 4.1)
	})
	f("without a median, as token 1", true, func(w *world, pool uint32) {
		p := w.pools.Mut(pool)
		p.Currency0, p.Currency1 = p.Currency1, p.Currency0
		*w.minutes.Mut(pool) = market.Minutes{}
	})
	f("stale", true, func(w *world, pool uint32) { w.pools.Mut(pool).LastSwapAt = 1 })
	f("young", true, func(w *world, pool uint32) { w.pools.Mut(pool).CreatedAt = testNow })
	f("thin", true, func(w *world, pool uint32) {
		w.ranges[pool] = nil
		w.around(pool, 12_000, -6_000, 1e24) // all of it far below the price
		w.around(pool, 10, 10, 1e18)
	})
	f("quarantined", false, func(w *world, pool uint32) { w.pools.Mut(pool).Quarantined = true })
	f("of a hook that takes", false, func(w *world, pool uint32) { w.pools.Mut(pool).Hooks[19] = afterSwapDelta })
}

// TestCorroboration: the bounds of two markets that agree, and of one alone.
func TestCorroboration(t *testing.T) {
	const deep = 60_000.0
	pool := func(usd, weight float64, change func(p *market.Pool)) func(w *world, token uint32) quote {
		return func(w *world, token uint32) quote {
			index := w.poolFull(token, w.usd, usd, 1)
			change(w.pools.Mut(index))
			return quote{token: token, pool: index, by: w.usd, usd: usd, reach: weight, weight: weight, byAnchor: true}
		}
	}
	none := func(*market.Pool) {}
	few := func(p *market.Pool) { p.Swaps = 0 }
	f := func(name string, want bool, markets ...func(w *world, token uint32) quote) {
		t.Helper()
		w := newWorld()
		token := w.token(9, 18)
		var quotes []quote
		for _, m := range markets {
			quotes = append(quotes, m(w, token))
		}
		s := w.solverOf()
		s.priceAnchors()
		if got := s.isCorroborated(quotes, s.p); got != want {
			t.Errorf("%s: corroborated %t", name, got)
		}
		shown := true
		for _, c := range s.trustChecks(quotes, s.p)[1:] {
			shown = shown && c.Met
		}
		if pair := s.trustChecks(quotes, s.p)[0].Met; (shown || pair) != want {
			t.Errorf("%s: corroborated %t, but the checks are %+v", name, want, s.trustChecks(quotes, s.p))
		}
	}

	f("nothing", false)
	f("one", true, pool(4, deep, none))
	f("one just deep enough", true, pool(4, 50_000, none))
	f("one not deep enough", false, pool(4, math.Nextafter(50_000, 0), none))
	f("one just old enough", true, pool(4, deep, func(p *market.Pool) { p.CreatedAt = testNow - 7*market.Day }))
	f("one a second too young", false, pool(4, deep, func(p *market.Pool) { p.CreatedAt = testNow - 7*market.Day + 1 }))
	f("one with just enough swaps", true, pool(4, deep, func(p *market.Pool) { p.Swaps = 100 }))
	f("one with a swap too few", false, pool(4, deep, func(p *market.Pool) { p.Swaps = 99 }))
	f("one of which others have enough", true, pool(4, deep, func(p *market.Pool) { p.Others = 10 }))
	f("one of which others have less", false, pool(4, deep, func(p *market.Pool) { p.Others = 9 }))
	f("one with a hook", false, pool(4, deep, func(p *market.Pool) { p.Hooks[19] = afterSwap }))

	f("two that agree", true, pool(4, 5000, few), pool(4.1, 5000, few))
	f("two that are too thin", false, pool(4, 5000, few), pool(4.1, 4999.999, few))
	f("two on the bound", true, pool(4, 5000, few), pool(4*(1+5.0/100), 5000, few))
	f("two beyond it", false, pool(4, 5000, few), pool(math.Nextafter(4*(1+5.0/100), 5), 5000, few))
	f("two of which one has a hook", false, pool(4, 5000, few),
		pool(4.1, 5000, func(p *market.Pool) { p.Swaps, p.Hooks[19] = 0, beforeSwap }))
	f("the first has it", false, pool(4, 5000, func(p *market.Pool) { p.Swaps, p.Hooks[19] = 0, beforeSwap }),
		pool(4.1, 5000, few))
	f("the last two of three", true, pool(4, 9000, few), pool(5, 5000, few), pool(5.1, 5000, few))
	f("the outer two of three", true, pool(4, 9000, few), pool(4.1, 10, few), pool(4.2, 1000, few))
	f("the deepest agrees with none", false, pool(4, 9999, few), pool(5, 4000, few), pool(5.1, 4000, few))
}

// TestPriceIsANumber: quotes of what no float holds, or that came to nothing, make no
// price.
func TestPriceIsANumber(t *testing.T) {
	w := newWorld()
	token, pool := w.honest()
	s := w.solverOf()
	s.priceAnchors()
	for _, usd := range []float64{0, math.Inf(1), market.Unknown} {
		price := unpriced(market.ReasonThinMarket)
		s.setPrice(token, &price, []quote{{token: token, pool: pool, by: w.usd, usd: usd, weight: 1e6}})
		if market.Known(price.Usd) || price.Source != market.SourceNone || price.Markets != 0 ||
			price.Reason != market.ReasonThinMarket || price.Corroborated {
			t.Errorf("of %g: %+v", usd, price)
		}
	}
}

// TestFeedBounds: an answer counts up to its age, on either side of now, and if it is
// above 0.
func TestFeedBounds(t *testing.T) {
	f := func(usd float64, ago int64, counts bool) {
		t.Helper()
		w := newWorld()
		token := w.token(9, 18)
		w.feed = []FeedPrice{{Token: w.address(token), Usd: usd, AsOf: testNow - ago}}
		p := w.state().Prices.At(token)
		if market.Known(p.Usd) != counts || counts && (p.Usd != usd || p.AsOf != testNow-ago || p.ExitUsd != 0) {
			t.Errorf("%g, %d seconds ago: %+v", usd, ago, *p)
		}
	}

	f(3, 600, true)
	f(3, 601, false)
	f(3, -600, true)
	f(3, -601, false)
	f(1e-9, 0, true)
	f(0, 0, false)
	f(-1, 0, false)
}

// TestBacking: the markets against a token weigh together what that token can be sold
// for, each by its part; anchors back any depth.
func TestBacking(t *testing.T) {
	f := func(exit float64, want ...float64) {
		t.Helper()
		w := newWorld()
		paper, other := w.token(9, 18), w.token(10, 18)
		s := w.solverOf()
		s.priceAnchors()
		s.exit[paper], s.exit[other] = exit, 70
		quotes := []quote{
			{by: paper, reach: 100, weight: 100}, {by: w.usd, reach: 1e9, weight: 1e9, byAnchor: true},
			{by: paper, reach: 300, weight: 300}, {by: other, reach: 50, weight: 50},
		}
		for range 2 { // nothing is left of the first time
			s.limitByBacking(quotes)
			for i := range quotes {
				if quotes[i].weight != want[i] {
					t.Errorf("exit %g: weight %d is %g; want %g", exit, i, quotes[i].weight, want[i])
				}
			}
		}
		s.p.BackedQuotes = false
		quotes[0].weight = 100
		if s.limitByBacking(quotes); quotes[0].weight != 100 {
			t.Errorf("the rule is off, and the weight is %g", quotes[0].weight)
		}
	}

	f(200, 50, 1e9, 150, 50)
	f(400, 100, 1e9, 300, 50)
	f(399, 99.75, 1e9, 299.25, 50)
	f(0, 0, 1e9, 0, 50)
}

// TestMissingReason: of several markets the one that came nearest says why there is no
// price.
func TestMissingReason(t *testing.T) {
	thin, stale := market.ReasonThinMarket, market.ReasonStalePrice
	hook, quarantined := market.ReasonHookDelta, market.ReasonQuarantined
	f := func(want market.Reason, bars ...market.Reason) {
		t.Helper()
		var quotes []quote
		for _, bar := range bars {
			quotes = append(quotes, quote{bar: bar})
		}
		if got := missingReason(quotes); got != want {
			t.Errorf("of %v: %d; want %d", bars, got, want)
		}
	}

	f(market.ReasonNoMarket)
	f(thin, market.ReasonNone)
	f(thin, stale, thin)
	f(thin, thin, stale)
	f(stale, hook, stale)
	f(stale, stale, hook)
	f(hook, hook, quarantined)
	f(hook, quarantined, hook)
	f(market.ReasonNoMarket, quarantined)
}

// TestInRange: a range has its lower tick and not its upper one.
func TestInRange(t *testing.T) {
	f := func(below, above int32, want bool) {
		t.Helper()
		m := measured(func(w *world, p *market.Position) {
			tick := w.pools.At(p.Pool).Tick
			p.TickLower, p.TickUpper = tick-below, tick+above
			w.ranges[p.Pool] = append(w.ranges[p.Pool], span{p.TickLower, p.TickUpper, approx128(p.Liquidity())})
		})
		if m.InRange != want || !m.Open {
			t.Errorf("from %d below the tick to %d above: in range %t", below, above, m.InRange)
		}
	}

	f(0, 1, true)
	f(5, 1, true)
	f(5, 0, false)
	f(-1, 5, false)
}

// TestNeededPrices: a leg without a price matters to a closed row when any of its
// amounts is of it. Its price is missing in any case, and has a reason.
func TestNeededPrices(t *testing.T) {
	f := func(name string, leg int, want bool, set func(p *market.Position)) {
		t.Helper()
		m := measured(func(_ *world, p *market.Position) {
			closed(p)
			legs := [2]market.ClosePrice{p.Close(0), p.Close(1)}
			legs[leg] = market.ClosePrice{Usd: market.Unknown, Reason: market.ReasonStalePrice}
			*p = market.Position{
				Pool: p.Pool, Overflow: p.Overflow, MintedAt: p.MintedAt, ClosedAt: p.ClosedAt,
				CloseNativeUsd: p.CloseNativeUsd,
			}
			p.SetClose(legs)
			set(p)
		})
		if m.PriceUnavailable != want || m.Reason != market.ReasonStalePrice {
			t.Errorf("%s of leg %d: %+v", name, leg, m.Figures)
		}
	}

	one := u128(1)
	for leg := range 2 {
		f("nothing", leg, false, func(*market.Position) {})
		f("a deposit of 0", leg, leg == 0, func(p *market.Position) { p.Deposited0 = one })
		f("a deposit of 1", leg, leg == 1, func(p *market.Position) { p.Deposited1 = one })
		f("a withdrawal of 0", leg, leg == 0, func(p *market.Position) { p.Withdrawn0 = one })
		f("a withdrawal of 1", leg, leg == 1, func(p *market.Position) { p.Withdrawn1 = one })
		f("fees of 0", leg, leg == 0, func(p *market.Position) { p.Collected0 = one })
		f("fees of 1", leg, leg == 1, func(p *market.Position) { p.Collected1 = one })
	}
}

// TestReasonOfCost: a row whose flows were not all worth something known has no pnlCostUsd,
// and a reason; one without a receipt lacks its gas too, for which there is none.
func TestReasonOfCost(t *testing.T) {
	f := func(want market.Reason, set func(p *market.Position)) {
		t.Helper()
		m := measured(func(_ *world, p *market.Position) { set(p) })
		if m.Reason != want || m.PriceUnavailable {
			t.Errorf("%+v; want reason %v", m.Figures, want)
		}
	}

	f(market.ReasonNone, func(*market.Position) {})
	f(market.ReasonNoMarket, func(p *market.Position) { p.CostUsd = market.Unknown })
	f(market.ReasonNone, func(p *market.Position) { p.CostUsd, p.GasUnknown = market.Unknown, true })
}

// TestClaimsOfOneLeg: of an open row a principal, or fees, of a leg without a price are
// missed; a leg of which it has nothing is not.
func TestClaimsOfOneLeg(t *testing.T) {
	f := func(name string, change func(w *world, p *market.Position), unavailable bool) {
		t.Helper()
		m := measured(func(w *world, p *market.Position) {
			p.Deposited0 = u128(0)
			w.pools.Mut(p.Pool).LastSwapAt = 0
			p.TickLower, p.TickUpper = -887220, w.pools.At(p.Pool).Tick // token 1 alone
			w.ranges[p.Pool] = append(w.ranges[p.Pool], span{p.TickLower, p.TickUpper, approx128(p.Liquidity())})
			change(w, p)
		})
		if m.PriceUnavailable != unavailable || market.Known(m.PnlUsd) == unavailable {
			t.Errorf("%s: %+v", name, m.Figures)
		}
	}

	f("token 1 alone", func(*world, *market.Position) {}, false)
	f("fees of token 0", func(_ *world, p *market.Position) {
		p.FeeGrowthInside0LastX128 = *new(clmath.U256).Neg(&clmath.U256{0, 1})
	}, true)
	f("fees of token 1", func(_ *world, p *market.Position) {
		p.FeeGrowthInside1LastX128 = *new(clmath.U256).Neg(&clmath.U256{0, 1})
	}, false)
	f("a tick higher", func(w *world, p *market.Position) {
		p.TickUpper++
		w.ranges[p.Pool] = append(w.ranges[p.Pool], span{p.TickLower, p.TickUpper, approx128(p.Liquidity())})
	}, true)
}

// TestGasOfAClosedPosition: if the native currency had no price when a position closed,
// the row says why its PnL is missing, whatever the price of now.
func TestGasOfAClosedPosition(t *testing.T) {
	f := func(nativeUsd float64, reason market.Reason) {
		t.Helper()
		m := measured(func(_ *world, p *market.Position) {
			closed(p)
			p.CloseNativeUsd = nativeUsd
		})
		if market.Known(m.PnlUsd) != market.Known(nativeUsd) || m.Reason != reason || m.PriceUnavailable {
			t.Errorf("at %v: %+v", nativeUsd, m.Figures)
		}
	}
	f(3000, market.ReasonNone)
	f(market.Unknown, market.ReasonNoMarket)
}

// TestGasWithoutANative: a chain whose native currency is not known yet has no USD of
// gas, as a currency without a market.
func TestGasWithoutANative(t *testing.T) {
	w := newWorld()
	_, pool := w.honest()
	i := w.openWhole(pool, 100)
	w.positions.Mut(i).GasWei = u128(1e18)
	st := w.state()
	st.Native = market.NoIndex

	var m Metrics
	Position(st, i, &m)
	if market.Known(m.GasUsd) || market.Known(m.NativeUsd) || market.Known(m.PnlUsd) ||
		m.Reason != market.ReasonNoMarket || m.PriceUnavailable || !near(m.UnderlyingValueUsd, 800, 1e-9) {
		t.Errorf("%+v", m)
	}
	if e := Explain(st, &w.params, nil, i); len(e.Prices) != 2 || e.Prices[0].Token != st.Pools.At(pool).Currency0 {
		t.Errorf("explained by %+v", e.Prices)
	}
}

// TestDustHasNoExit: a claim counts nothing where there is no way out, however small.
func TestDustHasNoExit(t *testing.T) {
	m := measured(func(w *world, p *market.Position) {
		token := w.pools.At(p.Pool).Currency0
		w.feed = []FeedPrice{{Token: w.address(token), Usd: 4, AsOf: testNow}}
		w.ranges[p.Pool] = nil
		*p = *w.positions.At(w.openWhole(p.Pool, 0.01))
		p.ID = 1
	})
	if m.Unrealizable != [2]bool{true, false} || m.Reason != market.ReasonUnrealizable {
		t.Errorf("%+v", m.Figures)
	}
	mustNear(t, "V", m.UnderlyingValueUsd, 0.04, 1e-9)
}

// TestChecksShowNumbers: what stands against a threshold is a number or unknown, and
// what is unknown does not meet it.
func TestChecksShowNumbers(t *testing.T) {
	f := func(have, shown float64, atLeastMet, atMostMet bool) {
		t.Helper()
		for _, c := range []struct {
			Check
			met bool
		}{{atLeast("x", have, 5), atLeastMet}, {atMost("x", have, 5), atMostMet}} {
			mustNear(t, "have", c.Have, shown, 0)
			if c.Met != c.met || c.Name != "x" || c.Want != 5 {
				t.Errorf("%g: %+v; want it met: %t", have, c.Check, c.met)
			}
		}
	}

	f(4, 4, false, true)
	f(5, 5, true, true)
	f(6, 6, true, false)
	f(math.Inf(1), market.Unknown, false, false)
	f(market.Unknown, market.Unknown, false, false)
}

// TestNearQuotes: a quote is near a price if it is off by no more than its outlier, in
// percent and either way; one whose outlier is 0 always is. The order stays.
func TestNearQuotes(t *testing.T) {
	f := func(usd, outlier float64, near bool) {
		t.Helper()
		if got := len(keepNear([]quote{{usd: usd, outlier: outlier}}, 100)) == 1; got != near {
			t.Errorf("%g with an outlier of %g %% is near 100: %t", usd, outlier, got)
		}
	}

	f(100, 25, true)
	f(75, 25, true)
	f(74.99, 25, false)
	f(125, 25, true)
	f(125.01, 25, false)
	f(101, 1, true)
	f(102, 1, false)
	f(98, 1, false)
	f(100, 0, true)
	f(1, 0, true)
	f(1e6, 0, true)

	quotes := []quote{{usd: 60, outlier: 50}, {usd: 70, outlier: 10}, {usd: 90}, {usd: 120, outlier: 50}}
	kept := keepNear(quotes, 100)
	if len(kept) != 3 || kept[0].usd != 60 || kept[1].usd != 90 || kept[2].usd != 120 {
		t.Errorf("kept %+v", kept)
	}
}
