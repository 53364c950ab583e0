package value

// isCorroborated reports whether the markets that price a token, ascending in
// price, show that somebody other than its maker believes them:
//
//   - two of them, within PairAgree percent of each other, with PairUsd
//     reachable over both; or
//   - one with LoneUsd reachable, LoneAge old, LoneSwaps swapped, of whose
//     liquidity in range nobody has more than LoneHolder percent.
//
// USD that come as tokens of unproven worth prove nothing, so only markets
// against an anchor or a token that the first hop corroborated count, and no
// pool whose hook acts on swaps. Anchors and tokens of the feed need none of
// this.
func (s *solver) isCorroborated(quotes []quote, p *Params) bool {
	deepest := 0.0
	for i := range quotes {
		if s.corroboratesAlone(&quotes[i], p) {
			return true
		}
		deepest = max(deepest, quotes[i].weight)
	}

	for i := range quotes {
		q := &quotes[i]
		if s.isWitness(q) && q.weight+deepest >= p.PairUsd && s.hasPartner(quotes, i, p) {
			return true
		}
	}

	return false
}

func (s *solver) isWitness(q *quote) bool {
	return (!s.p.TrustedQuotes || s.trusted[q.by]) && s.p.mayCorroborate(s.st.Pools.At(q.pool))
}

// corroboratesAlone reports whether a market corroborates its token alone.
func (s *solver) corroboratesAlone(q *quote, p *Params) bool {
	pool := s.st.Pools.At(q.pool)
	return s.isWitness(q) && q.weight >= p.LoneUsd &&
		pool.CreatedAt <= s.now-p.LoneAge && pool.Swaps >= p.LoneSwaps &&
		(p.LoneHolder == 0 || s.holderOf(q.pool) <= p.LoneHolder)
}

// holderOf returns how many percent of a pool's liquidity in range its largest
// holder has, at least half.
func (s *solver) holderOf(pool uint32) float64 {
	if s.others != nil {
		return 100 - float64(s.others[pool])
	}
	return 100 - float64(s.st.Pools.At(pool).Others)
}

// hasPartner reports whether a dearer market than quotes[i] agrees with it. Both
// are different pools: a pool quotes a token once.
func (s *solver) hasPartner(quotes []quote, i int, p *Params) bool {
	q := &quotes[i]
	for j := i + 1; j < len(quotes) && quotes[j].usd <= q.usd*(1+p.PairAgree/100); j++ {
		if s.isWitness(&quotes[j]) && q.weight+quotes[j].weight >= p.PairUsd {
			return true
		}
	}
	return false
}
