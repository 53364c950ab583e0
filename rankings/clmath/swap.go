package clmath

// Pips is the whole of which fees are parts: 3000 pips are 0.30 %.
const Pips = 1_000_000

// SwapStep is one step of a swap computed forwards: to target, or as far as
// the amount left reaches within liquidity. Exact input counts what is still
// to be paid, fee included; exact output what is still to be received.
//
// It returns the price after the step, what was paid without and what was
// taken as fee, and what was received. The fee of an exact output must be
// below Pips.
func SwapStep(sqrtPrice, target *U256, liquidity U128, left *U256, exactIn bool, fee uint32) (
	next, amountIn, amountOut, feeAmount U256,
) {
	down := !sqrtPrice.Lt(target)

	if exactIn {
		less := MulDiv(left, &U256{uint64(Pips - fee)}, &U256{Pips})
		amountIn = inputTo(sqrtPrice, target, liquidity, down)
		if less.Lt(&amountIn) {
			next = NextSqrtPriceFromInput(sqrtPrice, liquidity, &less, down)
			amountIn = less
			feeAmount.Sub(left, &less)
		} else {
			next = *target
			feeAmount = feeOn(&amountIn, fee)
		}
		return next, amountIn, outputTo(sqrtPrice, &next, liquidity, down), feeAmount
	}

	amountOut = outputTo(sqrtPrice, target, liquidity, down)
	next = *target
	if left.Lt(&amountOut) {
		amountOut = *left
		next = NextSqrtPriceFromOutput(sqrtPrice, liquidity, left, down)
	}
	amountIn = inputTo(sqrtPrice, &next, liquidity, down)
	return next, amountIn, amountOut, feeOn(&amountIn, fee)
}

// inputTo is what moving the price costs, rounded up.
func inputTo(from, to *U256, liquidity U128, down bool) U256 {
	if down {
		return Amount0(to, from, liquidity, true)
	}
	return Amount1(from, to, liquidity, true)
}

// outputTo is what moving the price pays, rounded down.
func outputTo(from, to *U256, liquidity U128, down bool) U256 {
	if down {
		return Amount1(to, from, liquidity, false)
	}
	return Amount0(from, to, liquidity, false)
}

// feeOn is the fee that comes on top of an input: ceil(in * fee / (1 - fee)).
// At a fee of everything the input of a full step is its own fee.
func feeOn(amountIn *U256, fee uint32) U256 {
	if fee == Pips {
		return *amountIn
	}
	return MulDivUp(amountIn, &U256{uint64(fee)}, &U256{uint64(Pips - fee)})
}

// NextSqrtPriceFromInput returns the price after amountIn, without its fee,
// was paid into liquidity; rounded away from the target.
func NextSqrtPriceFromInput(sqrtPrice *U256, liquidity U128, amountIn *U256, down bool) U256 {
	if down {
		return addAmount0(sqrtPrice, liquidity, amountIn)
	}
	depth := liquidity.U256()
	step := MulDiv(amountIn, &q96, &depth)
	return *step.Add(&step, sqrtPrice)
}

// NextSqrtPriceFromOutput returns the price after amountOut was taken out of
// liquidity. It panics when liquidity does not hold that much.
func NextSqrtPriceFromOutput(sqrtPrice *U256, liquidity U128, amountOut *U256, down bool) U256 {
	depth := liquidity.U256()
	if down {
		step := MulDivUp(amountOut, &q96, &depth)
		if !step.Lt(sqrtPrice) {
			panic("BUG: output exceeds the liquidity's token1")
		}
		return *step.Sub(sqrtPrice, &step)
	}

	// L * 2^96 * P / (L * 2^96 - amount * P), rounded up.
	depth.Lsh(&depth, 96)
	var product U256
	if _, over := product.MulOverflow(amountOut, sqrtPrice); over || !product.Lt(&depth) {
		panic("BUG: output exceeds the liquidity's token0")
	}
	product.Sub(&depth, &product)
	return MulDivUp(&depth, sqrtPrice, &product)
}

// addAmount0 returns L * 2^96 * P / (L * 2^96 + amount * P), rounded up, or
// the contracts' less precise form where that product passes 256 bits.
func addAmount0(sqrtPrice *U256, liquidity U128, amount *U256) U256 {
	depth := liquidity.U256()
	depth.Lsh(&depth, 96)
	var product, sum U256
	if _, over := product.MulOverflow(amount, sqrtPrice); !over {
		if _, over = sum.AddOverflow(&depth, &product); !over {
			return MulDivUp(&depth, sqrtPrice, &sum)
		}
	}
	sum.Div(&depth, sqrtPrice)
	sum.Add(&sum, amount)
	return divUp(&depth, &sum)
}
