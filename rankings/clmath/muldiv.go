package clmath

import (
	"fmt"
	"math/bits"
)

var (
	maxU256 = U256{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}
	q96     = U256{0, 1 << 32}
	q128    = U256{0, 0, 1}
)

// MulDiv returns floor(x * y / d), computed with a 512-bit product. It panics if
// the quotient does not fit 256 bits; the contracts revert then.
func MulDiv(x, y, d *U256) (q U256) {
	if _, over := q.MulDivOverflow(x, y, d); over {
		panic(fmt.Sprintf("BUG: %s * %s / %s does not fit 256 bits", x.Dec(), y.Dec(), d.Dec()))
	}
	return q
}

// mulDivWord is MulDiv of words, with the remainder: one division for each word of x that
// is not 0.
func mulDivWord(x *U256, y, d uint64) (q U256, rest uint64) {
	var n [5]uint64
	n[0], n[1], n[2], n[3], n[4] = mulWord(x, y)
	if rest = n[4]; rest >= d {
		panic(fmt.Sprintf("BUG: %s * %d / %d does not fit 256 bits", x.Dec(), y, d))
	}

	for i := len(q) - 1; i >= 0; i-- {
		if n[i]|rest != 0 {
			q[i], rest = bits.Div64(rest, n[i], d)
		}
	}
	return q, rest
}

// MulDivUp is MulDiv rounded up. The remainder x*y - q*d is below d, so its low
// 256 bits tell whether it is 0.
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

// wide is a 384-bit integer, six little-endian words. Functions take and fill it by its
// address: a copy reads two words at once, and waits until both are written.
type wide [6]uint64

// setProduct sets w to a * b in full.
func (w *wide) setProduct(a *U256, b U128) {
	var c uint64
	w[0], w[1], w[2], w[3], w[4] = mulWord(a, b.Lo)
	x0, x1, x2, x3, x4 := mulWord(a, b.Hi)
	w[1], c = bits.Add64(w[1], x0, 0)
	w[2], c = bits.Add64(w[2], x1, c)
	w[3], c = bits.Add64(w[3], x2, c)
	w[4], c = bits.Add64(w[4], x3, c)
	w[5] = x4 + c
}

// setPrices sets w to the product of two prices. They are below 2^160, so their top
// words are 0 and the product fits.
func (w *wide) setPrices(a, b *U256) {
	w.setProduct(a, U128{b[0], b[1]})
	var c uint64
	x0, x1, x2, x3, _ := mulWord(a, b[2])
	w[2], c = bits.Add64(w[2], x0, 0)
	w[3], c = bits.Add64(w[3], x1, c)
	w[4], c = bits.Add64(w[4], x2, c)
	w[5] += x3 + c
}

// mulWord returns a * b, five words.
func mulWord(a *U256, b uint64) (w0, w1, w2, w3, w4 uint64) {
	var c uint64
	h0, w0 := bits.Mul64(a[0], b)
	h1, l1 := bits.Mul64(a[1], b)
	h2, l2 := bits.Mul64(a[2], b)
	h3, l3 := bits.Mul64(a[3], b)
	w1, c = bits.Add64(l1, h0, 0)
	w2, c = bits.Add64(l2, h1, c)
	w3, c = bits.Add64(l3, h2, c)
	return w0, w1, w2, w3, h3 + c
}

// shift96 multiplies w by 2^96 modulo 2^384.
func (w *wide) shift96() {
	w[0], w[1], w[2], w[3], w[4], w[5] = 0, w[0]<<32, w[0]>>32|w[1]<<32, w[1]>>32|w[2]<<32,
		w[2]>>32|w[3]<<32, w[3]>>32|w[4]<<32
}

// divWide sets q, which is 0, to floor(n / d) modulo 2^256, and returns whether there is a
// remainder. d is at least 2^64; it is normalised in place, so the caller loses it. It is
// Knuth's algorithm D (TAOCP 4.3.1): one division of words for each word of the quotient
// that is not 0.
func divWide(q *U256, n, d *wide) (rest bool) {
	words := len(d)
	for d[words-1] == 0 {
		words--
	}

	// Normalise: shift both until the top bit of the divisor is set, which keeps
	// each estimated digit within two of the true one.
	s := uint(bits.LeadingZeros64(d[words-1]))
	var u [len(n) + 1]uint64
	u[len(n)] = n[len(n)-1] >> (64 - s)
	for i := len(n) - 1; i > 0; i-- {
		u[i] = n[i]<<s | n[i-1]>>(64-s)
		d[i] = d[i]<<s | d[i-1]>>(64-s)
	}
	u[0], d[0] = n[0]<<s, d[0]<<s

	for j := len(n) - words; j >= 0; j-- {
		if digit := divDigit(u[j:j+words+1], d[:words]); j < len(q) {
			q[j] = digit
		}
	}

	for _, word := range u {
		rest = rest || word != 0
	}
	return rest
}

// divDigit divides u by d and leaves the remainder in u. The quotient fits one
// word: d has its top bit set and is one word shorter than u.
func divDigit(u, d []uint64) uint64 {
	k := len(d)
	top, next := d[k-1], d[k-2]
	if u[k] == 0 && u[k-1] < top {
		return 0
	}

	// Estimate the digit from the top two words, then correct it by the next word of d.
	// It is then one too large at most: if it were two, hi would pass left by almost top.
	digit, left := ^uint64(0), u[k-1]+top
	over := left < top // left overflows a word, so the estimate needs no correction
	if u[k] < top {
		digit, left = bits.Div64(u[k], u[k-1], top)
		over = false
	}
	for !over {
		if hi, _ := bits.Mul64(digit, next); hi <= left {
			break
		}
		digit--
		left += top
		over = left < top
	}

	// Subtract digit * d.
	var carry, borrow uint64
	for i := range d {
		hi, lo := bits.Mul64(digit, d[i])
		lo, c := bits.Add64(lo, carry, 0)
		u[i], borrow = bits.Sub64(u[i], lo, borrow)
		carry = hi + c
	}
	u[k], borrow = bits.Sub64(u[k], carry, borrow)

	// The estimate was one too large: add d back.
	if borrow != 0 {
		digit--
		var c uint64
		for i := range d {
			u[i], c = bits.Add64(u[i], d[i], c)
		}
		u[k] += c
	}
	return digit
}
