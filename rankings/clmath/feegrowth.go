package clmath

// FeeGrowthInside returns the fee growth of one token between two ticks, modulo
// 2^256. tick is the pool's, global the pool's growth, and outsideLower and
// outsideUpper the growth outside of each tick. A tick that the pool stands on
// counts as inside as the lower bound and as outside as the upper one.
func FeeGrowthInside(
	tick, lower, upper int32, global, outsideLower, outsideUpper *U256,
) (inside U256) {
	switch {
	case tick < lower:
		inside.Sub(outsideLower, outsideUpper)
	case tick >= upper:
		inside.Sub(outsideUpper, outsideLower)
	default:
		inside.Sub(global, outsideLower)
		inside.Sub(&inside, outsideUpper)
	}
	return inside
}

// FeesOwed returns the raw fees of liquidity since the growth inside was last:
// floor(((inside - last) mod 2^256) * liquidity / 2^128), as the position manager
// pays them.
func FeesOwed(inside, last *U256, liquidity U128) U256 {
	var growth U256
	growth.Sub(inside, last)
	var w wide
	w.setProduct(&growth, liquidity)
	return U256{w[2], w[3], w[4], w[5]}
}

// GrowthOf returns what a raw fee adds to the global fee growth:
// floor(fee * 2^128 / liquidity) modulo 2^256. liquidity must not be 0.
func GrowthOf(fee *U256, liquidity U128) (growth U256) {
	divisor := liquidity.U256()

	// A fee below 2^128 needs no 512-bit product.
	if fee[2]|fee[3] == 0 {
		shifted := U256{0, 0, fee[0], fee[1]}
		return *growth.Div(&shifted, &divisor)
	}

	growth.MulDivOverflow(fee, &q128, &divisor)
	return growth
}
