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

func unpriced(reason market.Reason) market.Price {
	return market.Price{Usd: market.Unknown, OnlyPool: market.NoIndex, Reason: reason}
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
