package clmath

import "fmt"

// Replay recomputes from a Swap event what the event does not contain: which
// ticks were crossed and the exact fee growth.
//
// With the pool before the swap, the event determines every rounding. A step
// ends at the next initialised tick within the current bitmap word, or at the
// word's edge, and every stop up to the final price is a full step. The input
// that is left after the full steps belongs to the last step, fee included. Its
// fee is left - floor(left * (1 - f)). That holds for exact input, exact output
// and price limits alike: rounding an input up adds less than 1, and the factor
// 1 - f is below 1.
//
// The caller has the ticks and runs the loop:
//
//	for {
//		stop, initialised := next stop from r.Tick in direction r.Down
//		if !r.StepTo(stop, sqrt price of stop) {
//			break
//		}
//		if initialised {
//			flip the tick's growth outside, with r.GrowthX128 as the input token's
//			r.Cross(liquidityNet)
//		}
//	}
//	err := r.Finish(event's tick, event's liquidity)
type Replay struct {
	SqrtPriceX96 U256
	Tick         int32
	Liquidity    U128
	GrowthX128   U256 // global fee growth of the input token
	Down         bool // the price falls: token0 is the input (zeroForOne)
	Fees         U256 // raw fees paid to liquidity so far, without the protocol's part
	In           U256 // raw input of the whole swap, fee included

	inputLeft   U256 // input of the steps still to come, fee included
	end         U256 // the event's price
	fee         uint32
	protocolFee uint32 // of this direction
	impossible  bool   // the steps need more input or liquidity than there is
}

// Direction returns the direction of a swap from its event: whether the price
// fell, or if it did not move, whether token0 was the input. nothing is true if
// price, tick and amounts are all unchanged: a hook took the whole amount.
func Direction(
	before, after *U256, tickBefore, tickAfter int32, amount0, amount1 I128,
) (down, nothing bool) {
	switch {
	case !after.Eq(before):
		return after.Lt(before), false
	case amount0 != amount1:
		return amount0.Sign() < 0 || amount1.Sign() > 0, false
	}
	return tickAfter < tickBefore, amount0.Sign() == 0 && tickAfter == tickBefore
}

// Begin sets r to the pool before the swap. growth is the input token's, and
// amountIn the event's amount of it, negative if paid into the pool. end and fee
// are the event's price and fee. protocolFee is the pool's, of both directions.
func (r *Replay) Begin(sqrtPrice *U256, tick int32, liquidity U128, growth *U256, down bool,
	amountIn I128, end *U256, fee, protocolFee uint32,
) {
	*r = Replay{
		SqrtPriceX96: *sqrtPrice, Tick: tick, Liquidity: liquidity, GrowthX128: *growth, Down: down,
		end: *end, fee: fee, protocolFee: ProtocolFeeOf(protocolFee, down),
	}
	r.impossible = amountIn.Sign() > 0
	r.In = amountIn.Abs().U256()
	r.inputLeft = r.In
}

// ProtocolFeeOf returns a pool's protocol fee for one direction in pips: the low
// 12 bits if the price falls, else the high ones.
func ProtocolFeeOf(protocolFee uint32, down bool) uint32 {
	if down {
		return protocolFee & 0xfff
	}
	return protocolFee >> 12
}

// StepTo takes a full step to the price of stop, unless the swap ended before it.
// It reports whether it took the step.
func (r *Replay) StepTo(stop int32, sqrtStop *U256) bool {
	if r.Down && sqrtStop.Lt(&r.end) || !r.Down && sqrtStop.Gt(&r.end) {
		return false
	}

	// A full step costs the input for the whole distance and the fee on it.
	in := inputTo(&r.SqrtPriceX96, sqrtStop, r.Liquidity, r.Down)
	fee := feeOnTop(&in, r.fee)
	in.Add(&in, &fee)
	if _, under := r.inputLeft.SubOverflow(&r.inputLeft, &in); under {
		r.impossible = true
	}

	r.addFee(&in, &fee)
	r.SqrtPriceX96 = *sqrtStop
	r.Tick = stop
	if r.Down {
		r.Tick--
	}
	return true
}

// Cross applies the liquidityNet of the initialised tick that was just reached.
func (r *Replay) Cross(net I128) {
	if r.Down {
		net = net.Neg()
	}
	var over bool
	if r.Liquidity, over = r.Liquidity.Apply(net); over {
		r.impossible = true
	}
}

// Finish takes the last step, from the last stop to the event's price, which may
// be the same. It returns an error if the event's input, tick or liquidity cannot
// be right.
func (r *Replay) Finish(tick int32, liquidity U128) error {
	if r.impossible {
		return fmt.Errorf("its price cannot be reached with an input of %s", r.In.Dec())
	}

	// All input that is left belongs to this step.
	kept, _ := mulDivWord(&r.inputLeft, uint64(Pips-r.fee), Pips)
	var fee U256
	fee.Sub(&r.inputLeft, &kept)
	r.addFee(&r.inputLeft, &fee)

	// Without a move the tick is that of the last stop, which a price alone does
	// not determine.
	if r.SqrtPriceX96.Eq(&r.end) && tick != r.Tick {
		return fmt.Errorf("the event's tick is %d; replayed %d", tick, r.Tick)
	}

	if liquidity != r.Liquidity {
		want, got := liquidity.U256(), r.Liquidity.U256()
		return fmt.Errorf("the event's liquidity is %s; replayed %s", want.Dec(), got.Dec())
	}

	r.SqrtPriceX96, r.Tick = r.end, tick
	return nil
}

// addFee adds a step's fee to the growth, without the protocol's part. That is a
// part of the step's whole input, total, or the whole fee if there is no fee but
// the protocol's.
func (r *Replay) addFee(total, fee *U256) {
	if r.protocolFee > 0 {
		cut := *fee
		if r.fee != r.protocolFee {
			cut, _ = mulDivWord(total, uint64(r.protocolFee), Pips)
		}
		fee.Sub(fee, &cut)
	}

	// With no liquidity in range the contracts credit the fee to nobody.
	if r.Liquidity.IsZero() {
		return
	}

	growth := GrowthOf(fee, r.Liquidity)
	r.GrowthX128.Add(&r.GrowthX128, &growth)
	r.Fees.Add(&r.Fees, fee)
}

// SwapFee returns the whole fee of a swap in pips, as the contracts combine the liquidity
// providers' and the protocol's: the protocol's, and lp of the rest.
func SwapFee(lp, protocol uint32) uint32 {
	return protocol + lp - uint32(uint64(protocol)*uint64(lp)/Pips)
}

// LPFee returns the liquidity providers' fee l of a swap, in pips, from the fee of
// the swap and the protocol's fee p, which are at most Pips and below Pips. It is
// the largest l with f(l) = p + l - floor(p * l / 10^6) <= fee.
//
// Let x = (fee - p) / (1 - p / 10^6). No l above x qualifies, because f(l) is at
// least p + l * (1 - p / 10^6). floor(x) does, because f(floor(x)) < fee + 1.
func LPFee(fee, protocol uint32) uint32 {
	if fee < protocol {
		return 0
	}
	return uint32(uint64(fee-protocol) * Pips / uint64(Pips-protocol))
}
