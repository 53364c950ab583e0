package render

import (
	"math"
	"strconv"
	"time"

	"tidemark/rankings/clmath"
	"tidemark/rankings/value"
)

// null is the JSON of a value that is not known.
const null = "null"

// number appends a USD value, price or percentage in its shortest form, or null if
// it is not finite.
func number(dst []byte, x float64) []byte {
	abs := math.Abs(x)
	switch {
	case abs == 0:
		return append(dst, '0')
	case !(abs <= math.MaxFloat64):
		return append(dst, null...)
	case abs < 1e-6 || abs >= 1e21:
		return strconv.AppendFloat(dst, x, 'e', -1, 64)
	}

	digits, decimals, ok := shortest(abs)
	if !ok {
		// A share of 1 is frequent. Other powers of 2 and large numbers are left to
		// strconv, with the same result.
		if x == 1 {
			return append(dst, '1')
		}
		return strconv.AppendFloat(dst, x, 'f', -1, 64)
	}
	if x < 0 {
		dst = append(dst, '-')
	}
	return clmath.AppendScaled(dst, digits, decimals)
}

// percent appends an apr, feeApr or roi, clamped to its bounds.
func percent(dst []byte, x float64) []byte { return number(dst, value.ClampPercent(x)) }

// moment appends a unix time in milliseconds as RFC 3339 with milliseconds, or
// null for 0.
func moment(dst []byte, unixMilli int64) []byte {
	if unixMilli == 0 {
		return append(dst, null...)
	}
	t := time.UnixMilli(unixMilli).UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return append(t.AppendFormat(append(dst, '"'), "2006-01-02T15:04:05.000Z"), '"')
	}

	// The same bytes in a third of the time.
	hour, minute, second := t.Clock()
	dst = twoDigits(twoDigits(append(dst, '"'), year/100), year%100)
	dst = twoDigits(append(dst, '-'), int(month))
	dst = twoDigits(append(dst, '-'), day)
	dst = twoDigits(append(dst, 'T'), hour)
	dst = twoDigits(append(dst, ':'), minute)
	dst = twoDigits(append(dst, ':'), second)
	millis := t.Nanosecond() / 1e6
	return append(twoDigits(append(dst, '.', byte('0'+millis/100)), millis%100), 'Z', '"')
}

// twoDigits appends a number below 100.
func twoDigits(dst []byte, n int) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// integer appends an integer. JSON clients read it as a float, so it must be below
// 2^53 or in quotes.
func integer[T ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64](dst []byte, n T) []byte {
	if n < 0 {
		return strconv.AppendInt(dst, int64(n), 10)
	}
	return clmath.AppendUint(dst, uint64(n))
}

// quoted appends an integer of any size as a string.
func quoted(dst []byte, v *clmath.U256) []byte {
	return append(clmath.AppendDecimal(append(dst, '"'), v), '"')
}

// signed appends an integer with its sign as a string.
func signed(dst []byte, v clmath.I128) []byte {
	dst = append(dst, '"')
	if v.Sign() < 0 {
		dst = append(dst, '-')
	}
	return append(clmath.AppendDecimal(dst, new(v.Abs().U256())), '"')
}

// amount appends v * 10^-decimals exactly, as a string.
func amount(dst []byte, v *clmath.U256, decimals uint8) []byte {
	return append(clmath.AppendAmount(append(dst, '"'), v, decimals), '"')
}

// tokenAmount appends v in whole tokens, or null if decimals is below 0: not known.
func tokenAmount(dst []byte, v *clmath.U256, decimals int16) []byte {
	if decimals < 0 {
		return append(dst, null...)
	}
	return amount(dst, v, uint8(decimals))
}

// boolean appends true or false.
func boolean(dst []byte, b bool) []byte { return strconv.AppendBool(dst, b) }
