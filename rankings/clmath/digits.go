package clmath

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Eight digits are computed at once in the bytes of one word, which takes 4 ns,
// because the divisions do not depend on each other.

const asciiZeros = 0x3030303030303030

// eightDigits returns the eight ASCII digits of v, which is below 10^8, with
// leading zeros; the first digit is in the lowest byte.
func eightDigits(v uint64) uint64 {
	// Halve groups of digits three times. Multiplying and shifting divides. A quotient
	// stays where it is and the rest, v - 10000 * quotient at first, moves up.
	high := v * 109951163 >> 40
	fours := v<<32 - high*(1e4<<32-1)
	high = fours * 5243 >> 19 & 0x0000007f_0000007f
	twos := fours<<16 - high*(100<<16-1)
	high = twos * 103 >> 10 & 0x000f000f_000f000f
	return asciiZeros | (twos<<8 - high*(10<<8-1))
}

// put8 stores exactly eight digits.
func put8(out []byte, v uint64) { binary.LittleEndian.PutUint64(out, eightDigits(v)) }

// putLeading stores v, which is below 10^8, without leading zeros, and returns how
// many digits it has. It may store eight bytes.
func putLeading(out []byte, v uint64) int {
	digits := eightDigits(v)
	zeros := zerosBefore(digits)
	binary.LittleEndian.PutUint64(out, digits>>(8*zeros))
	return 8 - zeros
}

// zerosBefore returns how many digits of eight are zeros before any other.
func zerosBefore(digits uint64) int { return bits.TrailingZeros64(digits^asciiZeros) / 8 }

// zerosBehind returns how many digits of eight are zeros behind any other.
func zerosBehind(digits uint64) int { return bits.LeadingZeros64(digits^asciiZeros) / 8 }

// wordRoom is the room that an integer is given: three times eight digits.
const wordRoom = 24

// AppendUint appends v in decimal, without leading zeros.
func AppendUint(dst []byte, v uint64) []byte {
	if v < 10 {
		return append(dst, byte('0'+v))
	}

	n := len(dst)
	dst = slices.Grow(dst, wordRoom)[:n+wordRoom]
	switch {
	case v < 1e8:
		n += putLeading(dst[n:], v)
	case v < 1e16:
		n += putLeading(dst[n:], v/1e8)
		put8(dst[n:], v%1e8)
		n += 8
	default:
		n += putLeading(dst[n:], v/1e16)
		put8(dst[n:], v/1e8%1e8)
		put8(dst[n+8:], v%1e8)
		n += 16
	}
	return dst[:n]
}
