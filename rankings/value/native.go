package value

import "tidemark/rankings/market"

// The native currency and its wrapped form are one currency: either is turned into the
// other for nothing. So the markets of both are markets of one, its leader, and the other
// has the leader's price. That is the currency itself, unless only its wrapped form has a
// price that may be held.

// findNative finds the leader and the token that follows it, each NoIndex if there is none.
func (s *solver) findNative() {
	s.leader, s.follower = market.NoIndex, market.NoIndex
	for i, role := range s.roles {
		switch token := uint32(i); {
		case role != native:
		case s.leader == market.NoIndex:
			s.leader = token
		case s.leads(token):
			s.leader, s.follower = token, s.leader
		default:
			s.follower = token
		}
	}
}

// leads reports whether a native token leads the one that was found before it.
func (s *solver) leads(token uint32) bool {
	t, other := s.st.Tokens.At(token), s.st.Tokens.At(s.leader)
	if known := market.Known(t.HourUsd); known != market.Known(other.HourUsd) {
		return known
	}
	return t.IsNative()
}

// leaderOf returns the token whose price a token has.
func (s *solver) leaderOf(token uint32) uint32 {
	if token == s.follower {
		return s.leader
	}
	return token
}

// wraps reports whether a pool trades the native currency for its wrapped form, which says
// nothing of what they are worth and is no way out of them.
func (s *solver) wraps(pool *market.Pool) bool {
	return pool.Currency0 != pool.Currency1 && s.leaderOf(pool.Currency0) == s.leaderOf(pool.Currency1)
}

// follow gives the follower what was found of the leader.
func (s *solver) follow() {
	if s.follower != market.NoIndex {
		s.prices[s.follower], s.lapses[s.follower] = s.prices[s.leader], s.lapses[s.leader]
	}
}
