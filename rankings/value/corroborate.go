package value

// corroborated reports whether the markets that price a token, ascending in
// price, show that somebody other than its maker believes them:
//
//   - two of them, within PairAgree percent of each other, with PairUsd
//     reachable over both; or
//   - one with LoneUsd reachable, LoneAge old, LoneSwaps swapped.
//
// USD that come as tokens of unproven worth prove nothing, so only markets
// against an anchor or a token that the first hop corroborated count. Anchors
// and tokens of the feed need none of this.
func (s *solver) corroborated(quotes []quote) bool {
	deepest := 0.0
	for i := range quotes {
		if s.lone(&quotes[i]) {
			return true
		}
		if s.vouches(&quotes[i]) {
			deepest = max(deepest, quotes[i].weight)
		}
	}

	for i := range quotes {
		if s.vouches(&quotes[i]) && quotes[i].weight+deepest >= s.p.PairUsd && s.paired(quotes, i) {
			return true
		}
	}

	return false
}

func (s *solver) vouches(q *quote) bool { return !s.p.TrustedQuotes || s.trusted[q.by] }

func (s *solver) lone(q *quote) bool {
	pool := s.st.Pools.At(q.pool)
	return s.vouches(q) && q.weight >= s.p.LoneUsd &&
		pool.CreatedAt <= s.now-s.p.LoneAge && pool.Swaps >= s.p.LoneSwaps
}

// paired reports whether a dearer market than quotes[i] agrees with it. Both
// are different pools: a pool quotes a token once.
func (s *solver) paired(quotes []quote, i int) bool {
	q := &quotes[i]
	for j := i + 1; j < len(quotes) && quotes[j].usd <= q.usd*(1+s.p.PairAgree/100); j++ {
		if s.vouches(&quotes[j]) && q.weight+quotes[j].weight >= s.p.PairUsd {
			return true
		}
	}
	return false
}
