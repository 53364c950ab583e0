package clmath

// FeeGrowthInside returns the growth between two ticks, modulo 2^256, from the
// global counter and those kept outside each tick, all of the same token.
func FeeGrowthInside(tick, lower, upper int32, global, outsideLower, outsideUpper *U256) (inside U256) {
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

// FeesOwed returns floor((inside - last mod 2^256) * liquidity / 2^128), what
// the position manager would pay: raw fees since the growth inside was last.
func FeesOwed(inside, last *U256, liquidity U128) U256 {
	var growth U256
	growth.Sub(inside, last)
	w := mulWide(&growth, liquidity)
	return U256{w[2], w[3], w[4], w[5]}
}

// GrowthOf returns floor(fee * 2^128 / liquidity) modulo 2^256: what a fee
// adds to the global growth. Liquidity is not 0.
func GrowthOf(fee *U256, liquidity U128) (growth U256) {
	divisor := liquidity.U256()
	if fee[2]|fee[3] == 0 {
		shifted := U256{0, 0, fee[0], fee[1]}
		return *growth.Div(&shifted, &divisor)
	}
	growth.MulDivOverflow(fee, &q128, &divisor)
	return growth
}
