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
	for leg := range r.now {
		price, other := r.now[leg], 1-leg
		claim := (r.held[leg] + r.pending[leg]) * r.rawUsd[leg]
		if price.Anchor || !(claim > 0) || claim+r.held[other]*r.rawUsd[other] <= price.ExitUsd {
			continue
		}
		r.f.Unrealizable[leg] = claim > price.ExitUsd-r.ownExit(leg)
	}
}

// ownExit is what of the leg's ExitUsd is the position's own liquidity. Pools
// whose hook takes a part of swaps are in it only when they are listed, which
// shows where such a pool is the one that prices the token.
func (r *row) ownExit(leg int) float64 {
	p, pool := r.position, r.pool
	by := r.byRawUsd(leg)
	listed := r.now[leg].OnlyPool == p.Pool
	if !market.Known(by) || takesSwapDelta(pool) && !listed {
		return 0
	}
	lower, upper := r.st.Ticks.At(p.LowerSlot), r.st.Ticks.At(p.UpperSlot)
	root := rootOf(&pool.SqrtPriceX96, leg)
	high, low := rootOf(&upper.SqrtPriceX96, leg), rootOf(&lower.SqrtPriceX96, leg)
	if leg == 1 {
		high, low = low, high
	}
	high, low = min(high, root), max(low, root*exitRoot)
	if low >= high {
		return 0
	}
	return approx128(p.Liquidity) * (high - low) * by
}

// byRawUsd is the price at which the other leg counts in the leg's ExitUsd;
// Unknown when it does not: a token of the second hop prices no other.
func (r *row) byRawUsd(leg int) float64 {
	by, token := r.now[1], r.pool.Currency1
	if leg == 1 {
		by, token = r.now[0], r.pool.Currency0
	}
	if by.Source == market.SourceDerived {
		return market.Unknown
	}
	return by.Usd / whole(r.st.Tokens.At(token))
}
