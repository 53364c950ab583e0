package clmath

import "testing"

func TestSqrtPriceAtTick(t *testing.T) {
	f := func(tick int32, want string) {
		t.Helper()
		if got := SqrtPriceAtTick(tick); got.Dec() != want {
			t.Errorf("SqrtPriceAtTick(%d) = %s; want %s", tick, got.Dec(), want)
		}
	}

	f(-887272, "4295128739")
	f(-887271, "4295343490")
	f(-500000, "1101692437043807371")
	f(-200001, "3598571895512902374531288")
	f(-6932, "56022262241300288188759753413")
	f(-1, "79224201403219477170569942574")
	f(0, "79228162514264337593543950336")
	f(1, "79232123823359799118286999568")
	f(60, "79466191966197645195421774833")
	f(200000, "1744244129640337381386292603617838")
	f(500001, "5697974653862357356271586713462292044632")
	f(887272, "1461446703485210103287273052203988822378723970342")
}

func TestTickAtSqrtPrice(t *testing.T) {
	for tick := int32(MinTick); tick <= MaxTick; tick += 997 {
		at := SqrtPriceAtTick(tick)
		if got := TickAtSqrtPrice(&at); got != tick {
			t.Fatalf("the price of tick %d is at tick %d", tick, got)
		}
		if tick == MinTick {
			continue
		}

		at.SubUint64(&at, 1)
		if got := TickAtSqrtPrice(&at); got != tick-1 {
			t.Fatalf("the price below tick %d is at tick %d", tick, got)
		}
	}

	if got := TickAtSqrtPrice(&MaxSqrtPrice); got != MaxTick {
		t.Errorf("the highest price is at tick %d; want %d", got, MaxTick)
	}
}

func TestWithinTick(t *testing.T) {
	f := func(price *U256, tick int32, want bool) {
		t.Helper()
		if got := WithinTick(price, tick); got != want {
			t.Fatalf("WithinTick(%s, %d) = %v; want %v", price.Dec(), tick, got, want)
		}
	}

	one := U256{1}
	for tick := int32(MinTick + 1); tick < MaxTick; tick += 499 {
		at, next := SqrtPriceAtTick(tick), SqrtPriceAtTick(tick+1)
		var before, after U256
		before.Sub(&at, &one)
		after.Add(&next, &one)
		f(&before, tick-1, true)
		f(&before, tick, false)
		f(&at, tick-1, true)
		f(&at, tick, true)
		f(&next, tick, true)
		f(&after, tick, false)
	}
}

// TestGuessTick holds guesses against the prices of ticks, where they are exact.
func TestGuessTick(t *testing.T) {
	for tick := int32(MinTick); tick <= MaxTick; tick += 97 {
		at := SqrtPriceAtTick(tick)
		if off := guessTick(&at) - float64(tick); max(off, -off) > guessMargin/100 {
			t.Errorf("the price of tick %d is guessed %g off", tick, off)
		}
	}
}

func FuzzTickInverse(f *testing.F) {
	f.Add(uint64(79228162514), uint64(5), uint64(0))
	f.Add(MinSqrtPrice[0], uint64(0), uint64(0))
	f.Add(MaxSqrtPrice[0]-1, MaxSqrtPrice[1], MaxSqrtPrice[2])
	f.Add(uint64(0), uint64(1)<<32, uint64(0)) // tick 0
	f.Add(^uint64(0), uint64(1)<<32-1, uint64(0))

	f.Fuzz(func(t *testing.T, a, b, c uint64) {
		price := U256{a, b, c & 0xffffffff}
		if price.Lt(&MinSqrtPrice) || !price.Lt(&MaxSqrtPrice) {
			return
		}
		tick := TickAtSqrtPrice(&price)
		at, above := SqrtPriceAtTick(tick), SqrtPriceAtTick(tick+1)
		if at.Gt(&price) || !above.Gt(&price) {
			t.Fatalf("price %s is not within tick %d", price.Dec(), tick)
		}
		if !WithinTick(&price, tick) {
			t.Fatalf("price %s is said not to be within tick %d", price.Dec(), tick)
		}
	})
}

func TestWordEdge(t *testing.T) {
	f := func(tick, spacing int32, down bool, want int32) {
		t.Helper()
		if got := WordEdge(tick, spacing, down); got != want {
			t.Errorf("WordEdge(%d, %d, %v) = %d; want %d", tick, spacing, down, got, want)
		}
	}

	f(0, 1, true, 0)
	f(255, 1, true, 0)
	f(256, 1, true, 256)
	f(-1, 1, true, -256)
	f(0, 1, false, 255)
	f(254, 1, false, 255)
	f(255, 1, false, 511)
	f(-1, 1, false, 255)
	f(-257, 1, false, -1)
	f(59, 60, true, 0)
	f(-1, 60, true, -256*60)
	f(0, 60, false, 255*60)
	f(0, 32767, false, MaxTick)
	f(-1, 32767, true, MinTick)
}

func BenchmarkSqrtPriceAtTick(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		SqrtPriceAtTick(int32(i%1_700_000) - 850_000)
	}
}
