package clmath

import "math"

// FromFloat returns x without its fraction, 0 for what is negative or no number, and the
// largest integer for what is too large.
func FromFloat(x float64) (v U256) {
	switch {
	case !(x >= 1):
		return v
	case x >= 0x1p256:
		return *v.SetAllOne()
	}

	fraction, exponent := math.Frexp(x)
	v.SetUint64(uint64(fraction * 0x1p53))
	if exponent >= 53 {
		return *v.Lsh(&v, uint(exponent-53))
	}
	return *v.Rsh(&v, uint(53-exponent))
}
