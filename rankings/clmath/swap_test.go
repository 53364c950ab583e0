package clmath

import (
	"math/rand/v2"
	"testing"
)

// The fee on top of an input is rounded up, and is the input itself at 100 %.
func TestFeeOnTop(t *testing.T) {
	f := func(in uint64, fee uint32, want uint64) {
		t.Helper()
		if got := feeOnTop(&U256{in}, fee); got != (U256{want}) {
			t.Errorf("a fee of %d on %d is %s; want %d", fee, in, &got, want)
		}
	}

	f(0, 3000, 0)
	f(1, 3000, 1)
	f(997_000, 3000, 3000)
	f(997_001, 3000, 3001)
	f(5, Pips-1, 5*(Pips-1))
	f(5, Pips, 5)
	f(5, 0, 0)
}

// A swap that is computed step by step, and then replayed from its event alone,
// gives exactly the same fee growth.
func TestReplayExplainsForwardSwaps(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for i := range 30_000 {
		p := forward{
			spacing: []int32{1, 10, 60, 200}[r.IntN(4)], tick: r.Int32N(200_000) - 100_000,
			fee:      []uint32{0, 100, 500, 3000, 123457, 999999, Pips}[r.IntN(7)],
			protocol: []uint32{0, 500 | 1000<<12, 37}[r.IntN(3)],
			down:     r.IntN(2) == 0, exactIn: r.IntN(2) == 0,
		}

		// An exact output cannot pay a fee of everything.
		if p.fee == Pips {
			p.exactIn = true
		}
		p.liquidity = U128{r.Uint64()>>1 | 1<<40, uint64(r.IntN(1000))}
		p.price = SqrtPriceAtTick(p.tick)
		p.left = random(r, 100)
		p.run(t, i)
	}
}

// forward is a swap in a pool without initialised ticks: liquidity is the same
// everywhere, and steps end at word edges only.
type forward struct {
	spacing, tick int32
	price, left   U256
	liquidity     U128
	fee, protocol uint32
	down, exactIn bool
}

func (p *forward) run(t *testing.T, n int) {
	t.Helper()
	p.fee = max(p.fee, swapFeeFloor(p.protocol, p.down))

	var r Replay
	before, tickBefore := p.price, p.tick
	growth := U256{}
	var in U256

	limit := p.tick + 400*p.spacing
	if p.down {
		limit = p.tick - 400*p.spacing
	}
	limit = min(max(limit, MinTick+1), MaxTick-1)
	target := SqrtPriceAtTick(limit)

	for !p.left.IsZero() && !p.price.Eq(&target) {
		stop := WordEdge(p.tick, p.spacing, p.down)
		to := SqrtPriceAtTick(stop)
		goal := to
		if p.down == to.Lt(&target) && !to.Eq(&target) {
			goal = target
		}

		start := p.price
		next, paid, got, fee := SwapStep(&p.price, &goal, p.liquidity, &p.left, p.exactIn, p.fee)
		var total U256
		total.Add(&paid, &fee)
		in.Add(&in, &total)
		if p.exactIn {
			p.left.Sub(&p.left, &total)
		} else {
			p.left.Sub(&p.left, &got)
		}

		if cut := ProtocolFeeOf(p.protocol, p.down); cut > 0 {
			part := MulDiv(&total, &U256{uint64(cut)}, &U256{Pips})
			if cut == p.fee {
				part = fee
			}
			fee.Sub(&fee, &part)
		}

		add := GrowthOf(&fee, p.liquidity)
		growth.Add(&growth, &add)

		p.price = next
		if next.Eq(&to) {
			p.tick = stop
			if p.down {
				p.tick--
			}
		} else if !next.Eq(&start) {
			p.tick = TickAtSqrtPrice(&next)
		}
	}

	// Replay the same swap from what its event would say.
	paid, _ := Narrow(&in)
	amountIn := I128{paid.Lo, int64(paid.Hi)}.Neg()
	r.Begin(&before, tickBefore, p.liquidity, &U256{}, p.down, amountIn, &p.price, p.fee, p.protocol)
	for {
		stop := WordEdge(r.Tick, p.spacing, p.down)
		to := SqrtPriceAtTick(stop)
		if !r.StepTo(stop, &to) {
			break
		}
	}

	if err := r.Finish(p.tick, p.liquidity); err != nil {
		t.Fatalf("swap %d %+v: %s", n, p, err)
	}
	if !r.GrowthX128.Eq(&growth) {
		t.Fatalf("swap %d %+v: replayed growth %s; want %s", n, p, r.GrowthX128.Dec(), growth.Dec())
	}
}

// swapFeeFloor is the least fee of a swap that pays a protocol fee.
func swapFeeFloor(protocol uint32, down bool) uint32 { return ProtocolFeeOf(protocol, down) }

func TestReplayRefuses(t *testing.T) {
	price := SqrtPriceAtTick(0)
	end := SqrtPriceAtTick(-300)
	liquidity := U128{Lo: 1 << 50}
	f := func(amount I128, tick int32, l U128) {
		t.Helper()
		var r Replay
		r.Begin(&price, 0, liquidity, &U256{}, true, amount, &end, 3000, 0)
		for {
			stop := WordEdge(r.Tick, 60, true)
			to := SqrtPriceAtTick(stop)
			if !r.StepTo(stop, &to) {
				break
			}
		}
		if err := r.Finish(tick, l); err == nil {
			t.Errorf("input %v, tick %d, liquidity %v were accepted", amount, tick, l)
		}
	}

	// Token0 was received although the price fell; then the liquidity is another.
	f(I128{Lo: 5}, -300, liquidity)
	f(I128{Lo: 1 << 55}.Neg(), -300, U128{Lo: 7})
}

func TestLPFee(t *testing.T) {
	f := func(lp, protocol uint32) {
		t.Helper()
		fee := uint32(uint64(protocol) + uint64(lp) - uint64(protocol)*uint64(lp)/Pips)
		got := LPFee(fee, protocol)
		if got < lp || uint64(protocol)+uint64(got)-uint64(protocol)*uint64(got)/Pips != uint64(fee) {
			t.Errorf("LPFee(%d, %d) = %d; want at least %d", fee, protocol, got, lp)
		}
	}

	for lp := uint32(0); lp <= Pips; lp += 997 {
		f(lp, 0)
		f(lp, 1)
		f(lp, 500)
		f(lp, 1000)
	}
}

func BenchmarkReplayStep(b *testing.B) {
	price, end := SqrtPriceAtTick(30), SqrtPriceAtTick(29)
	liquidity := U128{Lo: 1 << 60}
	b.ReportAllocs()
	for b.Loop() {
		var r Replay
		r.Begin(&price, 30, liquidity, &U256{}, true, I128{Lo: 1 << 48}.Neg(), &end, 3000, 0)
		if err := r.Finish(29, liquidity); err != nil {
			b.Fatal(err)
		}
	}
}
