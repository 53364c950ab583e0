package consistency

import (
	"math/big"
	"testing"

	"tidemark/rankings/clmath"
)

// The square roots of prices are those of the contracts, which the node's own
// arithmetic has too.
func TestSqrtPriceAtTick(t *testing.T) {
	f := func(tick int64) {
		t.Helper()
		want := clmath.SqrtPriceAtTick(int32(tick))
		if got := sqrtPriceAtTick(tick); got.String() != want.Dec() {
			t.Errorf("tick %d: %s; want %s", tick, got, want.Dec())
		}
	}

	f(0)
	f(1)
	f(-1)
	f(clmath.MinTick)
	f(clmath.MaxTick)
	for tick := int64(-887_000); tick < 887_000; tick += 1777 {
		f(tick)
	}
}

func TestDecimalOf(t *testing.T) {
	f := func(raw string, decimals int, want string) {
		t.Helper()
		if got := decimalOf(raw, decimals); got != want {
			t.Errorf("decimalOf(%q, %d) = %q; want %q", raw, decimals, got, want)
		}
	}

	f("0", 0, "0")
	f("0", 18, "0")
	f("1200", 0, "1200")
	f("1200", 2, "12")
	f("1230", 2, "12.3")
	f("5", 3, "0.005")
	f("1000000000000000001", 18, "1.000000000000000001")
}

func TestIntegerOf(t *testing.T) {
	f := func(text any, want string) {
		t.Helper()
		got := "none"
		if v := integerOf(text); v != nil {
			got = v.String()
		}
		if got != want {
			t.Errorf("integerOf(%v) = %s; want %s", text, got, want)
		}
	}

	f("0", "0")
	f("-17", "-17")
	f("340282366920938463463374607431768211456", "340282366920938463463374607431768211456")
	f("", "none")
	f("007", "none")
	f("+7", "none")
	f("1_000", "none")
	f("1e3", "none")
	f(7.0, "none")
	f(nil, "none")
}

func TestIsDecimal(t *testing.T) {
	f := func(v any, want bool) {
		t.Helper()
		if got := isDecimal(v); got != want {
			t.Errorf("isDecimal(%v) = %v; want %v", v, got, want)
		}
	}

	f("0", true)
	f("12.05", true)
	f("12.50", false)
	f("12.", false)
	f(".5", false)
	f("-1", false)
	f("1e5", false)
	f("1.2.3", false)
	f(1.5, false)
	f(nil, false)
}

// What liquidity holds below, within and above its range.
func TestPrincipal(t *testing.T) {
	liquidity := big.NewInt(1_000_000)
	f := func(tick int64, want0, want1 string) {
		t.Helper()
		amount0, amount1 := principal(liquidity, sqrtPriceAtTick(tick), sqrtPriceAtTick(-1000), sqrtPriceAtTick(1000))
		if amount0.String() != want0 || amount1.String() != want1 {
			t.Errorf("at tick %d: %s and %s; want %s and %s", tick, amount0, amount1, want0, want1)
		}
	}

	f(-5000, "100036", "0")
	f(0, "48768", "48768")
	f(5000, "0", "100036")
}
