package clmath

import (
	"math"
	"math/big"
	"testing"
)

// edges are words at which sums carry, borrow and change their sign.
var edges = []uint64{0, 1, 2, 1<<63 - 1, 1 << 63, 1<<63 + 1, math.MaxUint64 - 1, math.MaxUint64}

func signedBig(v I128) *big.Int {
	x := mul(big.NewInt(v.Hi), bigPow(64))
	return x.Add(x, new(big.Int).SetUint64(v.Lo))
}

// wrapped returns x modulo 2^128, and whether x is in a range.
func wrapped(x, low, high *big.Int) (U128, bool) {
	var v U256
	v.SetFromBig(new(big.Int).Mod(x, bigPow(128)))
	return U128{v[0], v[1]}, x.Cmp(low) < 0 || x.Cmp(high) >= 0
}

// TestNarrowIntegersAgainstBig computes with every pair of numbers of two such words.
func TestNarrowIntegersAgainstBig(t *testing.T) {
	var all []U128
	for _, hi := range edges {
		for _, lo := range edges {
			all = append(all, U128{lo, hi})
		}
	}
	f := func(what string, a, b U128, got U128, over bool, want *big.Int, low, high *big.Int) {
		t.Helper()
		if w, wraps := wrapped(want, low, high); got != w || over != wraps {
			t.Errorf("%s of %v and %v is %v, %t; want %v, %t", what, a, b, got, over, w, wraps)
		}
	}

	zero, half, whole := new(big.Int), bigPow(127), bigPow(128)
	least := new(big.Int).Neg(half)
	for _, a := range all {
		x, s := liqBig(a), I128{a.Lo, int64(a.Hi)}
		if a.IsZero() != (x.Sign() == 0) || s.Sign() != signedBig(s).Sign() {
			t.Errorf("%v is zero %t; its sign is %d", a, a.IsZero(), s.Sign())
		}
		if got := a.I128(); got != s {
			t.Errorf("%v is %v with a sign; want %v", a, got, s)
		}
		if got := s.Abs(); liqBig(got).CmpAbs(signedBig(s)) != 0 {
			t.Errorf("|%v| is %v", s, got)
		}
		negative, _ := wrapped(new(big.Int).Neg(signedBig(s)), least, half)
		if got := s.Neg(); got != (I128{negative.Lo, int64(negative.Hi)}) {
			t.Errorf("-%v is %v", s, got)
		}

		for _, b := range all {
			y, r := liqBig(b), I128{b.Lo, int64(b.Hi)}
			sum, over := a.Add(b)
			f("the sum", a, b, sum, over, new(big.Int).Add(x, y), zero, whole)
			rest, over := a.Sub(b)
			f("the difference", a, b, rest, over, sub(x, y), zero, whole)
			changed, over := a.Apply(r)
			f("the change", a, b, changed, over, new(big.Int).Add(x, signedBig(r)), zero, whole)
			total, over := s.Add(r)
			f("the signed sum", a, b, U128{total.Lo, uint64(total.Hi)}, over,
				new(big.Int).Add(signedBig(s), signedBig(r)), least, half)
			if got := a.Cmp(b); got != x.Cmp(y) {
				t.Errorf("%v is compared to %v: %d", a, b, got)
			}

			wide := U256{a.Lo, a.Hi, b.Lo, b.Hi}
			if got, fits := Narrow(&wide); got != a || fits != b.IsZero() {
				t.Errorf("%v narrowed is %v, %t", wide, got, fits)
			}
		}
	}
}
