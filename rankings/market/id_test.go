package market

import (
	"math"
	"testing"
)

// A price that becomes known, or unknown, is another one.
func TestSameValue(t *testing.T) {
	f := func(a, b float64, want bool) {
		t.Helper()
		if got := SameValue(a, b); got != want {
			t.Errorf("%v and %v: same %t; want %t", a, b, got, want)
		}
	}

	unknown := math.NaN()
	f(1, 1, true)
	f(1, 2, false)
	f(unknown, unknown, true)
	f(unknown, math.Float64frombits(math.Float64bits(unknown)+1), true)
	f(unknown, 1, false)
	f(1, unknown, false)
}
