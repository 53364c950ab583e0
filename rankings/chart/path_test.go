package chart

import (
	"math"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// TestPath splits the way of a price at a level, in both directions.
func TestPath(t *testing.T) {
	f := func(name string, p path, level float64, want shares) {
		t.Helper()
		got := p.below(level)
		if math.Abs(got.falling-want.falling) > 1e-12 || math.Abs(got.rising-want.rising) > 1e-12 ||
			math.Abs(got.time-want.time) > 1e-12 {
			t.Errorf("%s at %g: got %+v; want %+v", name, level, got, want)
		}
	}

	// The way down from 4 to 2 is 1/4 long in 1/r, and from 4 to 3 a third of that.
	rise, fall := path{2, 4, 2, 4}, path{4, 4, 2, 2}
	for _, p := range []path{rise, fall} {
		f("one way", p, 1, shares{})
		f("one way", p, 2, shares{})
		f("one way", p, 3, shares{2.0 / 3, 1.0 / 2, 1.0 / 2})
		f("one way", p, 4, shares{1, 1, 1})
		f("one way", p, 5, shares{1, 1, 1})
	}

	// From 3 to 3: down, up and back, or up, down and back. Each end once.
	f("a day out and back", path{3, 4, 2, 3}, 3, shares{2.0 / 3, 1.0 / 2, 1.0 / 2})

	// From 2 up to 8 and back to 6: once 2-8-6, once 2-8-2-6. Below 4 it rises 2 of the
	// 6 and 4 of the 10, falls 0 of 1/6 - 1/8 and 1/4 of 1/2 - 1/8, and goes 2 + 6 of 24.
	f("up and a part back", path{2, 8, 2, 6}, 4, shares{(1.0 / 4) / (1.0/24 + 3.0/8), 6.0 / 16, 8.0 / 24})
}

// TestBelow adds up what happened below a tick: in a time at rest, in an hour on one side
// of it, and in one that is split, in which token 0 earned as the price fell.
func TestBelow(t *testing.T) {
	root := func(tick int32) float64 {
		at := clmath.SqrtPriceAtTick(tick)
		return value.Float(&at)
	}
	at := func(tick int32) End { return End{Close: clmath.SqrtPriceAtTick(tick), Tick: tick} }
	hour := func(from int64, open, high, low, end int32, falling, rising float64) passage {
		return passage{
			from: from, to: from + 3600, End: at(end),
			path: path{root(open), root(high), root(low), root(end)}, growth: [2]float64{falling, rising},
		}
	}
	r := &Replay{
		st: &market.State{Head: market.Head{Time: 4*3600 + 100}}, begin: at(-50),
		passages: []passage{
			hour(3600, -50, -10, -90, -20, 100, 10),
			hour(2*3600, -20, 200, -20, 200, 1000, 7),
			hour(3*3600, 200, 300, 0, 50, 5000, 500),
		},
	}

	f := func(tick int32, growth0, growth1, seconds float64, fees bool) {
		t.Helper()
		b := r.below(tick, &KeptTick{})
		if math.Abs(b.growth[0]-growth0) > 1e-6 || math.Abs(b.growth[1]-growth1) > 1e-6 ||
			math.Abs(b.seconds-seconds) > 1e-6 || b.splitFees != fees || b.splitTime != fees {
			t.Errorf("below %d: %+v; want %g, %g, %g, %t", tick, b, growth0, growth1, seconds, fees)
		}
	}

	f(-100, 0, 0, 0, false)
	f(301, 6100, 517, 4*3600+100, false)
	half := r.passages[1].below(0, root(0))
	f(0, 100+1000*half.falling, 10+7*half.rising, 2*3600+3600*half.time, true)
	if half.falling <= half.rising || half.rising <= 0 {
		t.Errorf("the lower half of a way up: %+v", half)
	}
}

// TestPathAddsUp: what is below a level never shrinks as the level rises.
func TestPathAddsUp(t *testing.T) {
	for _, p := range []path{{2, 4, 2, 4}, {4, 4, 2, 2}, {3, 9, 1, 2}, {3, 9, 3, 3}, {1e9, 2e9, 1, 5}} {
		var last shares

		for level := p.low; level <= p.high; level += (p.high - p.low) / 64 {
			at := p.below(level)
			if at.falling < last.falling || at.rising < last.rising || at.time < last.time ||
				max(at.falling, at.rising, at.time) > 1 {
				t.Errorf("%+v below %g: %+v; before %+v", p, level, at, last)
			}
			last = at
		}

		if !p.below(p.high).wholly() || !p.below(p.low).wholly() || p.below((p.low+p.high)/2).wholly() {
			t.Errorf("%+v: only levels between low and high split it", p)
		}
	}
}
