package clmath

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// tenTo19 is the largest power of ten below 2^64; a number below it has at most
// 19 digits.
const tenTo19 = 10_000_000_000_000_000_000

// AppendDecimal appends v in decimal, without leading zeros.
func AppendDecimal(dst []byte, v *U256) []byte {
	if v[1]|v[2]|v[3] == 0 {
		return AppendUint(dst, v[0])
	}

	// Split v into groups of 19 digits, the least significant first.
	var groups [5]uint64
	n := 0
	for rest := *v; ; n++ {
		groups[n] = divByDigits19(&rest)
		if rest.IsZero() {
			break
		}
	}

	// Only the first group is printed without leading zeros.
	dst = AppendUint(dst, groups[n])
	for n--; n >= 0; n-- {
		dst = append19(dst, groups[n])
	}
	return dst
}

// AppendAmount appends v * 10^-decimals exactly: no exponent, no trailing zeros
// after the point, "0" for 0.
func AppendAmount(dst []byte, v *U256, decimals uint8) []byte {
	if decimals == 0 {
		return AppendDecimal(dst, v)
	}

	var buf [80]byte // 2^256 has 78 digits
	return AppendPoint(dst, AppendDecimal(buf[:0], v), decimals)
}

// AppendPoint is AppendAmount for an integer that is given by its digits, without
// leading zeros.
func AppendPoint(dst, digits []byte, decimals uint8) []byte {
	// Zeros at the end are dropped, but only behind the point.
	end := len(digits)
	point := end - int(decimals)
	for end > max(point, 0) && digits[end-1] == '0' {
		end--
	}

	// A value below 1 may need zeros after the point.
	if point <= 0 {
		dst = append(dst, '0')
		if end == 0 {
			return dst
		}
		dst = append(dst, '.')
		for ; point < 0; point++ {
			dst = append(dst, '0')
		}
		return append(dst, digits[:end]...)
	}

	dst = append(dst, digits[:point]...)
	if end > point {
		dst = append(dst, '.')
		dst = append(dst, digits[point:end]...)
	}
	return dst
}

// ParseDecimal parses a decimal integer below 2^256, without sign or leading
// zeros.
func ParseDecimal(s string) (v U256, err error) {
	if err := v.SetFromDecimal(s); err != nil || s[0] == '+' || len(s) > 1 && s[0] == '0' {
		return U256{}, fmt.Errorf("%.80q is not a decimal integer below 2^256", s)
	}
	return v, nil
}

// Float64 returns v rounded to a float.
func Float64(v *U256) float64 { return v.Float64() }

// ToFloat returns v * 10^-decimals as a float, for values in USD.
func ToFloat(v *U256, decimals uint8) float64 {
	if v[1]|v[2]|v[3] == 0 {
		return float64(v[0]) / pow10(decimals)
	}
	return v.Float64() / pow10(decimals)
}

// exactPowers are the powers of ten that are exact as floats.
var exactPowers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

func pow10(n uint8) float64 {
	if int(n) < len(exactPowers) {
		return exactPowers[n]
	}
	return math.Pow10(int(n))
}

// divByDigits19 divides v by 10^19 in place and returns the remainder.
func divByDigits19(v *U256) (rest uint64) {
	for i := 3; i >= 0; i-- {
		if rest == 0 && v[i] < tenTo19 {
			v[i], rest = 0, v[i] // the quotient is 0: no division
		} else {
			v[i], rest = bits.Div64(rest, v[i], tenTo19)
		}
	}
	return rest
}

// append19 appends exactly 19 digits.
func append19(dst []byte, group uint64) []byte {
	n := len(dst)
	dst = slices.Grow(dst, wordRoom)[:n+19]
	first := group / 1e16
	dst[n], dst[n+1], dst[n+2] = byte('0'+first/100), byte('0'+first/10%10), byte('0'+first%10)
	put8(dst[n+3:], group/1e8%1e8)
	put8(dst[n+11:], group%1e8)
	return dst
}
