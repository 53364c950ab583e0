package clmath

import (
	"math/bits"

	"github.com/holiman/uint256"
)

// U256 is an unsigned 256-bit integer of four words, the lowest first. Other
// packages use it only by this alias.
type U256 = uint256.Int

// U128 is an unsigned 128-bit integer.
type U128 struct{ Lo, Hi uint64 }

// I128 is a signed 128-bit integer in two's complement: the contracts' int128.
// A liquidityDelta is one too, because the contracts cast it to int128.
type I128 struct {
	Lo uint64
	Hi int64
}

// U256 returns v as 256 bits.
func (v U128) U256() U256 { return U256{v.Lo, v.Hi, 0, 0} }

// I128 returns v as a signed integer. From 2^127 on it is negative.
func (v U128) I128() I128 { return I128{v.Lo, int64(v.Hi)} }

// IsZero reports whether v is 0.
func (v U128) IsZero() bool { return v.Lo|v.Hi == 0 }

// Cmp returns -1, 0 or +1 as v is less than, equal to or greater than w.
func (v U128) Cmp(w U128) int {
	switch {
	case v.Hi < w.Hi || v.Hi == w.Hi && v.Lo < w.Lo:
		return -1
	case v == w:
		return 0
	}
	return 1
}

// Add returns v + w modulo 2^128 and whether it wrapped.
func (v U128) Add(w U128) (U128, bool) {
	lo, c := bits.Add64(v.Lo, w.Lo, 0)
	hi, c := bits.Add64(v.Hi, w.Hi, c)
	return U128{lo, hi}, c != 0
}

// Sub returns v - w modulo 2^128 and whether it wrapped.
func (v U128) Sub(w U128) (U128, bool) {
	lo, b := bits.Sub64(v.Lo, w.Lo, 0)
	hi, b := bits.Sub64(v.Hi, w.Hi, b)
	return U128{lo, hi}, b != 0
}

// Narrow returns the low 128 bits of v and whether v fits in them.
func Narrow(v *U256) (U128, bool) { return U128{v[0], v[1]}, v[2]|v[3] == 0 }

// Sign returns -1, 0 or +1.
func (v I128) Sign() int {
	switch {
	case v.Hi < 0:
		return -1
	case v.Lo == 0 && v.Hi == 0:
		return 0
	}
	return 1
}

// Abs returns the absolute value of v.
func (v I128) Abs() U128 {
	u := U128{v.Lo, uint64(v.Hi)}
	if v.Hi >= 0 {
		return u
	}
	u, _ = U128{}.Sub(u)
	return u
}

// Neg returns -v modulo 2^128.
func (v I128) Neg() I128 {
	u, _ := U128{}.Sub(U128{v.Lo, uint64(v.Hi)})
	return I128{u.Lo, int64(u.Hi)}
}

// Add returns v + w modulo 2^128 and whether the signed sum overflowed.
func (v I128) Add(w I128) (I128, bool) {
	u, _ := U128{v.Lo, uint64(v.Hi)}.Add(U128{w.Lo, uint64(w.Hi)})
	sum := I128{u.Lo, int64(u.Hi)}
	return sum, v.Hi < 0 == (w.Hi < 0) && sum.Hi < 0 != (v.Hi < 0)
}

// Apply returns v + d modulo 2^128 and whether the sum does not fit a U128.
func (v U128) Apply(d I128) (U128, bool) {
	if d.Hi < 0 {
		return v.Sub(d.Abs())
	}
	return v.Add(d.Abs())
}
