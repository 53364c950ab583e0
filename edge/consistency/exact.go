package consistency

import (
	"math"
	"math/big"
	"strings"
)

// Powers of two that the contracts' fixed-point numbers are scaled by.
var (
	one  = big.NewInt(1)
	q32  = new(big.Int).Lsh(one, 32)
	q96  = new(big.Int).Lsh(one, 96)
	q128 = new(big.Int).Lsh(one, 128)
	q256 = new(big.Int).Lsh(one, 256)
)

// tickBits is how many bits the largest tick has: 887272 < 2^20.
const tickBits = 20

// tickFactors are 1.0001^(-2^i / 2), scaled by 2^128 and rounded, which is how
// the contracts have them. The last ones are computed by squaring, with far
// more digits than the result needs.
var tickFactors = func() (factors [tickBits]*big.Int) {
	const precision = 512
	base := new(big.Float).SetPrec(precision).Quo(big.NewFloat(10_000).SetPrec(precision),
		big.NewFloat(10_001).SetPrec(precision))
	root := new(big.Float).SetPrec(precision).Sqrt(base)
	for i := range factors {
		scaled := new(big.Float).SetPrec(precision).Mul(root, new(big.Float).SetInt(q128))
		factors[i], _ = scaled.Add(scaled, big.NewFloat(0.5)).Int(nil)
		root = new(big.Float).SetPrec(precision).Mul(root, root)
	}
	return factors
}()

// sqrtPriceAtTick is sqrt(1.0001^tick) * 2^96, rounded as the contracts do.
func sqrtPriceAtTick(tick int64) *big.Int {
	distance := tick
	if distance < 0 {
		distance = -distance
	}
	ratio := new(big.Int).Set(q128)
	for i := range tickFactors {
		if distance>>i&1 != 0 {
			ratio.Mul(ratio, tickFactors[i]).Rsh(ratio, 128)
		}
	}
	if tick > 0 {
		most := new(big.Int).Sub(q256, one)
		ratio.Div(most, ratio)
	}

	// From 128 bits after the point to 96, rounded up.
	ratio.Add(ratio, new(big.Int).Sub(q32, one))
	return ratio.Rsh(ratio, 32)
}

// principal is what liquidity between two ticks holds at a price, rounded down
// as a removal pays it.
func principal(liquidity, sqrtPrice, sqrtLower, sqrtUpper *big.Int) (amount0, amount1 *big.Int) {
	at := sqrtPrice
	if at.Cmp(sqrtLower) < 0 {
		at = sqrtLower
	}
	if at.Cmp(sqrtUpper) > 0 {
		at = sqrtUpper
	}
	amount0 = new(big.Int).Sub(sqrtUpper, at)
	amount0.Mul(amount0, liquidity).Mul(amount0, q96).Div(amount0, sqrtUpper).Div(amount0, at)
	amount1 = new(big.Int).Sub(at, sqrtLower)
	amount1.Mul(amount1, liquidity).Div(amount1, q96)
	return amount0, amount1
}

// feesOwed is what fee growth since the last change owes to liquidity.
func feesOwed(inside, insideLast, liquidity *big.Int) *big.Int {
	fees := new(big.Int).Sub(inside, insideLast)
	fees.Mod(fees, q256)
	return fees.Mul(fees, liquidity).Div(fees, q128)
}

// amountOf is a raw amount in whole units as answers have it: null where the decimals, a
// field of an answer, are.
func amountOf(raw string, decimals float64) any {
	if !known(decimals) {
		return nil
	}
	return decimalOf(raw, int(decimals))
}

// decimalOf writes a raw amount in whole units: no exponent, no trailing zeros.
func decimalOf(raw string, decimals int) string {
	if decimals == 0 {
		return raw
	}
	if len(raw) <= decimals {
		raw = strings.Repeat("0", decimals-len(raw)+1) + raw
	}
	point := len(raw) - decimals
	fraction := strings.TrimRight(raw[point:], "0")
	if fraction == "" {
		return raw[:point]
	}
	return raw[:point] + "." + fraction
}

// integerOf reads a decimal string without leading zeros; nil when it is none.
func integerOf(text any) *big.Int {
	digits, ok := text.(string)
	if !ok || digits == "" || len(digits) > 1 && digits[0] == '0' {
		return nil
	}
	v, ok := new(big.Int).SetString(digits, 10)
	if !ok || digits[0] == '+' || strings.Contains(digits, "_") {
		return nil
	}
	return v
}

// floatOf is the float next to an integer over ten to the decimals.
func floatOf(v *big.Int, decimals int) float64 {
	if v == nil {
		return math.NaN()
	}
	x, _ := new(big.Float).SetInt(v).Float64()
	return x / math.Pow10(decimals)
}
