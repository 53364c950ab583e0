package ledger

import (
	"math"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

const two64, two96 = 1 << 64, 1 << 96

// principalOf returns the raw amounts of a pool's liquidity at its price, without fees,
// as floats: what removing it would pay, cut to whole raw units for each pair of
// neighbouring ticks (clmath.Amount0 and Amount1). Only charts read it, which value it
// in USD; it is exact to some 15 digits, since the distances of prices are exact. With
// integers it costs five times as much, and every day and hour of a pool has one.
func principalOf(p *market.Pool, refs []market.TickRef, ticks *market.Frozen[market.Tick]) (
	sum0, sum1 float64,
) {
	var liquidity clmath.U128
	var lower *clmath.U256
	lowerRoot := 0.0
	for _, ref := range refs {
		t := ticks.At(ref.Slot)
		upper := &t.SqrtPriceX96
		upperRoot := rootOf(upper)
		if !liquidity.IsZero() {
			l := clmath.WordFloat(liquidity.Hi)*two64 + clmath.WordFloat(liquidity.Lo)
			at, atRoot := lower, lowerRoot
			switch price := &p.SqrtPriceX96; {
			case !price.Lt(upper):
				at = upper
			case price.Gt(lower):
				at, atRoot = price, rootOf(price)
			}

			if at != lower { // below the price is token1
				sum1 += math.Floor(l * distance(lower, at) / two96)
			}
			if at != upper {
				sum0 += math.Floor(l * two96 / atRoot * (distance(at, upper) / upperRoot))
			}
		}

		liquidity, _ = liquidity.Apply(t.LiquidityNet)
		lower, lowerRoot = upper, upperRoot
	}
	return sum0, sum1
}

// distance returns b - a of two sqrtPricesX96, a <= b, rounded once.
func distance(a, b *clmath.U256) float64 {
	var d clmath.U256
	d.Sub(b, a)
	return rootOf(&d)
}

// rootOf returns a sqrtPriceX96 as a float. Its top word is 0.
func rootOf(sqrtPriceX96 *clmath.U256) float64 {
	high := clmath.WordFloat(sqrtPriceX96[2])*two64 + clmath.WordFloat(sqrtPriceX96[1])
	return high*two64 + clmath.WordFloat(sqrtPriceX96[0])
}
