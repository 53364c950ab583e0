package chart

import (
	"math"
	"testing"

	"tidemark/rankings/clmath"
)

// TestPowerOfTick: the power of every tick, and of the middle of every two, is that of
// math.Pow to the last bit.
func TestPowerOfTick(t *testing.T) {
	for n := 2 * clmath.MinTick; n <= 2*clmath.MaxTick; n++ {
		tick := float64(n) / 2
		if got, want := powerOfTick(tick), math.Pow(1.0001, tick); got != want {
			t.Fatalf("1.0001^%v is %v; want %v", tick, got, want)
		}
	}
}

func BenchmarkPowerOfTick(b *testing.B) { benchmarkPower(b, powerOfTick) }

// BenchmarkPow is the reference for BenchmarkPowerOfTick.
func BenchmarkPow(b *testing.B) {
	benchmarkPower(b, func(tick float64) float64 { return math.Pow(1.0001, tick) })
}

func benchmarkPower(b *testing.B, power func(float64) float64) {
	sum := 0.0
	for i := 0; b.Loop(); i++ {
		sum += power(float64(i*7919%400_000-200_000) / 2)
	}
	if sum == 0 {
		b.Fatal("the powers are 0")
	}
}
