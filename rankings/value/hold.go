package value

import (
	"math"

	"tidemark/rankings/market"
)

// Thresholds make a price flicker whose markets stand close to one. So what is
// known stays known a while, in two steps:
//
//	slack   a market, or a corroboration, that was held when the hour began is
//	        asked for less: half of each minimum, twice each maximum (HoldSlack)
//	grace   one that misses even that is asked again for six hours (HoldTime), and
//	        its token keeps the price, and the corroboration, that it had
//
// What is held is part of the State: in the pools, by side, and in the tokens'
// hour records. It changes only when an hour of the chain begins, so it does
// not depend on how often somebody looks, and a revert takes it back. Within
// the hour a solution reads it and leaves it as it is.
//
// An anchor needs none of this but for the native currency, whose pools are
// markets as any: a stable that loses its peg has lost it.

// relaxed returns the thresholds of what is held. A threshold of 0 asks for
// nothing in either.
func (p *Params) relaxed() *Params {
	r, slack := *p, max(p.HoldSlack, 1)
	r.MarketUsd /= slack
	r.MarketImpact = min(p.MarketImpact*slack, max(p.MarketImpact, maxImpact))
	r.MarketRecency = int64(float64(p.MarketRecency) * slack)
	r.MarketAge = int64(float64(p.MarketAge) / slack)
	r.Outlier *= slack

	r.PairAgree *= slack
	r.PairUsd /= slack

	r.LoneUsd /= slack
	r.LoneAge = int64(float64(p.LoneAge) / slack)
	r.LoneSwaps = uint64(math.Ceil(float64(p.LoneSwaps) / slack))
	r.LoneHolder *= slack
	return &r
}

// maxImpact is the most that a relaxed market-impact can be, in percent: a
// price cannot fall by all of itself.
const maxImpact = 99

// limitsOf returns the thresholds of the market that sells a side of a pool.
func (s *solver) limitsOf(pool *market.Pool, side int) *Params {
	switch held := pool.Held[side]; {
	case held == 0:
		return s.p
	case held == market.NoIndex, s.inGrace(held):
		return s.heldParams
	}
	return s.p
}

// trustLimitsOf returns the thresholds that corroborate a token.
func (s *solver) trustLimitsOf(token uint32) *Params {
	if t := s.st.Tokens.At(token); s.wasTrusted(t) && (t.TrustLostAt == 0 || s.inGrace(t.TrustLostAt)) {
		return s.heldParams
	}
	return s.p
}

// wasTrusted reports whether markets, or a feed, corroborated a token when the
// hour began.
func (s *solver) wasTrusted(t *market.Token) bool {
	return t.HourCorroborated && t.HourSource != market.SourceAnchor
}

// inGrace reports whether what is lost since an hour still holds.
func (s *solver) inGrace(lostAt uint32) bool {
	return s.p.HoldTime > 0 && s.now < int64(lostAt)*market.Hour+s.p.HoldTime
}

// keepsTrust reports whether a token that nothing corroborates now keeps what
// it had, and notes that it does.
func (s *solver) keepsTrust(token uint32) bool {
	t := s.st.Tokens.At(token)
	lostAt := s.lostSince(t.TrustLostAt)
	if !s.wasTrusted(t) || !s.inGrace(lostAt) {
		return false
	}
	s.lapses[token].trust = lostAt
	return true
}

// keepPrice gives a token that nothing prices now the price that it had, if
// that still holds.
func (s *solver) keepPrice(token uint32) {
	t, price := s.st.Tokens.At(token), &s.prices[token]
	lostAt := s.lostSince(t.PriceLostAt)
	anchored := t.HourSource == market.SourceAnchor && s.roles[token] != native
	if market.Known(price.Usd) || !market.Known(t.HourUsd) || anchored || !s.inGrace(lostAt) {
		return
	}

	price.Usd, price.AsOf, price.Source = t.HourUsd, t.HourAsOf, t.HourSource
	price.Markets, price.OnlyPool, price.Reason = 0, t.HourOnlyPool, t.HourReason
	if price.Source == market.SourceFeed {
		price.Reason = market.ReasonStalePrice // which tells it from an answer
	}
	price.Corroborated = s.keepsTrust(token)
	s.lapses[token].price = lostAt
}

// lostSince returns the hour since which something is lost that is so now: the
// one that is known, or the first after the State's block.
func (s *solver) lostSince(known uint32) uint32 {
	if known != 0 {
		return known
	}
	return s.nextHour
}

// lapse holds the hours since which a token's price and corroboration are what
// they were; 0 for none.
type lapse struct{ price, trust uint32 }
