package clmath

// Amount0 returns the raw token0 of liquidity L between two prices a <= b, given
// in either order: L * 2^96 * (b - a) / b / a. The contracts round each division
// in the same direction, which equals one rounded division by a * b. Prices are
// below 2^160 and at least MinSqrtPrice.
func Amount0(sqrtA, sqrtB *U256, liquidity U128, roundUp bool) (amount U256) {
	if sqrtA.Gt(sqrtB) {
		sqrtA, sqrtB = sqrtB, sqrtA
	}

	var distance U256
	distance.Sub(sqrtB, sqrtA)

	var n, d wide
	n.setProduct(&distance, liquidity)
	n.shift96()
	d.setPrices(sqrtA, sqrtB)
	if rest := divWide(&amount, &n, &d); roundUp && rest {
		amount.AddUint64(&amount, 1)
	}
	return amount
}

// Amount1 returns the raw token1 of liquidity L between two prices a <= b, given
// in either order: L * (b - a) / 2^96.
func Amount1(sqrtA, sqrtB *U256, liquidity U128, roundUp bool) U256 {
	if sqrtA.Gt(sqrtB) {
		sqrtA, sqrtB = sqrtB, sqrtA
	}

	var distance U256
	distance.Sub(sqrtB, sqrtA)
	var w wide
	w.setProduct(&distance, liquidity)

	// Dividing by 2^96 drops one and a half words.
	amount := U256{w[1]>>32 | w[2]<<32, w[2]>>32 | w[3]<<32, w[3]>>32 | w[4]<<32, w[4]>>32 | w[5]<<32}
	if roundUp && (w[0] != 0 || uint32(w[1]) != 0) {
		amount.AddUint64(&amount, 1)
	}
	return amount
}

// Principal returns the raw amounts that liquidity over a range holds at a price:
// rounded down, what removing it pays; rounded up, what adding it costs.
//
// Which side of the range the price is on is decided by the pool's tick, as the
// contracts do, and the amounts by the price. The two can differ: a falling swap
// that stops exactly on a tick leaves the pool's tick one below it.
func Principal(tick int32, sqrtPrice *U256, lower, upper int32, sqrtLower, sqrtUpper *U256,
	liquidity U128, roundUp bool,
) (amount0, amount1 U256) {
	switch {
	case tick < lower:
		amount0 = Amount0(sqrtLower, sqrtUpper, liquidity, roundUp)
	case tick < upper:
		amount0 = Amount0(sqrtPrice, sqrtUpper, liquidity, roundUp)
		amount1 = Amount1(sqrtLower, sqrtPrice, liquidity, roundUp)
	default:
		amount1 = Amount1(sqrtLower, sqrtUpper, liquidity, roundUp)
	}
	return amount0, amount1
}
