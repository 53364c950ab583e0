package clmath

import (
	"fmt"
	"math"
	"math/bits"
)

// The bounds of ticks.
const (
	MinTick = -887272
	MaxTick = 887272
)

// The prices of MinTick and MaxTick. A pool's price is at least MinSqrtPrice and
// below MaxSqrtPrice.
var (
	MinSqrtPrice = U256{4295128739}
	MaxSqrtPrice = U256{0x5d951d5263988d26, 0xefd1fc6a50648849, 0xfffd8963}
)

// tickFactors[i] is 2^128 / sqrt(1.0001)^(2^i), rounded to the nearest integer,
// as in the contracts' TickMath.
var tickFactors = [20]U128{
	{0xaa2d162d1a594001, 0xfffcb933bd6fad37},
	{0x59a46990580e213a, 0xfff97272373d4132},
	{0xef12357cf3c7fdcc, 0xfff2e50f5f656932},
	{0x1c3624eaa0941cd0, 0xffe5caca7e10e4e6},
	{0xc9db58835c926644, 0xffcb9843d60f6159},
	{0x472e6896dfb254c0, 0xff973b41fa98c081},
	{0x43ec78b326b52861, 0xff2ea16466c96a38},
	{0x11c461f1969c3053, 0xfe5dee046a99a2a8},
	{0xdcffc83b479aa3a4, 0xfcbe86c7900a88ae},
	{0x6f2b074cf7815e54, 0xf987a7253ac41317},
	{0x940c7a398e4b70f3, 0xf3392b0822b70005},
	{0x43b29c7fa6e889d9, 0xe7159475a2c29b74},
	{0x845ad8f792aa5825, 0xd097f3bdfd2022b8},
	{0x8a65dc1f90e061e5, 0xa9f746462d870fdf},
	{0x90bb3df62baf32f7, 0x70d869a156d2a1b8},
	{0x81231505542fcfa6, 0x31be135f97d08fd9},
	{0xc677de54f3e99bc9, 0x09aa508b5b7a84e1},
	{0x6699c329225ee604, 0x005d6af8dedb8119},
	{0x1ea926041bedfe98, 0x00002216e584f5fa},
	{0x91f7dc42444e8fa2, 0x00000000048a1703},
}

// SqrtPriceAtTick returns sqrt(1.0001^tick) * 2^96 as the contracts compute
// it: the factors of the bits of |tick| multiplied in Q128, inverted when tick
// is positive, and rounded up to Q96. About 130 ns.
//
// It panics if tick is not between MinTick and MaxTick.
func SqrtPriceAtTick(tick int32) U256 {
	if tick < MinTick || tick > MaxTick {
		panic(fmt.Sprintf("BUG: tick %d is not between %d and %d", tick, MinTick, MaxTick))
	}
	if tick == 0 {
		return U256{0, 1 << 32}
	}

	// One factor for each bit that is set, the lowest first.
	rest := uint32(max(tick, -tick))
	i := bits.TrailingZeros32(rest)
	ratio := tickFactors[i]
	for rest &= rest - 1; rest != 0; rest &= rest - 1 {
		ratio = mulHigh(ratio, tickFactors[bits.TrailingZeros32(rest)])
	}

	// The factors are for negative ticks; a positive tick takes the inverse.
	price := ratio.U256()
	if tick > 0 {
		price.Div(&maxU256, &price)
	}
	price.AddUint64(&price, math.MaxUint32)
	return *price.Rsh(&price, 32)
}

// TickAtSqrtPrice returns the greatest tick whose price is at most sqrtPrice. A
// logarithm in floats is off by at most one tick, which comparing exact prices
// corrects.
//
// It panics if sqrtPrice is not between MinSqrtPrice and MaxSqrtPrice.
func TickAtSqrtPrice(sqrtPrice *U256) int32 {
	if sqrtPrice.Lt(&MinSqrtPrice) || sqrtPrice.Gt(&MaxSqrtPrice) {
		panic(fmt.Sprintf("BUG: no tick has the sqrtPriceX96 %s", sqrtPrice.Dec()))
	}

	tick := min(max(int32(math.Floor(guessTick(sqrtPrice))), MinTick), MaxTick)

	for at := SqrtPriceAtTick(tick); at.Gt(sqrtPrice); at = SqrtPriceAtTick(tick) {
		tick--
	}
	for tick < MaxTick {
		if above := SqrtPriceAtTick(tick + 1); above.Gt(sqrtPrice) {
			break
		}
		tick++
	}

	return tick
}

// guessTick returns the logarithm of a price to the base of ticks. It is off by less than
// 10^-5: 10^-6 for the base as a float, and 5 * 10^-6 at the lowest prices because those of
// ticks are integers there.
func guessTick(sqrtPrice *U256) float64 {
	return 2 * math.Log(sqrtPrice.Float64()/(1<<96)) / logBase
}

var logBase = math.Log(1.0001)

// guessMargin is how far from a tick a guess tells on which side of it a price is.
const guessMargin = 1e-3

// WithinTick reports whether a price is at least that of a tick and at most that of the
// next one. About 30 ns, since an exact price is only computed where the guess is near it
// or on its other side.
//
// It panics if tick is not between MinTick and MaxTick-1.
func WithinTick(sqrtPrice *U256, tick int32) bool {
	above := guessTick(sqrtPrice) - float64(tick)
	if above < guessMargin {
		if lower := SqrtPriceAtTick(tick); sqrtPrice.Lt(&lower) {
			return false
		}
	}
	if above > 1-guessMargin {
		upper := SqrtPriceAtTick(tick + 1)
		return !sqrtPrice.Gt(&upper)
	}
	return true
}

// WordEdge returns the last tick of the bitmap word in which a swap looks for
// its next stop: at or below tick if the price falls, above it if it rises. A
// word covers 256 multiples of spacing. A swap stops, and rounds, at the edge
// even if no tick is initialised there.
func WordEdge(tick, spacing int32, down bool) int32 {
	word := floorDiv(tick, spacing)
	if down {
		word &^= 255
	} else {
		word = (word + 1) | 255
	}
	return int32(min(max(int64(word)*int64(spacing), MinTick), MaxTick))
}

// Aligned returns the greatest multiple of spacing that is at most tick.
func Aligned(tick, spacing int32) int32 { return floorDiv(tick, spacing) * spacing }

// floorDiv returns a / b rounded down.
func floorDiv(a, b int32) int32 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
