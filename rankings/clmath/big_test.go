package clmath

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The functions below are the contracts' formulas in math/big, written
// independently of the code under test.

func toBig(v *U256) *big.Int     { return v.ToBig() }
func liqBig(v U128) *big.Int     { u := v.U256(); return u.ToBig() }
func bigPow(n uint) *big.Int     { return new(big.Int).Lsh(big.NewInt(1), n) }
func mul(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }
func sub(a, b *big.Int) *big.Int { return new(big.Int).Sub(a, b) }

func quo(a, b *big.Int, up bool) *big.Int {
	q, rest := new(big.Int).QuoRem(a, b, new(big.Int))
	if up && rest.Sign() != 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// random returns a random number of up to n bits; every length is equally likely.
func random(r *rand.Rand, n int) U256 {
	var v U256
	for i := range v {
		v[i] = r.Uint64()
	}
	return *v.Rsh(&v, uint(256-r.IntN(n+1)))
}

func randomLiquidity(r *rand.Rand) U128 {
	v := random(r, 127)
	return U128{v[0] | 1, v[1]}
}

func randomPrice(r *rand.Rand) U256 {
	return SqrtPriceAtTick(r.Int32N(2*MaxTick+1) - MaxTick)
}

func TestAmountsAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		a, b, l := randomPrice(r), randomPrice(r), randomLiquidity(r)
		lo, hi := toBig(&a), toBig(&b)
		if lo.Cmp(hi) > 0 {
			lo, hi = hi, lo
		}

		for _, up := range []bool{false, true} {
			want := quo(quo(mul(mul(liqBig(l), bigPow(96)), sub(hi, lo)), hi, up), lo, up)
			if got := Amount0(&a, &b, l, up); toBig(&got).Cmp(want) != 0 {
				t.Fatalf("Amount0(%s, %s, %v, %v) = %s; want %s", a.Dec(), b.Dec(), l, up, got.Dec(), want)
			}

			want = quo(mul(liqBig(l), sub(hi, lo)), bigPow(96), up)
			if got := Amount1(&a, &b, l, up); toBig(&got).Cmp(want) != 0 {
				t.Fatalf("Amount1(%s, %s, %v, %v) = %s; want %s", a.Dec(), b.Dec(), l, up, got.Dec(), want)
			}
		}
	}
}

func TestGrowthAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		inside, last, fee, l := random(r, 256), random(r, 256), random(r, 256), randomLiquidity(r)
		diff := sub(toBig(&inside), toBig(&last))
		diff.Mod(diff, bigPow(256))
		want := quo(mul(diff, liqBig(l)), bigPow(128), false)
		if got := FeesOwed(&inside, &last, l); toBig(&got).Cmp(want) != 0 {
			t.Fatalf("FeesOwed(%s, %s, %v) = %s; want %s", inside.Dec(), last.Dec(), l, got.Dec(), want)
		}

		want = quo(mul(toBig(&fee), bigPow(128)), liqBig(l), false)
		want.Mod(want, bigPow(256))
		if got := GrowthOf(&fee, l); toBig(&got).Cmp(want) != 0 {
			t.Fatalf("GrowthOf(%s, %v) = %s; want %s", fee.Dec(), l, got.Dec(), want)
		}
	}
}

func TestMulHighAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		a, b := U128{r.Uint64(), r.Uint64()}, U128{r.Uint64(), r.Uint64()}
		want := quo(mul(liqBig(a), liqBig(b)), bigPow(128), false)
		if got := mulHigh(a, b); liqBig(got).Cmp(want) != 0 {
			t.Fatalf("mulHigh(%v, %v) = %v; want %s", a, b, got, want)
		}
	}
}

func TestMulDivUpAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 20_000 {
		x, y, d := random(r, 200), random(r, 200), random(r, 255)
		d.AddUint64(&d, 1)
		want := quo(mul(toBig(&x), toBig(&y)), toBig(&d), true)
		if want.BitLen() > 255 {
			continue
		}
		if got := MulDivUp(&x, &y, &d); toBig(&got).Cmp(want) != 0 {
			t.Fatalf("MulDivUp(%s, %s, %s) = %s; want %s", x.Dec(), y.Dec(), d.Dec(), got.Dec(), want)
		}
	}
}

func TestMulDivWordAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	f := func(x U256, y, d uint64) {
		t.Helper()
		product := mul(toBig(&x), new(big.Int).SetUint64(y))
		want, left := new(big.Int).QuoRem(product, new(big.Int).SetUint64(d), new(big.Int))
		if got, rest := mulDivWord(&x, y, d); toBig(&got).Cmp(want) != 0 || rest != left.Uint64() {
			t.Fatalf("mulDivWord(%s, %d, %d) = %s, %d; want %s, %s", x.Dec(), y, d, got.Dec(), rest, want, left)
		}
	}

	f(U256{}, Pips, Pips)
	f(maxU256, Pips, Pips)
	f(maxU256, 0, 1)
	f(maxU256, math.MaxUint64, math.MaxUint64)
	for range 20_000 {
		d := r.Uint64()>>r.IntN(64) | 1
		f(random(r, 256), r.Uint64N(d)+1, d)
		f(random(r, 190), r.Uint64(), d)
	}
}

// The factors of ticks are computed anew with 512 fractional bits.
func TestTickFactors(t *testing.T) {
	const precision = 512
	f := new(big.Int).Sqrt(quo(mul(big.NewInt(10000), bigPow(2*precision)), big.NewInt(10001), false))
	for i, got := range tickFactors {
		want := new(big.Int).Add(f, bigPow(precision-129))
		want.Rsh(want, precision-128)
		if liqBig(got).Cmp(want) != 0 {
			t.Errorf("factor %d is %x; want %x", i, liqBig(got), want)
		}
		f = new(big.Int).Rsh(mul(f, f), precision)
	}
}

// The principal of a position below its range, as every refresh computes it.
func BenchmarkAmount0(b *testing.B) {
	lower, upper := SqrtPriceAtTick(-202_000), SqrtPriceAtTick(-196_000)
	l := U128{Lo: 1 << 60, Hi: 5}
	for b.Loop() {
		Amount0(&lower, &upper, l, false)
	}
}
