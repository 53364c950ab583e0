package value

import (
	"cmp"
	"math"
	"slices"

	"tidemark/rankings/market"
)

// Prices solves what every token of the State is worth at its block, one
// Price a token. It needs nothing of st.Prices and st.Stats.
//
//  1. Anchors: stables at 1 USD, the native currency by its stable pools.
//  2. First hop: every token by its markets against anchors.
//  3. Second hop: tokens that also, or only, trade against a token that the
//     first hop priced are solved again over all of their markets. The price
//     of the other token there is that of its first hop, so nothing is priced
//     by itself, however the pools are arranged.
//
// The answers of ext that are not too old stand beside the markets. pause is
// called every 100 µs or so of work.
func Prices(st *market.State, p *Params, ext []FeedPrice, pause func()) []market.Price {
	s := newSolver(st, p, ext)
	s.pause = pause
	s.solve()
	return s.prices
}

// solve prices every token.
func (s *solver) solve() {
	s.priceAnchors()
	s.priceHops(func(*market.Pool) bool { return true })
	for i := range s.prices {
		s.pauseAt(i)
		s.keepPrice(uint32(i))
	}
	s.follow()
	s.liftExits()
}

// solver holds one solution on its way. Slices are by token where nothing else
// is said.
type solver struct {
	st         *market.State
	p          *Params
	heldParams *Params // of what is held
	now        int64
	nextHour   uint32 // the first that begins after the State's block

	others []uint8   // by pool: as market.Pool.Others, which it replaces; or nil
	met    [][2]bool // by pool and side: it is a market; or nil when nobody asks
	lapses []lapse

	listed           addressFilter // addresses that have a role
	feed             map[market.Address]FeedPrice
	prices           []market.Price
	roles            []role
	leader, follower uint32    // the native currency and its wrapped form; see native.go
	whole            []float64 // raw units of a whole token

	// What the tokens that quotes are against are worth: anchors, and what
	// the first hop priced.
	rawUsd  []float64 // of a raw unit; Unknown without a price
	exit    []float64 // what selling the token against anchors yields
	trusted []bool    // an anchor, or corroborated by the first hop
	offered []float64 // scratch of limitByBacking

	pause func()

	depths  [][2]keptDepth // by pool and side; nil: none are kept
	natives []quote        // what the native currency's pools said
	kept    []quote        // what selectQuotes chose from last

	pegPools, nativePools []uint32 // scratch of priceAnchors

	// Scratch of priceHops.
	first, sorted []quote
	between       []uint32 // pools of two tokens that are no anchors
	ends          []uint32 // of byToken
}

func newSolver(st *market.State, p *Params, ext []FeedPrice) *solver {
	s := new(solver)
	s.begin(st, p, ext)
	return s
}

// begin begins a solution, in the memory of the one before.
func (s *solver) begin(st *market.State, p *Params, ext []FeedPrice) {
	n := int(st.Tokens.Len())
	s.st, s.p, s.heldParams, s.pause = st, p, p.relaxed(), func() {}
	s.now, s.nextHour = st.Now(), market.HourOf(st.Now())+1
	s.lapses, s.prices = zeros(s.lapses, n), zeros(s.prices, n)
	s.roles, s.trusted = zeros(s.roles, n), zeros(s.trusted, n)
	s.whole, s.rawUsd = zeros(s.whole, n), zeros(s.rawUsd, n)
	s.exit, s.offered = zeros(s.exit, n), zeros(s.offered, n)
	for i := range s.rawUsd {
		s.rawUsd[i] = market.Unknown
	}
	s.listed = p.listed()

	if clear(s.feed); s.feed == nil {
		s.feed = make(map[market.Address]FeedPrice, len(ext))
	}
	for _, answer := range ext {
		if age := s.now - answer.AsOf; max(age, -age) <= p.FeedMaxAge && answer.Usd > 0 {
			s.feed[answer.Token] = answer
		}
	}
}

// zeros returns n zeros, in the memory of s if that is enough.
func zeros[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}

func unpriced(reason market.Reason) market.Price {
	return market.Price{Usd: market.Unknown, OnlyPool: market.NoIndex, Reason: reason}
}

// tokenOf returns the token on a side of a pool.
func (s *solver) tokenOf(pool uint32, side int) uint32 {
	if side == 0 {
		return s.st.Pools.At(pool).Currency0
	}
	return s.st.Pools.At(pool).Currency1
}

// strideLen is how many pools or tokens are looked at between two pauses; the
// depth of a pool takes a few microseconds.
const strideLen = 32

// pauseAt pauses before every strideLen-th of a loop.
func (s *solver) pauseAt(i int) {
	if i%strideLen == 0 {
		s.pause()
	}
}

// priceHops prices what is no anchor, over the pools that want accepts. The quotes that
// it returns are good until the next call.
func (s *solver) priceHops(want func(*market.Pool) bool) []quote {
	s.quoteAnchored(want)
	s.sorted = s.byToken(s.sorted, s.first)
	s.resolveAll(s.sorted, func([]quote) bool { return true })
	s.priceByFeedOnly()

	s.openSecondHop()
	firsts := len(s.sorted)
	s.quoteBetween()
	if len(s.sorted) == firsts {
		return s.sorted
	}

	s.first = s.byToken(s.first, s.sorted)
	s.resolveAll(s.first, func(quotes []quote) bool {
		return slices.ContainsFunc(quotes, func(q quote) bool { return !q.byAnchor })
	})
	return s.first
}

// quoteAnchored asks the pools that want accepts for the prices of tokens against anchors,
// and lists those of two tokens that are no anchors.
func (s *solver) quoteAnchored(want func(*market.Pool) bool) {
	s.first, s.between = s.first[:0], s.between[:0]
	for i := range s.st.Pools.Len() {
		s.pauseAt(int(i))
		pool := s.st.Pools.At(i)
		anchor0 := s.prices[pool.Currency0].Anchor
		anchor1 := s.prices[pool.Currency1].Anchor

		switch {
		case anchor0 && anchor1, s.wraps(pool), !want(pool):
		case anchor0:
			s.first = s.appendQuote(s.first, i, 1, s.rawUsd[pool.Currency0])
		case anchor1:
			s.first = s.appendQuote(s.first, i, 0, s.rawUsd[pool.Currency1])
		default:
			s.between = append(s.between, i)
		}
	}
}

// quoteBetween asks the listed pools for the prices of tokens against those that the first
// hop priced.
func (s *solver) quoteBetween() {
	for n, i := range s.between {
		s.pauseAt(n)
		for side := range 2 {
			if by := s.rawUsd[s.tokenOf(i, 1-side)]; market.Known(by) {
				s.sorted = s.appendQuote(s.sorted, i, side, by)
			}
		}
	}
}

func (s *solver) resolveAll(quotes []quote, want func([]quote) bool) {
	n := 0
	eachToken(quotes, func(token uint32, quotes []quote) {
		n++
		s.pauseAt(n)
		if s.prices[token].Reason != market.ReasonBadDecimals && want(quotes) {
			s.resolvePrice(token, quotes)
		}
	})
}

// priceByFeedOnly prices the tokens that have an answer and no market yet.
func (s *solver) priceByFeedOnly() {
	if len(s.feed) == 0 {
		return
	}
	for i := range s.prices {
		s.pauseAt(i)
		if p := &s.prices[i]; p.Source == market.SourceNone && p.Reason == market.ReasonNoMarket {
			s.resolvePrice(uint32(i), nil)
		}
	}
}

// openSecondHop lets the tokens of the first hop price others.
func (s *solver) openSecondHop() {
	for i := range s.prices {
		s.pauseAt(i)
		p := &s.prices[i]
		s.rawUsd[i], s.exit[i], s.trusted[i] = p.Usd/s.whole[i], p.ExitUsd, p.Corroborated
	}
}

// resolvePrice makes one price of a token's quotes: the depth-weighted median, and
// again the median of those that are near it. An answer of the feed stands
// for the first median, and for the price when no market is near it.
func (s *solver) resolvePrice(token uint32, quotes []quote) {
	s.lapses[token] = lapse{}
	s.limitByBacking(quotes)
	price := &s.prices[token]
	*price = unpriced(missingReason(quotes))

	var answer FeedPrice
	fed := len(s.feed) > 0 // a token is hardly ever in the processor's cache
	if fed {
		answer, fed = s.feed[s.st.Tokens.At(token).Address]
	}
	s.setPrice(token, price, s.selectQuotes(quotes, answer.Usd))
	if fed {
		s.applyAnswer(token, price, answer)
	}
	price.ExitUsd = exitOf(quotes, price.OnlyPool)
}

// exitOf returns what selling a token yields that onlyPool alone may price.
func exitOf(quotes []quote, onlyPool uint32) (usd float64) {
	for i := range quotes {
		if q := &quotes[i]; q.wayOut || q.pool == onlyPool {
			usd += q.weight
		}
	}
	return usd
}

// selectQuotes returns the quotes that decide a price, ascending: the eligible ones
// near the feed's answer, or near their own median when that is 0. They are
// good until the next call.
func (s *solver) selectQuotes(quotes []quote, answer float64) []quote {
	s.kept = appendEligible(s.kept[:0], quotes)
	if len(s.kept) == 0 {
		return nil
	}
	return keepNear(s.kept, centerOf(s.kept, answer))
}

// appendEligible appends the quotes that may decide a price, ascending.
func appendEligible(dst, quotes []quote) []quote {
	for i := range quotes {
		if q := &quotes[i]; q.bar == market.ReasonNone && q.weight > 0 {
			dst = append(dst, *q)
		}
	}
	if len(dst) > 1 { // most tokens have one market
		slices.SortFunc(dst, func(a, b quote) int {
			return cmp.Or(cmp.Compare(a.usd, b.usd), cmp.Compare(a.pool, b.pool))
		})
	}
	return dst
}

// centerOf is what eligible quotes have to be near: the feed's answer, or
// their own median when that is 0.
func centerOf(eligible []quote, answer float64) float64 {
	if answer != 0 {
		return answer
	}
	return weightedMedian(eligible)
}

// setPrice fills the price of a token from the quotes that decide it.
func (s *solver) setPrice(token uint32, price *market.Price, kept []quote) {
	if len(kept) == 0 {
		return
	}
	usd := finite(weightedMedian(kept))
	if !market.Known(usd) || usd <= 0 {
		return
	}
	price.Usd = usd
	price.AsOf = s.newestSwap(kept)
	price.Markets = uint16(min(len(kept), 1<<16-1))
	price.Reason = market.ReasonNone
	price.Source = market.SourceDerived
	if slices.ContainsFunc(kept, func(q quote) bool { return q.byAnchor }) {
		price.Source = market.SourcePool
	}

	if len(kept) == 1 {
		price.OnlyPool = kept[0].pool
	}
	price.Corroborated = s.isCorroborated(kept, s.trustLimitsOf(token)) || s.keepsTrust(token)
	if len(kept) == 1 && len(s.kept) > 1 && !price.Corroborated {
		price.Reason = market.ReasonUncorroborated // keepNear dropped all others
	}
}

func (s *solver) applyAnswer(token uint32, price *market.Price, answer FeedPrice) {
	if price.Source == market.SourceNone {
		price.Usd, price.AsOf, price.Source = answer.Usd, answer.AsOf, market.SourceFeed
	}
	price.OnlyPool, price.Reason = market.NoIndex, market.ReasonNone
	price.Corroborated = true
	s.lapses[token] = lapse{}
}

// liftExits takes the limit from every claim when the rule is switched off.
func (s *solver) liftExits() {
	if s.p.ExitLimit {
		return
	}
	for i := range s.prices {
		s.prices[i].ExitUsd = math.Inf(1)
	}
}

// newestSwap returns when a swap last moved one of the markets.
func (s *solver) newestSwap(quotes []quote) (unix int64) {
	for i := range quotes {
		unix = max(unix, s.st.Pools.At(quotes[i].pool).LastSwapAt)
	}
	return unix
}

// missingReason returns why quotes give no price: the reason of the market that
// came nearest to being eligible. A quarantined pool is none.
func missingReason(quotes []quote) market.Reason {
	nearest := market.ReasonNoMarket
	for i := range quotes {
		switch bar := quotes[i].bar; {
		case bar == market.ReasonNone, bar == market.ReasonThinMarket:
			return market.ReasonThinMarket
		case bar == market.ReasonQuarantined:
		case bar == market.ReasonStalePrice, nearest == market.ReasonNoMarket:
			nearest = bar
		}
	}
	return nearest
}
