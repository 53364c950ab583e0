package value

import (
	"cmp"
	"math"

	"tidemark/rankings/market"
)

// markOutliers notes how far each market that may decide the price is off what
// it has to be near, and leaves out those that are too far.
func (e *PriceExplanation) markOutliers(quotes []quote, answer float64) {
	eligible := appendEligible(nil, quotes)
	if len(eligible) == 0 {
		return
	}

	center := centerOf(eligible, answer)
	for i := range e.Markets {
		q, m := &quotes[i], &e.Markets[i]
		if m.Reason != market.ReasonNone || q.outlier == 0 || !(q.weight > 0) {
			continue
		}

		off := atMost("outlier", math.Abs(q.usd-center)/center*100, q.outlier)
		off.Met = m.Used
		m.Checks = append(m.Checks, off)
		if !off.Met {
			m.Reason = market.ReasonUncorroborated
		}
	}
}

func (s *solver) explainMarket(q *quote, used bool) MarketExplanation {
	m := MarketExplanation{
		Pool: q.pool, By: q.by, ByUsd: s.rawUsd[q.by] * s.whole[q.by], Usd: market.Unknown,
		ReachUsd: finite(q.reach), WeightUsd: finite(q.weight), Used: used, Reason: q.bar,
	}

	m.Checks = s.marketChecks(q)
	if t := s.st.Tokens.At(q.token); t.BadDecimals {
		// What a raw unit is worth says nothing of a whole token.
		m.Reason = cmp.Or(m.Reason, market.ReasonBadDecimals)
		name := "decimals known"
		if t.DecimalsKnown() {
			name = "decimals within 36"
		}
		m.Checks = append(m.Checks, atLeast(name, 0, 1))
	}

	if m.Reason == market.ReasonNone {
		m.Usd = finite(q.usd)
	}
	return m
}

// marketChecks holds a market against every threshold, also those after the
// first that it misses.
func (s *solver) marketChecks(q *quote) []Check {
	pool := s.st.Pools.At(q.pool)
	side := 0
	if s.leaderOf(pool.Currency1) == q.token {
		side = 1
	}

	p := s.limitsOf(pool, side)
	d := s.depthOf(q.pool, side, p.MarketImpact)
	root, byUsd := rootOf(&pool.SqrtPriceX96, side), s.rawUsd[q.by]

	barred := 0.0
	if s.p.hookBars(pool) {
		barred = 1
	}
	quarantined := 0.0
	if pool.Quarantined {
		quarantined = 1
	}

	sinceTrade := market.Unknown // of a pool that never traded
	if pool.LastSwapAt != 0 {
		sinceTrade = float64(s.now - pool.LastSwapAt)
	}
	recency := atMost("market-recency", sinceTrade, float64(p.MarketRecency))
	recency.Met = recency.Met || p.MarketRecency == 0

	return []Check{
		atMost("quarantined", quarantined, 0),
		atMost("hook-allow", barred, 0),
		atLeast("market-usd within market-impact", d.room*root*root*byUsd, p.MarketUsd),
		atLeast("market-usd", d.reach*byUsd, p.MarketUsd),
		recency,
		atLeast("market-age", float64(s.now-pool.CreatedAt), float64(p.MarketAge)),
		atLeast("median-minutes", minutesBack(s.st.Minutes.At(q.pool), s.now), float64(s.p.MedianMinutes)),
	}
}

// trustChecks shows the nearest that the used markets come to corroborating.
func (s *solver) trustChecks(used []quote, p *Params) []Check {
	var alone, first, second float64
	var oldest, swaps float64
	holder := 100.0
	for i := range used {
		q := &used[i]
		if !s.isWitness(q) {
			continue
		}
		if pool := s.st.Pools.At(q.pool); q.weight > alone {
			alone, oldest = q.weight, float64(s.now-pool.CreatedAt)
			swaps, holder = float64(pool.Swaps), s.holderOf(q.pool)
		}
		for j := i + 1; j < len(used) && used[j].usd <= q.usd*(1+p.PairAgree/100); j++ {
			if s.isWitness(&used[j]) && q.weight+used[j].weight > first+second {
				first, second = q.weight, used[j].weight
			}
		}
	}

	largest := atMost("lone-holder", holder, p.LoneHolder)
	largest.Met = largest.Met || p.LoneHolder == 0
	return []Check{
		atLeast("pair-usd within pair-agree", first+second, p.PairUsd),
		atLeast("lone-usd", alone, p.LoneUsd),
		atLeast("lone-age", oldest, float64(p.LoneAge)),
		atLeast("lone-swaps", swaps, float64(p.LoneSwaps)),
		largest,
	}
}

// holdChecks shows for how long a token's price or corroboration is what it
// was, if it is.
func (s *solver) holdChecks(token uint32) (checks []Check) {
	lapse := s.lapses[token]
	for _, lost := range []struct {
		name string
		at   uint32
	}{{"hold-time of the price", lapse.price}, {"hold-time of its corroboration", lapse.trust}} {
		if lost.at != 0 {
			gone := max(s.now-int64(lost.at)*market.Hour, 0)
			checks = append(checks, atMost(lost.name, float64(gone), float64(s.p.HoldTime)))
		}
	}
	return checks
}

func atLeast(name string, have, want float64) Check {
	have = finite(have)
	return Check{Name: name, Have: have, Want: want, Met: have >= want}
}

func atMost(name string, have, want float64) Check {
	have = finite(have)
	return Check{Name: name, Have: have, Want: want, Met: have <= want}
}
