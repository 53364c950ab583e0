package clmath

import "testing"

func TestDirection(t *testing.T) {
	one := I128{Lo: 1}
	f := func(before, after uint64, ticks [2]int32, amount0, amount1 I128, down, nothing bool) {
		t.Helper()
		gotDown, gotNothing := Direction(&U256{before}, &U256{after}, ticks[0], ticks[1], amount0, amount1)
		if gotDown != down || gotNothing != nothing {
			t.Errorf("%d to %d, ticks %d, amounts %v and %v: got %v, %v; want %v, %v",
				before, after, ticks, amount0, amount1, gotDown, gotNothing, down, nothing)
		}
	}

	same := [2]int32{7, 7}
	f(9, 8, same, one, one.Neg(), true, false)
	f(8, 9, same, one.Neg(), one, false, false)
	f(9, 9, same, one.Neg(), I128{}, true, false) // token0 in
	f(9, 9, same, I128{}, one, true, false)       // token1 out
	f(9, 9, same, I128{}, one.Neg(), false, false)
	f(9, 9, same, one, I128{}, false, false)
	f(9, 9, same, I128{}, I128{}, false, true)
	f(9, 9, [2]int32{7, 6}, I128{}, I128{}, true, false)
	f(9, 9, [2]int32{6, 7}, I128{}, I128{}, false, false)
}

// TestReplayStops: a stop at the end of the swap is a full step, one behind it is
// not.
func TestReplayStops(t *testing.T) {
	liquidity := U128{Lo: 1e18}
	f := func(down bool, stop, end int32, want bool) {
		t.Helper()
		start, to, last := SqrtPriceAtTick(0), SqrtPriceAtTick(stop), SqrtPriceAtTick(end)
		var r Replay
		r.Begin(&start, 0, liquidity, &U256{}, down, I128{Lo: 1e18}.Neg(), &last, 3000, 0)
		if got := r.StepTo(stop, &to); got != want {
			t.Errorf("StepTo(%d) of a swap to %d: got %v; want %v", stop, end, got, want)
		}
	}

	f(true, -60, -61, true)
	f(true, -60, -60, true)
	f(true, -60, -59, false)
	f(false, 60, 61, true)
	f(false, 60, 60, true)
	f(false, 60, 59, false)
}

// TestReplayFinish: what an event says of input, tick and liquidity has to be what
// the steps give.
func TestReplayFinish(t *testing.T) {
	liquidity := U128{Lo: 1e18}
	price, stop := SqrtPriceAtTick(0), SqrtPriceAtTick(-60)
	cost := Amount0(&stop, &price, liquidity, true)
	f := func(name string, want bool, input uint64, net I128, tick int32, after U128) {
		t.Helper()
		var r Replay
		r.Begin(&price, 0, liquidity, &U256{}, true, I128{Lo: input}.Neg(), &stop, 0, 0)
		r.StepTo(-60, &stop)
		r.Cross(net)
		if err := r.Finish(tick, after); (err == nil) != want {
			t.Errorf("%s: got %v; want ok = %v", name, err, want)
		}
	}

	exact, none := cost[0], I128{}
	f("the exact input", true, exact, none, -61, liquidity)
	f("more input", true, exact+5, none, -61, liquidity)
	f("less input", false, exact-1, none, -61, liquidity)
	f("another tick", false, exact, none, -60, liquidity)
	f("all liquidity leaves", true, exact, I128{Lo: 1e18}, -61, U128{})
	f("more liquidity leaves than there is", false, exact, I128{Lo: 1e18 + 1}, -61,
		U128{Lo: ^uint64(0), Hi: ^uint64(0)})
	f("other liquidity", false, exact, none, -61, U128{Lo: 1})

	// A swap that moves nothing may have an input of 0, or none at all.
	var r Replay
	r.Begin(&price, 0, liquidity, &U256{}, true, I128{}, &price, 3000, 0)
	if err := r.Finish(0, liquidity); err != nil {
		t.Errorf("no input: %v", err)
	}
}

// TestReplayFees: the protocol takes its part of the whole input, or the whole fee
// if that is its own, and liquidity the rest; nobody gets it without liquidity.
func TestReplayFees(t *testing.T) {
	price := SqrtPriceAtTick(0)
	f := func(fee, protocol uint32, liquidity U128, want uint64) {
		t.Helper()
		var r Replay
		r.Begin(&price, 0, liquidity, &U256{}, true, I128{Lo: 1e6}.Neg(), &price, fee, protocol)
		if err := r.Finish(0, liquidity); err != nil {
			t.Fatal(err)
		}
		growth := U256{}
		if !liquidity.IsZero() {
			growth = GrowthOf(&U256{want}, liquidity)
		}
		if r.Fees != (U256{want}) || r.GrowthX128 != growth {
			t.Errorf("fee %d, protocol %d: got %s, growth %s; want %d", fee, protocol,
				r.Fees.Dec(), r.GrowthX128.Dec(), want)
		}
	}

	some := U128{Lo: 1e18}
	f(3000, 0, some, 3000)
	f(3000, 1000, some, 2000)
	f(3000, 1000<<12, some, 3000) // of the other direction
	f(1000, 1000, some, 0)
	f(Pips, 1000, some, 999_000)
	f(3000, 0, U128{}, 0)
}

func TestLPFeeBounds(t *testing.T) {
	f := func(fee, protocol, want uint32) {
		t.Helper()
		if got := LPFee(fee, protocol); got != want {
			t.Errorf("LPFee(%d, %d) = %d; want %d", fee, protocol, got, want)
		}
	}

	f(0, 0, 0)
	f(3000, 0, 3000)
	f(Pips, 1000, Pips)
	f(1000, 1000, 0)
	f(3997, 1000, 3000)
	f(999_999, 1000, 999_998)
	f(999, 1000, 0)

	// Against a search, for fees that no pair gives exactly too.
	for fee := uint32(0); fee <= Pips; fee += 499 {
		for _, protocol := range []uint32{0, 1, 37, 999, 1000} {
			l := uint64(fee)
			for p := uint64(protocol); l > 0 && p+l-p*l/Pips > uint64(fee); {
				l--
			}
			f(fee, protocol, uint32(l))
		}
	}
}
