package value

import "tidemark/rankings/market"

// Whether a claim can be realised is asked of the token's markets as they are
// without the claim's own position. What selling T yields is the sum over
// ranges of L * (r - r'), and L the sum of the positions around it, so a
// position's own share of it is its own L * (r - r') over the part of its
// range that the walk of depthOf passes, and can simply be taken out:
//
//	unrealizable  <=>  claim > exit - own
//
// Where the exit through a token was cut to what that token fetches, the own
// share is taken out whole, to the holder's disadvantage.

// limitClaims marks the legs whose claim exceeds what selling the token down
// to a tenth of its price would yield. The position's own share is at most
// what it holds of the other leg, so most rows end at the first comparison.
func (r *row) limitClaims() {
	c := &r.f.Claim
	for leg := range r.sides {
		side, other := r.sides[leg], 1-leg
		claim := (c.principal[leg] + c.fees[leg]) * r.rawUsd[leg]
		if side.anchor || !(claim > 0) || claim+float64(c.principal[other]*r.rawUsd[other]) <= side.exitUsd {
			continue
		}
		r.f.Unrealizable[leg] = claim > side.exitUsd-r.ownExit(leg)
	}
}

// hasOwnExit reports whether a pool is a way out of a token, for another one. A
// token whose price is only held prices no other, so against one there is no exit.
// Nor does one that the second hop priced, unless the first did too and other
// markets weighed more in the end, which shows where such a pool counts as a market
// of the token.
func hasOwnExit(index uint32, pool *market.Pool, leg int, token, by *tokenView) bool {
	return !by.held && market.Known(by.rawUsd) && (!by.derived || pool.Held[leg] == market.NoIndex) &&
		(token.onlyPool == index || isWayOut(pool, leg))
}

// isWayOut reports whether a token's exit counts a pool that is not barred, whatever else
// prices the token. Rows do not know which hooks are listed. So a pool whose hook takes a part
// of swaps counts from the hour on that begins with it as a market of the token, or where it
// alone prices the token.
func isWayOut(pool *market.Pool, leg int) bool { return !takesSwapDelta(pool) || pool.Held[leg] != 0 }

// OwnExitsMoved reports whether another part of a way out may be the position's own liquidity
// in the rows of a pool, though no price is another one.
func OwnExitsMoved(was, is *market.Pool) bool { return was.Held != is.Held }

// ownExit is what of the leg's ExitUsd is the position's own liquidity, 0 or more.
func (r *row) ownExit(leg int) float64 {
	p, by := r.position, r.sides[1-leg]
	s := surroundingsOf(r.st, p.Pool, p)
	if !hasOwnExit(p.Pool, s.pool, leg, r.sides[leg], by) {
		return 0
	}

	root := rootOf(&s.pool.SqrtPriceX96, leg)
	high, low := rootOf(&s.upper.SqrtPriceX96, leg), rootOf(&s.lower.SqrtPriceX96, leg)
	if leg == 1 {
		high, low = low, high
	}

	high, low = min(high, root), max(low, root*exitRoot)
	if low >= high {
		return 0
	}
	return approx128(p.Liquidity()) * (high - low) * by.rawUsd
}
