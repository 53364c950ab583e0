package value

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"tidemark/rankings/market"
)

// pass takes the world to the beginning of an hour, so many after now, and
// keeps what it holds as a ledger would.
func (w *world) pass(hours int64) {
	st := w.state()
	begun := new(Pricer).beginHour(st, &w.params, w.feed, market.HourOf(w.now)+uint32(hours))
	for i := range begun.Prices {
		p, t := &begun.Prices[i], w.tokens.Mut(uint32(i))
		t.HourUsd, t.HourAsOf, t.HourOnlyPool, t.HourMarkets = p.Usd, p.AsOf, p.OnlyPool, p.Markets
		t.HourSource, t.HourReason, t.HourExitUsd = p.Source, p.Reason, p.ExitUsd
		t.HourCorroborated, t.PriceLostAt, t.TrustLostAt = p.Corroborated, p.PriceLostAt, p.TrustLostAt
	}

	for _, held := range begun.Pools {
		pool := w.pools.Mut(held.Pool)
		pool.Held = held.Held
	}

	w.now = int64(market.HourOf(w.now)+uint32(hours)) * market.Hour
	for i := range w.pools.Len() {
		w.pools.Mut(i).LastSwapAt = w.now - market.Minute
	}
}

// deep sets how much USD a side of an honest market has.
func (w *world) deep(pool uint32, usd float64) {
	w.ranges[pool][0].liquidity = usd * 1e18 / 2 // sqrt of 4 USD
}

func TestSlack(t *testing.T) {
	f := func(name string, usd float64, held, priced, trusted bool) {
		t.Helper()
		w := newWorld()
		w.params.LoneHolder = 0 // nobody is known to own anything here
		token, pool := w.honest()
		if held {
			w.pass(1)
		}
		w.deep(pool, usd)
		if held {
			w.pass(1) // the first hour that sees it
			w.params.HoldTime = 0
		}
		p := w.state().Prices.At(token)
		if market.Known(p.Usd) != priced || p.Corroborated != trusted {
			t.Errorf("%s: %+v", name, *p)
		}
	}

	f("all that is asked, new", 200_000, false, true, true)
	f("half of lone-usd, new", 50_000, false, false, false) // 505 USD within 2 %
	f("enough to price, new", 110_000, false, true, true)
	f("enough to price and not to be trusted, new", 73_000, false, false, false)
	f("half of lone-usd, held", 50_000, true, true, true)
	f("less than half of lone-usd, held", 36_000, true, true, false)
	f("half of market-usd, held", 26_000, true, true, false)
	f("less than half of it, held", 20_000, true, false, false)
}

func TestGrace(t *testing.T) {
	w := newWorld()
	w.params.LoneHolder = 0
	token, pool := w.honest()
	w.pass(1)
	held := *w.state().Prices.At(token)
	w.deep(pool, 10)
	w.push(pool, 5)

	for hour := range 9 {
		st := w.state()
		p := st.Prices.At(token)
		// Lost within the hour that began with it, and so for the six after it.
		if want := hour <= 6; market.Known(p.Usd) != want || p.Corroborated != want {
			t.Errorf("after %d hours: %+v", hour, *p)
		} else if want && (p.Usd != held.Usd || p.Source != held.Source || p.Markets != 0) {
			t.Errorf("after %d hours: %+v; held is %+v", hour, *p, held)
		}
		if p.ExitUsd > 20 {
			t.Errorf("after %d hours there is a way out of %v", hour, p.ExitUsd)
		}

		// Within the hour nothing changes, however often it is asked.
		w.now += 59 * market.Minute
		if again := w.state().Prices.At(token); market.Known(again.Usd) != market.Known(p.Usd) {
			t.Errorf("after %d hours and 59 minutes: %+v", hour, *again)
		}
		w.now -= 59 * market.Minute
		w.pass(1)
	}
	if got := w.pools.At(pool).Held; got != [2]uint32{} {
		t.Errorf("a market that is gone is held: %v", got)
	}
}

// TestGraceEndsWithTheMarket: one that comes back within the grace is asked
// for no more than before; one that comes back later is new.
func TestGraceEndsWithTheMarket(t *testing.T) {
	f := func(hours int64, priced bool) {
		t.Helper()
		w := newWorld()
		token, pool := w.honest()
		w.pass(1)
		w.deep(pool, 10)
		for range hours {
			w.pass(1)
		}
		w.deep(pool, 60_000) // 600 USD within 2 %
		w.pass(1)
		if p := w.state().Prices.At(token); market.Known(p.Usd) != priced || priced && p.Markets != 1 {
			t.Errorf("after %d hours: %+v", hours, *p)
		}
	}

	f(0, true)
	f(1, true)
	f(5, true)
	f(7, false)
}

// TestHoldOverAGap: hours in which no block came are not counted one by one,
// and come to the same.
func TestHoldOverAGap(t *testing.T) {
	f := func(steps []int64, priced bool) {
		t.Helper()
		w := newWorld()
		token, pool := w.honest()
		w.pass(1)
		w.deep(pool, 10)
		for _, hours := range steps {
			w.pass(hours)
		}
		if p := w.state().Prices.At(token); market.Known(p.Usd) != priced {
			t.Errorf("%v: %+v", steps, *p)
		}
	}

	f([]int64{1, 1, 1, 1, 1, 1}, true)
	f([]int64{6}, true)
	f([]int64{2, 4}, true)
	f([]int64{1, 1, 1, 1, 1, 1, 1}, false)
	f([]int64{7}, false)
	f([]int64{100}, false)
}

// TestStableLosesItsPegAtOnce: what was an anchor is not held as one.
func TestStableLosesItsPegAtOnce(t *testing.T) {
	w := newWorld()
	w.params.LoneHolder = 0
	usdt := w.token(3, 6)
	w.params.Stables = append(w.params.Stables, w.address(usdt))

	pool := w.poolFull(usdt, w.usd, 1, 1_000_000)
	w.pools.Mut(pool).Swaps = 10 // too few to be trusted as a token
	w.pass(1)
	w.push(pool, 0.9)
	*w.minutes.Mut(pool) = market.Minutes{}
	w.closeAt(pool, w.now-2*market.Hour, 0.9)
	if p := w.state().Prices.At(usdt); p.Anchor || p.Corroborated || math.Abs(p.Usd-0.9) > 1e-9 {
		t.Errorf("%+v", *p)
	}
}

// TestHolders counts what others than the largest holder have in range.
func TestHolders(t *testing.T) {
	f := func(name string, want uint8, mine, theirs, sender float64) {
		t.Helper()
		w := newWorld()
		_, pool := w.honest()
		w.ranges[pool] = nil
		var senders market.Table[market.NonNFT]
		for range 3 {
			w.open(pool, -1000, 100_000, mine/3)
		}
		if theirs > 0 {
			w.positions.Mut(w.open(pool, -1000, 100_000, theirs)).Owner = 7
		}
		for range 2 {
			if sender > 0 {
				w.ranges[pool] = append(w.ranges[pool], span{-1000, 100_000, sender / 2})
				senders.Append(market.NonNFT{
					Pool: pool, Sender: market.Address{9}, TickLower: -1000, TickUpper: 100_000, Liquidity: u128(sender / 2),
				})
			}
		}
		w.positions.Mut(w.open(pool, 50_000, 60_000, 1e27)).Owner = 8 // out of range
		st := w.state()
		st.NonNFT = senders.Freeze()
		if got := new(Pricer).countOthers(st, &w.params)[pool]; got != want {
			t.Errorf("%s: others have %d %%; want %d", name, got, want)
		}
	}
	f("one holder", 0, 9e21, 0, 0)
	f("nine tenths", 10, 9e21, 1e21, 0)
	f("a little more", 9, 9.1e21, 0.9e21, 0)
	f("three", 40, 3e21, 1e21, 6e21)
	f("a sender in two ranges", 10, 0.5e21, 0.5e21, 9e21)
	f("nobody has half", 50, 4e21, 3e21, 3e21)

	asked := func(name string, want uint8, change func(p *market.Pool, limits *Params)) {
		t.Helper()
		w := newWorld()
		_, pool := w.honest()
		limits := w.params.relaxed()
		change(w.pools.Mut(pool), limits)
		if got := new(Pricer).countOthers(w.state(), limits)[pool]; got != want {
			t.Errorf("%s: others have %d %%; want %d", name, got, want)
		}
	}
	asked("swapped enough", 50, func(p *market.Pool, _ *Params) { p.Swaps = 50 })
	asked("swapped too little", 0, func(p *market.Pool, _ *Params) { p.Swaps = 49 })
	asked("old enough", 50, func(p *market.Pool, l *Params) { p.CreatedAt = testNow - l.LoneAge })
	asked("too young", 0, func(p *market.Pool, l *Params) { p.CreatedAt = testNow - l.LoneAge + 1 })
	asked("nobody asks", 0, func(_ *market.Pool, l *Params) { l.LoneHolder = 0 })
}

// TestLoneHolder: a market of one holder prices and corroborates nothing
// alone; with another market it may.
func TestLoneHolder(t *testing.T) {
	f := func(others uint8, second, trusted bool) {
		t.Helper()
		w := newWorld()
		token, pool := w.honest()
		w.pools.Mut(pool).Others = others
		if second {
			w.pools.Mut(w.poolFull(token, w.usd, 4.1, 200_000)).Others = others
		}
		if p := w.state().Prices.At(token); !market.Known(p.Usd) || p.Corroborated != trusted {
			t.Errorf("%d %%, %v: %+v", others, second, *p)
		}
	}

	f(0, false, false)
	f(9, false, false)
	f(10, false, true)
	f(0, true, true)
}

// TestSwapHooksAreNoWitness of a token, unless they are listed.
func TestSwapHooksAreNoWitness(t *testing.T) {
	f := func(permissions byte, listed, trusted bool) {
		t.Helper()
		w := newWorld()
		token, pool := w.honest()
		w.pools.Mut(pool).Hooks = market.Address{19: permissions}
		if listed {
			w.params.HookAllow = []market.Address{{19: permissions}}
		}
		if p := w.state().Prices.At(token); !market.Known(p.Usd) || p.Corroborated != trusted {
			t.Errorf("%x, %v: %+v", permissions, listed, *p)
		}
	}

	f(1<<5, false, true)
	f(1<<6, false, false)
	f(1<<7, false, false)
	f(1<<7, true, true)
}

// TestRelaxed: every minimum is divided and every maximum multiplied by the slack;
// what is no threshold stays.
func TestRelaxed(t *testing.T) {
	p := Params{
		HoldSlack: 2, MarketUsd: 100, MarketImpact: 10, MarketRecency: 60, MarketAge: 40, Outlier: 20,
		PairAgree: 5, PairUsd: 1000, LoneUsd: 5000, LoneAge: 600, LoneSwaps: 101, LoneHolder: 45,
		MedianMinutes: 9, NativePools: 3, Peg: 2, PegTime: 11, HoldTime: 12, FeedMaxAge: 13,
	}
	want := p
	want.MarketUsd, want.MarketImpact, want.MarketRecency, want.MarketAge, want.Outlier = 50, 20, 120, 20, 40
	want.PairAgree, want.PairUsd = 10, 500
	want.LoneUsd, want.LoneAge, want.LoneSwaps, want.LoneHolder = 2500, 300, 51, 90
	if got := p.relaxed(); fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v\nwant %+v", *got, want)
	}

	p.MarketImpact, p.HoldSlack = 60, 0 // a slack below 1 is none
	if got := p.relaxed(); got.MarketImpact != 60 || got.MarketUsd != 100 || got.LoneSwaps != 101 {
		t.Errorf("without slack: %+v", *got)
	}
	p.HoldSlack = 2
	if got := p.relaxed(); got.MarketImpact != maxImpact {
		t.Errorf("a price may fall by %v %%", got.MarketImpact)
	}
}

// TestSharesInRange: liquidity counts from its lower tick on and up to its upper
// tick, of positions and of other senders alike.
func TestSharesInRange(t *testing.T) {
	w := newWorld()
	_, pool := w.honest()
	tick := w.pools.At(pool).Tick
	var senders market.Table[market.NonNFT]
	for i, s := range []span{{tick, tick + 1, 1e18}, {tick - 9, tick, 2e18}, {tick + 1, tick + 9, 4e18}, {tick - 9, tick + 9, 8e18}} {
		w.open(pool, s.lower, s.upper, s.liquidity)
		senders.Append(market.NonNFT{
			Pool: pool, Sender: market.Address{byte(i)}, TickLower: s.lower, TickUpper: s.upper, Liquidity: u128(16 * s.liquidity),
		})
	}
	st := w.state()
	st.NonNFT = senders.Freeze()

	var k Pricer
	k.listRows(st)
	k.appendShares(st, pool)
	sum := 0.0
	for _, s := range k.shares {
		sum += s.liquidity
	}
	mustNear(t, "liquidity in range", sum, 17*9e18, 1e-9)
}

// TestGraceBounds: what is lost since an hour holds for the hold time, to the second;
// without one it does not hold at all.
func TestGraceBounds(t *testing.T) {
	const hour = uint32(testNow / market.Hour)
	f := func(holdTime, seconds int64, want bool) {
		t.Helper()
		w := newWorld()
		w.params.HoldTime, w.now = holdTime, testNow+seconds
		s := w.solverOf()
		if got := s.inGrace(hour); got != want {
			t.Errorf("%d of %d seconds after the hour began it holds: %t", seconds, holdTime, got)
		}

		// A market that misses its thresholds is held from the hour on in which that is seen.
		for was, now := range map[uint32]uint32{0: 0, hour: hour} {
			if !want {
				now = 0
			}
			if got := s.heldNow(was, false); got != now {
				t.Errorf("%d of %d seconds after: held since %d; want %d", seconds, holdTime, got, now)
			}
			if got := s.heldNow(was, true); got != market.NoIndex {
				t.Errorf("one that meets them is held since %d", got)
			}
		}
	}

	f(3600, -1, true)
	f(3600, 0, true)
	f(3600, 3599, true)
	f(3600, 3600, false)
	f(1, 0, true)
	f(1, 1, false)
	f(0, 0, false)
	f(0, -1, false)

	w := newWorld()
	s := w.solverOf()
	if got := s.heldNow(market.NoIndex, false); got != hour+1 {
		t.Errorf("a market that was one is held since %d; want %d", got, hour+1)
	}
	s.p.HoldTime = 2 * testNow // a grace that began before there were chains
	if got := s.heldNow(0, false); got != 0 || s.limitsOf(&market.Pool{}, 0) != s.p {
		t.Errorf("what never was a market is held since %d", got)
	}
	s.p.HoldTime = 0
	if got := s.heldNow(market.NoIndex, false); got != 0 {
		t.Errorf("without a grace it is held since %d", got)
	}
}

// TestHourIsItsBeginning: an hour's prices are those of when it begins, not those of the
// last block before it.
func TestHourIsItsBeginning(t *testing.T) {
	w := newWorld()
	token, pool := w.honest()
	w.pools.Mut(pool).LastSwapAt = testNow + 600 - 7*market.Day
	w.now = testNow + 600
	st := w.state()
	if !market.Known(st.Prices.At(token).Usd) {
		t.Fatalf("at the last block the token is %+v", *st.Prices.At(token))
	}

	hour := market.HourOf(testNow) + 1
	begun := new(Pricer).beginHour(st, &w.params, nil, hour)
	if p := begun.Prices[token]; market.Known(p.Usd) || p.Reason != market.ReasonStalePrice {
		t.Errorf("when the hour begins the token is %+v", p)
	}
	if p := begun.Prices[w.usd]; p.AsOf != int64(hour)*market.Hour {
		t.Errorf("the stable is as of %d; want the hour", p.AsOf)
	}
	for _, held := range begun.Pools {
		if held.Pool == pool {
			t.Errorf("the pool is held: %+v", held)
		}
	}
}

// TestNewTrustEndsALapse: a token that keeps its corroboration over the first hop and is
// corroborated again over the second, or by the feed, has lost nothing.
func TestNewTrustEndsALapse(t *testing.T) {
	f := func(name string, lost bool, change func(w *world, token uint32)) {
		t.Helper()
		w := newWorld()
		w.params.LoneHolder = 0
		between := w.token(60, 18)
		w.poolFull(between, w.usd, 1, 400_000)
		token, pool := w.honest()
		w.pass(1)
		w.pools.Mut(pool).Swaps = 10 // no longer enough alone, nor with slack
		change(w, token)

		begun := new(Pricer).beginHour(w.state(), &w.params, w.feed, market.HourOf(w.now)+1)
		p := begun.Prices[token]
		want := uint32(0)
		if lost {
			want = market.HourOf(w.now) + 1
		}
		if p.TrustLostAt != want || p.PriceLostAt != 0 || !p.Corroborated || !market.Known(p.Usd) {
			t.Errorf("%s: %+v; want its trust lost at %d", name, p, want)
		}
	}

	f("nothing new", true, func(*world, uint32) {})
	f("another market", false, func(w *world, token uint32) { w.poolFull(token, 2, 4.1, 300_000) })
	f("an answer of the feed", false, func(w *world, token uint32) {
		w.feed = []FeedPrice{{Token: w.address(token), Usd: 4, AsOf: w.now + market.Hour}}
	})
}

// TestHourOfPools: an hour names the pools of which it changes what is held on either
// side, or what others have, and no other.
func TestHourOfPools(t *testing.T) {
	w := newWorld()
	w.params.LoneHolder = 0
	_, pool := w.honest()
	thin := w.poolFull(w.token(61, 18), w.usd, 4, 10)
	for i := range w.pools.Len() {
		w.pools.Mut(i).Others = 0
	}
	f := func(want ...market.HeldPool) {
		t.Helper()
		begun := new(Pricer).beginHour(w.state(), &w.params, nil, market.HourOf(w.now)+1)
		if !slices.Equal(begun.Pools, want) {
			t.Errorf("the hour changes %+v; want %+v", begun.Pools, want)
		}
		for _, held := range begun.Pools {
			w.pools.Mut(held.Pool).Held, w.pools.Mut(held.Pool).Others = held.Held, held.Others
		}
	}

	one := [2]uint32{market.NoIndex, 0}
	f(market.HeldPool{Pool: 0, Held: one}, market.HeldPool{Pool: pool, Held: one})
	f()
	w.pools.Mut(thin).Others = 7
	f(market.HeldPool{Pool: thin})
	w.deep(pool, 10)
	lost := market.HourOf(w.now) + 1
	f(market.HeldPool{Pool: pool, Held: [2]uint32{lost, 0}})
	f()
}
