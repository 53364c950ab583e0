package clmath

import "math/bits"

var (
	maxU256 = U256{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	q96     = U256{0, 1 << 32}
	q128    = U256{0, 0, 1}
)

// MulDiv returns floor(x * y / d) through a 512-bit product. It panics when
// the quotient passes 256 bits, as the contracts revert there.
func MulDiv(x, y, d *U256) (q U256) {
	if _, over := q.MulDivOverflow(x, y, d); over {
		panic("BUG: quotient passes 256 bits")
	}
	return q
}

// MulDivUp is MulDiv rounded up. The remainder is below d, so the low 256 bits
// of x*y - q*d are all of it.
func MulDivUp(x, y, d *U256) U256 {
	q := MulDiv(x, y, d)
	var product, whole U256
	product.Mul(x, y)
	whole.Mul(&q, d)
	if !product.Eq(&whole) {
		q.AddUint64(&q, 1)
	}
	return q
}

// divUp returns ceil(x / d).
func divUp(x, d *U256) U256 {
	var q, rest U256
	q.DivMod(x, d, &rest)
	if !rest.IsZero() {
		q.AddUint64(&q, 1)
	}
	return q
}

// mulHigh returns floor(a * b / 2^128).
func mulHigh(a, b U128) U128 {
	llHi, _ := bits.Mul64(a.Lo, b.Lo)
	lhHi, lhLo := bits.Mul64(a.Lo, b.Hi)
	hlHi, hlLo := bits.Mul64(a.Hi, b.Lo)
	hhHi, hhLo := bits.Mul64(a.Hi, b.Hi)
	mid, c := bits.Add64(llHi, lhLo, 0)
	_, d := bits.Add64(mid, hlLo, 0)
	lo, c := bits.Add64(lhHi, hlHi, c)
	hi := hhHi + c
	lo, c = bits.Add64(lo, hhLo, d)
	return U128{lo, hi + c}
}

// wide is a 384-bit integer, six little-endian words.
type wide [6]uint64

// mulWide returns a * b in full.
func mulWide(a *U256, b U128) (w wide) {
	addMul(w[0:5], a, b.Lo)
	addMul(w[1:6], a, b.Hi)
	return w
}

// addMul adds a * b to the five words of w. The sum always fits: the top word
// of w is 0 before.
func addMul(w []uint64, a *U256, b uint64) {
	var carry uint64
	for i := range 4 {
		hi, lo := bits.Mul64(a[i], b)
		lo, c := bits.Add64(lo, w[i], 0)
		hi += c
		lo, c = bits.Add64(lo, carry, 0)
		w[i], carry = lo, hi+c
	}
	w[4] = carry
}
