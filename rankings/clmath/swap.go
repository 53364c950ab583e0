package clmath

import "fmt"

// Pips is the unit of fees: Pips are 100 %, 3000 pips are 0.30 %.
const Pips = 1_000_000

// SwapStep computes one step of a swap, to target or as far as left suffices
// within liquidity. left is what is still to be paid, fee included, if exactIn,
// and else what is still to be received. fee is in pips, and below Pips for an
// exact output.
//
// It returns the price after the step, the input without fee, the output, and
// the fee.
func SwapStep(sqrtPrice, target *U256, liquidity U128, left *U256, exactIn bool, fee uint32) (
	next, amountIn, amountOut, feeAmount U256,
) {
	down := !sqrtPrice.Lt(target)

	if exactIn {
		less, _ := mulDivWord(left, uint64(Pips-fee), Pips)
		amountIn = inputTo(sqrtPrice, target, liquidity, down)
		if less.Lt(&amountIn) {
			next = NextSqrtPriceFromInput(sqrtPrice, liquidity, &less, down)
			amountIn = less
			feeAmount.Sub(left, &less)
		} else {
			next = *target
			feeAmount = feeOnTop(&amountIn, fee)
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
	return next, amountIn, amountOut, feeOnTop(&amountIn, fee)
}

// inputTo returns the input that moves the price, without fee, rounded up.
func inputTo(from, to *U256, liquidity U128, down bool) U256 {
	if down {
		return Amount0(to, from, liquidity, true)
	}
	return Amount1(from, to, liquidity, true)
}

// outputTo returns the output when the price moves, rounded down.
func outputTo(from, to *U256, liquidity U128, down bool) U256 {
	if down {
		return Amount1(to, from, liquidity, false)
	}
	return Amount0(from, to, liquidity, false)
}

// feeOnTop returns the fee that is added to an input: ceil(in * fee / (1 - fee)).
// At a fee of 100 % the contracts take the input itself.
func feeOnTop(amountIn *U256, fee uint32) U256 {
	if fee == Pips {
		return *amountIn
	}
	extra, rest := mulDivWord(amountIn, uint64(fee), uint64(Pips-fee))
	if rest > 0 {
		extra.AddUint64(&extra, 1)
	}
	return extra
}

// NextSqrtPriceFromInput returns the price after amountIn, without its fee, was
// paid in. It is rounded so that the price moves less.
func NextSqrtPriceFromInput(sqrtPrice *U256, liquidity U128, amountIn *U256, down bool) U256 {
	if down {
		return priceAfterAmount0(sqrtPrice, liquidity, amountIn)
	}
	depth := liquidity.U256()
	step := MulDiv(amountIn, &q96, &depth)
	return *step.Add(&step, sqrtPrice)
}

// NextSqrtPriceFromOutput returns the price after amountOut was taken out. It
// panics if liquidity does not hold that much.
func NextSqrtPriceFromOutput(sqrtPrice *U256, liquidity U128, amountOut *U256, down bool) U256 {
	depth := liquidity.U256()
	if down {
		step := MulDivUp(amountOut, &q96, &depth)
		if !step.Lt(sqrtPrice) {
			panic(fmt.Sprintf("BUG: output %s exceeds the token1 in range", amountOut.Dec()))
		}
		return *step.Sub(sqrtPrice, &step)
	}

	// L * 2^96 * P / (L * 2^96 - amount * P), rounded up.
	depth.Lsh(&depth, 96)
	var product U256
	if _, over := product.MulOverflow(amountOut, sqrtPrice); over || !product.Lt(&depth) {
		panic(fmt.Sprintf("BUG: output %s exceeds the token0 in range", amountOut.Dec()))
	}
	product.Sub(&depth, &product)
	return MulDivUp(&depth, sqrtPrice, &product)
}

// priceAfterAmount0 returns the price P after amount of token0 was paid in:
// L * 2^96 * P / (L * 2^96 + amount * P), rounded up. If that does not fit 256
// bits it uses the contracts' less precise form, L * 2^96 / (L * 2^96 / P + amount).
func priceAfterAmount0(sqrtPrice *U256, liquidity U128, amount *U256) U256 {
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
