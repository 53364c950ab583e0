package value

import (
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// honest adds a token at 4 USD with a market that corroborates it alone: 200
// thousand USD a side, a month old, a thousand swaps.
func (w *world) honest() (token, pool uint32) {
	token = w.token(50, 18)
	return token, w.poolFull(token, w.usd, 4, 200_000)
}

// mint makes an attacker's token and a market of it against USD at a price,
// with real USD enough to price it and too little to corroborate it.
func (w *world) mint(number byte, price float64) (token, pool uint32) {
	token = w.token(number, 18)
	pool = w.pool(token, w.usd, price)
	root := approx(&w.pools.At(pool).SqrtPriceX96) / two96
	w.around(pool, 1000, 1000, 120_000e18/root)
	return token, pool
}

// oneSided opens a position of token0 alone, above the price of its pool.
func (w *world) oneSided(pool uint32, tokens float64) uint32 {
	tick := w.pools.At(pool).Tick
	lower, upper := tick+10, tick+2000
	below, above := clmath.SqrtPriceAtTick(lower), clmath.SqrtPriceAtTick(upper)
	i := w.open(pool, lower, upper, tokens*1e18/(two96/approx(&below)-two96/approx(&above)))
	w.positions.Mut(i).Deposited0 = u128(1e18)
	return i
}

// TestAttacks shows of every attack first that it works with its rule
// switched off, and then that the rule, and nothing else, stops it. To work
// is to stand in a default ranking with more than a million USD of value or
// profit: the token not risky, the number there, the pool's TVL high enough.
func TestAttacks(t *testing.T) {
	f := func(name string, attack func(w *world) (position uint32), off func(p *Params)) {
		t.Helper()
		works := func(off func(*Params)) bool {
			w := newWorld()
			i := attack(w)
			off(&w.params)
			st := w.state()
			var m Metrics
			Position(st, i, &m)
			stats := Stats(st, st.Positions.At(i).Pool)
			shown := !m.Risky && stats.TVLUsd >= 1000
			return shown && (m.UnderlyingValueUsd > 1e6 || m.PnlUsd > 1e6)
		}
		if !works(off) {
			t.Errorf("%s: does not work with its rule off, so shows nothing", name)
		}
		if works(func(*Params) {}) {
			t.Errorf("%s: works", name)
		}
	}

	f("wash trading", func(w *world) uint32 {
		_, pool := w.mint(60, 4)
		w.pools.Mut(pool).Swaps = 1_000_000
		i := w.open(pool, -1000, 30_000, 1e21)
		p := w.positions.Mut(i)
		p.Deposited1, p.Collected0 = u128(100e18), u128(1e27) // fees that cost nothing
		return i
	}, func(p *Params) { p.LoneUsd = 0 })

	f("a needle-thin range", func(w *world) uint32 {
		token := w.token(60, 18)
		pool := w.pool(token, w.usd, 4)
		w.around(pool, 1, 1, 1e25) // some hundred USD that look like millions
		return w.oneSided(w.poolFull(token, w.usd, 4, 100), 1e9)
	}, func(p *Params) { p.RealTicks, p.ExitLimit = false, false })

	f("the price pushed at the refresh's block", func(w *world) uint32 {
		token, pool := w.honest()
		i := w.openWhole(w.poolFull(token, w.eth, 0.002, 1), 500)
		w.push(pool, 4*1000)
		return i
	}, func(p *Params) { p.MedianMinutes = 1 })

	f("two pools of the attacker's tokens that corroborate each other", func(w *world) uint32 {
		paper, _ := w.mint(60, 1)
		token := w.token(61, 18)
		w.poolFull(token, paper, 1, 1e9)
		w.poolFull(token, paper, 1, 2e9)
		return w.oneSided(w.poolFull(token, w.usd, 1, 100), 1e8)
	}, func(p *Params) { p.TrustedQuotes, p.BackedQuotes = false, false })

	f("a claim of 10^15", func(w *world) uint32 {
		token, _ := w.honest()
		return w.oneSided(w.poolFull(token, w.usd, 4, 100), 1e15)
	}, func(p *Params) { p.ExitLimit = false })

	f("dust anchors", func(w *world) uint32 {
		i := w.openWhole(0, 10) // 20 thousand USD of the native currency
		for range 2 {
			w.poolFull(w.eth, w.usd, 1_000_000, 50)
		}
		return i
	}, func(p *Params) { p.MarketUsd = 0 })

	f("donated fees", func(w *world) uint32 {
		token, _ := w.honest()
		pool := w.poolFull(token, w.usd, 4, 1)
		i := w.openWhole(pool, 1_000)
		w.pools.Mut(pool).FeeGrowthGlobal0X128 = clmath.U256{0, 0, 1e9} // 10^9 TIDE per unit
		return i
	}, func(p *Params) { p.ExitLimit = false })

	f("a fee hook", func(w *world) uint32 {
		token := w.token(60, 18)
		pool := w.poolFull(token, w.usd, 1000, 5_000_000)
		w.pools.Mut(pool).Hooks = market.Address{19: afterSwapDelta} // keeps what comes out
		return w.oneSided(w.poolFull(token, w.usd, 1000, 100), 2_000)
	}, func(p *Params) { p.HookAllow = []market.Address{{19: afterSwapDelta}} })

	f("a market made for the moment", func(w *world) uint32 {
		token := w.token(60, 18)
		pool := w.poolFull(token, w.usd, 1000, 5_000_000)
		w.pools.Mut(pool).CreatedAt = testNow - market.Hour
		return w.oneSided(w.poolFull(token, w.usd, 1000, 100), 2_000)
	}, func(p *Params) { p.MarketAge, p.LoneAge = 0, 0 })
}

// TestAttackRulesHoldAlone switches off one of two rules that stop the same.
func TestAttackRulesHoldAlone(t *testing.T) {
	f := func(name string, off func(p *Params)) {
		t.Helper()
		w := newWorld()
		paper, _ := w.mint(60, 1)
		token := w.token(61, 18)
		w.poolFull(token, paper, 1, 1e9)
		w.poolFull(token, paper, 1, 2e9)
		off(&w.params)
		if p := w.state().Prices.At(token); p.Corroborated {
			t.Errorf("%s: corroborated: %+v", name, *p)
		}
	}

	f("paper is backed", func(p *Params) { p.TrustedQuotes = false })
	f("paper is not trusted", func(p *Params) { p.BackedQuotes = false })
}

// TestSecondTokenIsNoWitness: a pair corroborates only when both of its markets
// are against tokens that are trusted themselves. One's own second token can be
// sold for money, but nobody else believes in it.
func TestSecondTokenIsNoWitness(t *testing.T) {
	f := func(name string, second func(w *world) uint32, first, other float64, trusted bool) {
		t.Helper()
		w := newWorld()
		token := w.token(61, 18)
		w.pools.Mut(w.poolFull(token, w.usd, 4, first)).Swaps = 10
		w.pools.Mut(w.poolFull(token, second(w), 4.1, other)).Swaps = 10
		price := w.state().Prices.At(token)
		if price.Markets != 2 || price.Corroborated != trusted {
			t.Errorf("%s: %+v", name, *price)
		}
	}

	own := func(w *world) uint32 {
		paper := w.token(60, 18)
		w.pools.Mut(w.poolFull(paper, w.usd, 1, 200_000)).Swaps = 10
		return paper
	}
	believed := func(w *world) uint32 {
		paper := own(w)
		w.poolFull(paper, w.usd, 1, 200_000)
		return paper
	}
	f("one's own", own, 120_000, 120_000, false)
	f("one's own, and more of it", own, 120_000, 200_000, false)
	f("one that others believe in", believed, 120_000, 120_000, true)
	f("a stable", func(w *world) uint32 { return w.usd }, 120_000, 120_000, true)
}

// TestOwnPoolIsNoWitness: a leg that nothing but the position's pool prices
// is unknown, unless that pool alone corroborates the token.
func TestOwnPoolIsNoWitness(t *testing.T) {
	f := func(name string, swaps uint64, other float64, unavailable bool, reason market.Reason) {
		t.Helper()
		w := newWorld()
		token, pool := w.honest()
		w.pools.Mut(pool).Swaps = swaps
		i := w.openWhole(pool, 100)
		if other > 0 {
			w.pools.Mut(w.poolFull(token, w.usd, other, 190_000)).Swaps = swaps
		}
		var m Metrics
		Position(w.state(), i, &m)
		if m.PriceUnavailable != unavailable || m.Reason != reason ||
			market.Known(m.UnderlyingValueUsd) == unavailable {
			t.Errorf("%s: %+v", name, m.Figures)
		}
	}

	f("alone and not enough", 99, 0, true, market.ReasonOwnPoolOnly)
	f("alone and enough", 100, 0, false, market.ReasonNone)
	f("with another that agrees", 99, 4.3, false, market.ReasonNone)
	f("with another that does not", 99, 4.6, true, market.ReasonUncorroborated)
	f("enough, with another that does not", 100, 4.6, false, market.ReasonNone)
}

// TestContradictedPool: where two markets contradict each other, positions of
// the one that decides the price have none, those of the other do; and a price
// that is held keeps the reason.
func TestContradictedPool(t *testing.T) {
	w := newWorld()
	w.params.LoneHolder = 0
	token, pool := w.honest()
	other := w.poolFull(token, w.usd, 5, 150_000)
	for _, p := range []uint32{pool, other} {
		w.pools.Mut(p).Swaps = 10
	}
	inside, outside := w.openWhole(pool, 100), w.openWhole(other, 100)

	f := func(when string) {
		t.Helper()
		st := w.state()
		var m Metrics
		Position(st, inside, &m)
		if market.Known(m.Price[0].Usd) || m.Price[0].Reason != market.ReasonUncorroborated ||
			m.Reason != market.ReasonUncorroborated || !m.PriceUnavailable {
			t.Errorf("%s, in the pool that decides: %+v", when, m)
		}
		Position(st, outside, &m)
		if m.Price[0].Usd != st.Prices.At(token).Usd || m.Price[0].Reason != market.ReasonNone ||
			m.PriceUnavailable {
			t.Errorf("%s, in the other pool: %+v", when, m)
		}
		if legs := PoolPrices(st, st.Pools.At(pool)); legs[0].Reason != market.ReasonNone {
			t.Errorf("%s: the pool's own row has %+v", when, legs[0])
		}
	}

	f("new")
	w.pass(1)
	for _, p := range []uint32{pool, other} {
		w.ranges[p] = w.ranges[p][1:] // next to nothing is left to trade with
	}
	f("held")
}

// TestProvenMarketIsNotContradicted: a market that corroborates its token alone prices
// its own positions too, whatever another one says.
func TestProvenMarketIsNotContradicted(t *testing.T) {
	w := newWorld()
	token, pool := w.honest()
	other := w.poolFull(token, w.usd, 5, 150_000)
	w.pools.Mut(other).Swaps = 10

	for _, p := range []uint32{pool, other} {
		i, st := w.openWhole(p, 100), w.state()
		var m Metrics
		Position(st, i, &m)
		price := st.Prices.At(token)
		if m.Price[0].Usd != price.Usd || m.PriceUnavailable || price.Markets != 1 || !price.Corroborated {
			t.Errorf("in pool %d: %+v, of %+v", p, m.Price[0], price)
		}
	}
}
