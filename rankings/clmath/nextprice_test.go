package clmath

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

func u256(b *big.Int) (v U256) {
	v.SetFromBig(b)
	return v
}

// TestNextPricesAgainstBig: the prices after an input or an output are those of the
// contracts' formulas to the last digit, with the less precise one where the other does
// not fit 256 bits.
func TestNextPricesAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	fits, wide := 0, 0
	for range 20_000 {
		price, l, amount := randomPrice(r), randomLiquidity(r), random(r, 200)
		amount[0] |= 1
		p, depth, x := toBig(&price), mul(liqBig(l), bigPow(96)), toBig(&amount)
		f := func(what string, got U256, want *big.Int) {
			t.Helper()
			if got != u256(want) {
				t.Fatalf("%s: price %s, liquidity %v, amount %s: %s; want %s", what, p, l, x, got.Dec(), want)
			}
		}

		product := mul(x, p)
		sum := new(big.Int).Add(depth, product)
		want := quo(depth, new(big.Int).Add(quo(depth, p, false), x), true)
		if product.BitLen() <= 256 && sum.BitLen() <= 256 {
			want = quo(mul(depth, p), sum, true)
			fits++
		} else {
			wide++
		}
		f("token0 paid in", NextSqrtPriceFromInput(&price, l, &amount, true), want)

		if step := quo(mul(x, bigPow(96)), liqBig(l), false); step.BitLen() < 256 {
			f("token1 paid in", NextSqrtPriceFromInput(&price, l, &amount, false), step.Add(step, p))
		}
		if step := quo(mul(x, bigPow(96)), liqBig(l), true); step.Cmp(p) < 0 {
			f("token1 taken out", NextSqrtPriceFromOutput(&price, l, &amount, true), step.Sub(p, step))
		}
		if left := sub(depth, product); left.Sign() > 0 {
			if want := quo(mul(depth, p), left, true); want.BitLen() <= 256 {
				f("token0 taken out", NextSqrtPriceFromOutput(&price, l, &amount, false), want)
			}
		}
	}
	if fits < 1000 || wide < 1000 {
		t.Errorf("%d amounts by the exact formula and %d by the other are no test", fits, wide)
	}
}

// TestDivWideAgainstBig divides numbers of words at the edges, for which an estimated
// digit of the quotient is one or two too large.
func TestDivWideAgainstBig(t *testing.T) {
	edges := []uint64{0, 1, 2, 1<<63 - 1, 1 << 63, 1<<63 + 1, 1<<64 - 2, 1<<64 - 1}
	r := rand.New(rand.NewPCG(7, 8))
	number := func(words int) (w wide) {
		for i := range words {
			w[i] = edges[r.IntN(len(edges))]
		}
		return w
	}
	value := func(w wide) *big.Int {
		v := new(big.Int)
		for i := len(w) - 1; i >= 0; i-- {
			v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(w[i]))
		}
		return v
	}
	f := func(n, d wide) {
		t.Helper()
		var q U256
		numerator, divisor := n, d
		rest := divWide(&q, &numerator, &divisor)
		want, left := new(big.Int).QuoRem(value(n), value(d), new(big.Int))
		want.And(want, sub(bigPow(256), big.NewInt(1)))
		if q != u256(want) || rest != (left.Sign() != 0) {
			t.Fatalf("%v / %v = %s, rest %t; want %s, %t", n, d, q.Dec(), rest, want, left.Sign() != 0)
		}
	}

	f(wide{0, 0, 1 << 63, 1<<63 - 1}, wide{1, 0, 1 << 63}) // d is added back
	for range 50_000 {
		n, d := number(6), number(2+r.IntN(4))
		if value(d).BitLen() > 64 {
			f(n, d)
		}
	}
}
