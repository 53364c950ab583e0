package value

import (
	"math"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Powers of two that take the words of an integer to their place, and a
// sqrtPriceX96 to its square root.
const (
	two64 = 1 << 64
	two96 = 1 << 96
)

// approx returns v as a float, within two units in the last place. About 2 ns.
func approx(v *clmath.U256) float64 {
	if v[2]|v[3] == 0 {
		return clmath.WordFloat(v[1])*two64 + clmath.WordFloat(v[0])
	}
	high := clmath.WordFloat(v[3])*two64 + clmath.WordFloat(v[2])
	return high*two64*two64 + (clmath.WordFloat(v[1])*two64 + clmath.WordFloat(v[0]))
}

// Float is an integer of the chain as a float, within two units in the last place.
func Float(v *clmath.U256) float64 { return approx(v) }

// approx128 is approx of 128 bits.
func approx128(v clmath.U128) float64 {
	return clmath.WordFloat(v.Hi)*two64 + clmath.WordFloat(v.Lo)
}

// wholes are the powers of ten by a token's decimals.
var wholes = func() (w [market.MaxDecimals + 1]float64) {
	for i := range w {
		w[i] = math.Pow10(i)
	}
	return w
}()

// decimalsOf returns the decimals of a token that may have a price. For others, which are
// shown nothing that is computed with them, 0 keeps amounts finite.
func decimalsOf(t *market.Token) uint8 {
	if t.BadDecimals || t.Decimals > market.MaxDecimals {
		return 0
	}
	return t.Decimals
}

// whole returns how many raw units a whole token has.
func whole(t *market.Token) float64 { return wholes[decimalsOf(t)] }

// finite returns x, or Unknown when x is no number that can be shown.
func finite(x float64) float64 {
	if x-x != 0 {
		return market.Unknown
	}
	return x
}
