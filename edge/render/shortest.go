package render

import (
	"math"
	"math/bits"
)

// Let x = c * 2^q be a float, with c of 53 bits. Every decimal between
// (c - 1/2) * 2^q and (c + 1/2) * 2^q is parsed as x, bounds included if c is even.
// The shortest of them, and the one nearest to x among those, is a multiple of 10^k
// or of 10^(k+1), where 10^k <= 2^q < 10^(k+1): the interval has the length 2^q, so
// it contains a multiple of 10^k, and at most one of 10^(k+1).
//
// Let n = -k. In quarters of 10^k, x and the bounds are
//
//	(4c + {0, -2, 2}) * 2^q * 10^n  =  (4c + {0, -2, 2}) * 5^n * 2^(q+n)
//
// For 2^-20 <= x < 2^56, n is 0 to 22 and 5^n has at most 52 bits, so the product
// is exact in 128 bits and its integer part fits 64. It is compared with multiples
// of 10^k, which are multiples of 4. For that it is enough to know whether there is
// a fraction, and the lowest bit is set if there is one.

// fives are the powers of 5.
var fives = func() (powers [23]uint64) {
	powers[0] = 1
	for i := range powers[1:] {
		powers[i+1] = 5 * powers[i]
	}
	return powers
}()

// shortest returns the shortest decimal s * 10^-n that is parsed as x, which must be
// positive. ok is false if x is out of the range above, or a power of 2: its
// interval is shorter below than above.
//
// Cost: 10 ns, and with printing the digits less than half of strconv's.
func shortest(x float64) (s uint64, n int, ok bool) {
	const fraction = 1<<52 - 1
	word := math.Float64bits(x)
	c, q := word&fraction, int(word>>52)-1075
	if c == 0 || q < -72 || q > 3 {
		return 0, 0, false
	}

	// x and the bounds of its interval in quarters of 10^k. The bounds themselves
	// belong to it only if c is even.
	c |= fraction + 1
	n = -(q * 1262611 >> 22) // q * log10(2), rounded down
	down := uint(3 - q - n)
	odd := c & 1
	v := quarterUnits(4*c, n, down)
	lower, upper := quarterUnits(4*c-2, n, down)+odd, quarterUnits(4*c+2, n, down)-odd

	// The multiple of 10^(k+1) in the interval, below x or above it. Which one, and whether
	// there is any, is chosen without a branch: the processor could not predict it.
	s = v / 40 * 10
	if 4*s+40 <= upper {
		s += 10
	}

	// Otherwise the nearest multiple of 10^k; of two equally near the even one. It is in
	// the interval, each half of which is at least as long as half of 10^k.
	nearest := (v + 1 + v>>2&1) >> 2
	if lower > 4*s {
		s = nearest
	}
	return s, n, true
}

// quarterUnits returns c * 5^n * 2^(3-down), rounded down, with the lowest bit set
// if it is not exact.
func quarterUnits(c uint64, n int, down uint) uint64 {
	hi, lo := bits.Mul64(c<<3, fives[n])
	v := hi<<(64-down) | lo>>down
	if lo&(1<<down-1) != 0 {
		v |= 1
	}
	return v
}
