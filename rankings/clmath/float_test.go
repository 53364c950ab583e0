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
