package clmath

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// scaledDigits is how many digits AppendScaled makes of those that it is given, with zeros
// at the end: one, and two words of eight, which stay in registers until they are stored.
//
//	1234567 * 10^-3     1 23456700 00000000, with the point behind the fourth
//	stored              12345670000000000
//	again, from 4 on    1234.5670000000000
//	cut                 1234.567
const scaledDigits = 17

// scaledRoom is the room for 0., 21 zeros and the digits.
const scaledRoom = 40

// AppendScaled appends digits * 10^-decimals as AppendAmount does. digits is above 0
// and below 10^17, and decimals is at most 22.
func AppendScaled(dst []byte, digits uint64, decimals int) []byte {
	n := len(dst)
	dst = slices.Grow(dst, scaledRoom)[:n+scaledRoom]
	out := dst[n:]

	length := digitCount(digits)
	digits *= powers[scaledDigits-length]
	point := length - decimals
	if point <= 0 {
		copy(out, "0.0000000000000000000000")
		out = out[2-point:]
	}

	upper := digits / 1e8
	first := upper / 1e8
	high, low := eightDigits(upper-first*1e8), eightDigits(digits-upper*1e8)
	out[0] = byte('0' + first)
	binary.LittleEndian.PutUint64(out[1:], high)
	binary.LittleEndian.PutUint64(out[9:], low)

	// Zeros at the end are cut, but only behind the point.
	zeros := zerosBehind(low)
	if zeros == 8 {
		zeros += zerosBehind(high)
	}
	switch {
	case point <= 0:
		return dst[:n+2-point+scaledDigits-zeros]
	case zeros >= scaledDigits-point:
		return dst[:n+point]
	}

	high, low = dropDigits(high, low, point-1)
	out[point] = '.'
	binary.LittleEndian.PutUint64(out[point+1:], high)
	binary.LittleEndian.PutUint64(out[point+9:], low)
	return dst[:n+1+scaledDigits-zeros]
}

// powers are the powers of ten below 2^64.
var powers = func() (p [20]uint64) {
	p[0] = 1
	for i := range p[1:] {
		p[i+1] = 10 * p[i]
	}
	return p
}()

// digitCount returns how many digits v has, which is above 0.
func digitCount(v uint64) int {
	n := bits.Len64(v) * 1233 >> 12 // times log10(2), rounded down
	if v >= powers[n] {
		n++
	}
	return n
}

// dropDigits drops the first n of sixteen digits.
func dropDigits(high, low uint64, n int) (uint64, uint64) {
	if n >= 8 {
		return low >> (8 * (n - 8)), 0
	}
	return high>>(8*n) | low<<(64-8*n), low >> (8 * n)
}
