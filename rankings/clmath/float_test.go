package clmath

import (
	"math"
	"math/big"
	"testing"
)

func TestFromFloat(t *testing.T) {
	f := func(x float64, want string) {
		t.Helper()
		v := FromFloat(x)
		if got := v.Dec(); got != want {
			t.Errorf("%g: got %s; want %s", x, got, want)
		}
	}

	largest := new(big.Int).Lsh(big.NewInt(1), 256)
	largest.Sub(largest, big.NewInt(1))
	f(0, "0")
	f(-5, "0")
	f(math.NaN(), "0")
	f(0.999, "0")
	f(1, "1")
	f(2.999, "2")
	f(1e15+0.5, "1000000000000000")
	f(1<<53+2, "9007199254740994")
	f(1e22, "10000000000000000000000")
	f(0x1p128, "340282366920938463463374607431768211456")
	f(math.Inf(1), largest.String())
	f(0x1p256, largest.String())

	for x := 1.7; x < 0x1p255; x *= 3.3 {
		exact, _ := big.NewFloat(x).Int(nil)
		f(x, exact.String())
	}
}

func TestWordFloat(t *testing.T) {
	f := func(w uint64) {
		t.Helper()
		if got := WordFloat(w); got != float64(w) {
			t.Errorf("%#x: got %x; want %x", w, got, float64(w))
		}
	}

	// Halves of the last place and what is next to them, at every length.
	for n := range 64 {
		for _, tail := range []uint64{0, 1, 1 << 10, 1<<10 - 1, 1<<10 + 1, 1<<11 - 1, 3 << 10, 1<<32 - 1} {
			f(1<<n | tail)
			f(1<<63 | 1<<n | tail)
			f((1<<63 | tail) >> n)
			f(^uint64(0)<<n | tail)
			f(^tail >> n)
		}
	}
}
