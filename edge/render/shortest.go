package render

import (
	"math"
	"math/bits"
)

// A float x = c * 2^q, with c of 53 bits, is what every decimal reads as that
// lies between (c - 1/2) * 2^q and (c + 1/2) * 2^q, bounds included if c is
// even. The shortest decimal among them, and of those the one next to x, is a
// multiple of 10^k or of 10^(k+1), where 10^k <= 2^q < 10^(k+1): the interval
// is as long as 2^q, so that it has a multiple of 10^k, and at most one of
// 10^(k+1).
//
// Let n = -k. In quarters of 10^k, x and the bounds are
//
//	(4c + {0, -2, 2}) * 2^q * 10^n  =  (4c + {0, -2, 2}) * 5^n * 2^(q+n)
//
// For 2^-20 <= x < 2^56, n is 0 to 22 and 5^n has at most 52 bits: the product
// is exact in 128 bits, and its whole part fits in 64. To compare that with
// whole multiples of 10^k, which are multiples of 4, all that matters of the
// rest is whether there is any: then the lowest bit is set.

// fives are the powers of 5.
var fives = func() (powers [23]uint64) {
	powers[0] = 1
	for i := range powers[1:] {
		powers[i+1] = 5 * powers[i]
	}
	return powers
}()

// shortest returns the shortest decimal s * 10^-n that reads as x, which is
// positive; ok is false for one out of the range above and for a power of 2,
// whose interval is shorter below than above.
//
// Cost: 10 ns; with its digits written, less than half of strconv's.
func shortest(x float64) (s uint64, n int, ok bool) {
	const fraction = 1<<52 - 1
	word := math.Float64bits(x)
	c, q := word&fraction, int(word>>52)-1075
	if c == 0 || q < -72 || q > 3 {
		return 0, 0, false
	}

	c |= fraction + 1
	n = -(q * 1262611 >> 22) // q * log10(2), rounded down
	down := uint(3 - q - n)
	odd := c & 1
	v := quarters(4*c, n, down)
	lower, upper := quarters(4*c-2, n, down)+odd, quarters(4*c+2, n, down)-odd
	if s = v / 40 * 10; lower <= 4*s {
		return s, n, true
	} else if s += 10; 4*s <= upper {
		return s, n, true
	}

	s = v / 4
	if above := 4*s+4 <= upper; above && (lower > 4*s || v > 4*s+2 || v == 4*s+2 && s&1 != 0) {
		s++
	}
	return s, n, true
}

// quarters returns c * 5^n * 2^(3-down), rounded down, but to an odd number
// unless it is exact.
func quarters(c uint64, n int, down uint) uint64 {
	hi, lo := bits.Mul64(c<<3, fives[n])
	v := hi<<(64-down) | lo>>down
	if lo&(1<<down-1) != 0 {
		v |= 1
	}
	return v
}
