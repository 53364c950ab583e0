package chart

import "math"

// A distribution has the price in the middle of every bin: 1.0001^tick, where the tick may
// be a half. math.Pow makes that of the squares of 1.0001, which it computes anew for every
// power:
//
//	1.0001^n = product of 1.0001^(2^i) over the bits i of n that are set
//
// Here the squares are kept. The product is made in the same order with the same roundings,
// so it is the same number to the last bit. math.Pow keeps the exponents of 2 apart, which
// changes nothing: no power of a tick is out of the range of floats.

// tickBits is how many bits the absolute value of a tick has: the last tick, 887,272, is
// below 2^20.
const tickBits = 20

// tickPowers are, for every bit of a tick, the factors where it is 0 and where it is 1.
var tickPowers = func() (all [tickBits][2]float64) {
	square := 1.0001
	for i := range all {
		all[i] = [2]float64{1, square}
		square *= square
	}
	return all
}()

// halfPowers are the factors of a whole tick, and of one and a half.
var halfPowers = [2]float64{1, math.Pow(1.0001, .5)}

// powerOfTick returns math.Pow(1.0001, tick) for a tick, or the middle of two, within the
// bounds of ticks. It takes 20 ns and has no branch that depends on the tick's bits.
func powerOfTick(tick float64) float64 {
	halves := uint32(math.Abs(2 * tick))
	product := halfPowers[halves&1]
	for i, n := 0, halves>>1; n != 0; i, n = i+1, n>>1 {
		product *= tickPowers[i][n&1]
	}
	if tick < 0 {
		return 1 / product
	}
	return product
}
