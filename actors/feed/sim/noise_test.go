package sim

import (
	"math"
	"testing"

	"tidemark/rankings/clmath"
)

func TestWave(t *testing.T) {
	var low, high, most int64
	last := wave(5, -2000, 100)
	for at := int64(-1999); at < 20_000; at++ {
		x := wave(5, at, 100)
		low, high, most = min(low, x), max(high, x), max(most, x-last, last-x)
		last = x
	}
	if low < -waveOne || high > waveOne || high-low < waveOne || most > waveOne/30 {
		t.Errorf("between %d and %d with steps up to %d; want within %d and smooth", low, high, most, waveOne)
	}
}

func TestNormal(t *testing.T) {
	d := dice{key: 7}
	var sum, squares float64
	const n = 100_000
	for range n {
		x := float64(d.normal()) / 1000
		sum, squares = sum+x, squares+x*x
	}
	if mean, deviation := sum/n, math.Sqrt(squares/n); math.Abs(mean) > 0.02 || math.Abs(deviation-1) > 0.02 {
		t.Errorf("mean %.3f, deviation %.3f; want 0 and 1", mean, deviation)
	}
}

func TestSkewed(t *testing.T) {
	d := dice{key: 8}
	const n, throws = 50, 200_000
	var got [n]float64
	for range throws {
		got[d.skewed(n)]++
	}
	for k := range n {
		if want := new(Crowd).shareOf(k, n) * throws; math.Abs(got[k]-want) > 6*math.Sqrt(want) {
			t.Errorf("%d was drawn %.0f times; want about %.0f", k, got[k], want)
		}
	}
}

func TestExp(t *testing.T) {
	f := func(usd float64) {
		t.Helper()
		if got := exp(ticksOf(usd) / 1000); math.Abs(got/usd-1) > 0.0002 {
			t.Errorf("exp(ticksOf(%g)) = %g", usd, got)
		}
	}
	f(1)
	f(3210)
	f(0.0000004)
	f(97_400)
	f(1e-15)
}

func TestWhole(t *testing.T) {
	f := func(x float64, want clmath.U128) {
		t.Helper()
		if got := whole(x); got != want {
			t.Errorf("whole(%g) = %v; want %v", x, got, want)
		}
	}

	f(0, clmath.U128{})
	f(0.99, clmath.U128{})
	f(math.NaN(), clmath.U128{})
	f(1, clmath.U128{Lo: 1})
	f(1234567.9, clmath.U128{Lo: 1234567})
	f(1<<53+2, clmath.U128{Lo: 1<<53 + 2})
	f(math.Ldexp(1, 64), clmath.U128{Hi: 1})
	f(math.Ldexp(3, 63), clmath.U128{Lo: 1 << 63, Hi: 1})
	f(math.Ldexp(1.25, 127), clmath.U128{Hi: 5 << 61})
}

// A path wanders as far in a day as its deviation says, has quiet and wild
// times, and does not depend on when it is asked.
func TestWalk(t *testing.T) {
	const vol = 100_000
	var squares float64
	calm, wild := math.Inf(1), 0.0
	for d := range int64(400) {
		step := float64(walk(9, (d+1)*day, vol) - walk(9, d*day, vol))
		squares += step * step
		rough := 0.0
		for h := range int64(24) {
			rough += math.Abs(float64(walk(9, d*day+(h+1)*3600, vol) - walk(9, d*day+h*3600, vol)))
		}
		calm, wild = math.Min(calm, rough), math.Max(wild, rough)
	}

	if deviation := math.Sqrt(squares / 400); deviation < 0.6*vol || deviation > 1.6*vol {
		t.Errorf("a day moves %.0f; want about %d", deviation, vol)
	}
	if wild < 3*calm {
		t.Errorf("the wildest day moves %.0f, the calmest %.0f; want clusters of volatility", wild, calm)
	}
}
