package clmath

import "testing"

// TestFeeGrowthInside: the range is tickLower <= tick < tickUpper, and differences
// wrap.
func TestFeeGrowthInside(t *testing.T) {
	global, outsideLower, outsideUpper := U256{100}, U256{30}, U256{20}
	f := func(tick int32, want int64) {
		t.Helper()
		var w U256
		if w.SetUint64(uint64(max(want, -want))); want < 0 {
			w.Neg(&w)
		}
		if got := FeeGrowthInside(tick, -60, 60, &global, &outsideLower, &outsideUpper); got != w {
			t.Errorf("tick %d: got %s; want %d", tick, got.Dec(), want)
		}
	}

	f(MinTick, 10)
	f(-61, 10)
	f(-60, 50)
	f(59, 50)
	f(60, -10)
	f(MaxTick, -10)
}

// TestPrincipal: below its range a position is all token0, from its upper tick on
// all token1.
func TestPrincipal(t *testing.T) {
	lower, upper := SqrtPriceAtTick(-60), SqrtPriceAtTick(60)
	l := U128{Lo: 1e18}
	all0, all1 := Amount0(&lower, &upper, l, false), Amount1(&lower, &upper, l, false)
	f := func(tick int32, price U256, want0, want1 U256) {
		t.Helper()
		amount0, amount1 := Principal(tick, &price, -60, 60, &lower, &upper, l, false)
		if amount0 != want0 || amount1 != want1 {
			t.Errorf("tick %d: got %s and %s; want %s and %s", tick,
				amount0.Dec(), amount1.Dec(), want0.Dec(), want1.Dec())
		}
	}

	// The price within the lowest tick of the range is inside.
	within := lower
	within.AddUint64(&within, 1<<40)
	f(-60, within, Amount0(&within, &upper, l, false), Amount1(&lower, &within, l, false))

	below, inside, top := SqrtPriceAtTick(-61), SqrtPriceAtTick(0), SqrtPriceAtTick(59)
	f(-61, below, all0, U256{})
	f(-61, lower, all0, U256{}) // a falling price stopped on the lower tick
	f(-60, lower, all0, U256{})
	f(0, inside, Amount0(&inside, &upper, l, false), Amount1(&lower, &inside, l, false))
	f(59, top, Amount0(&top, &upper, l, false), Amount1(&lower, &top, l, false))
	f(59, upper, U256{}, all1) // a falling price stopped on the upper tick
	f(60, upper, U256{}, all1)
	f(61, SqrtPriceAtTick(61), U256{}, all1)

	// The tick decides the side, also where the price alone would say otherwise.
	above := SqrtPriceAtTick(61)
	f(60, above, U256{}, all1)
	f(-61, inside, all0, U256{})
}

// TestAmount1Rounds: a single bit below 2^96 rounds up, in either word.
func TestAmount1Rounds(t *testing.T) {
	f := func(distance U256, liquidity uint64, up bool, want uint64) {
		t.Helper()
		low, high := MinSqrtPrice, U256{}
		high.Add(&low, &distance)
		if got := Amount1(&low, &high, U128{Lo: liquidity}, up); got != (U256{want}) {
			t.Errorf("%s times %d: got %s; want %d", distance.Hex(), liquidity, got.Dec(), want)
		}
	}

	q96 := U256{0, 1 << 32}
	f(q96, 5, true, 5)
	f(q96, 5, false, 5)
	f(U256{1, 1 << 32}, 1, true, 2)
	f(U256{1, 1 << 32}, 1, false, 1)
	f(U256{0, 1<<32 + 1}, 1, true, 2)
	f(U256{0, 1<<32 + 1}, 1, false, 1)
}
