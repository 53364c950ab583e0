package clmath

import "fmt"

// Replay recomputes from a Swap event everything that the event does not say:
// which ticks were crossed and what the fee growth became, to the last wei.
//
// Given the pool before the swap, the event fixes every rounding. Steps stop
// at the next initialised tick within the current bitmap word or at the word's
// edge, and every stop up to the final price was a full step, whatever made
// the swap stop there. What is left of the input after the full steps is the
// last step's, fee included; its fee is left - floor(left * (1 - f)), and that
// holds for exact input, exact output and price limits alike, because the
// excess of rounding an input up is below 1 and is scaled by less than 1.
//
// The caller walks the ticks, since it owns them:
//
//	for {
//		stop, initialised := next stop from r.Tick in direction r.Down
//		if !r.Full(stop, sqrt price of stop) {
//			break
//		}
//		if initialised {
//			flip the tick's growth outside, with r.GrowthX128 as the input token's
//			r.Cross(liquidityNet)
//		}
//	}
//	err := r.Last(event's tick, event's liquidity)
type Replay struct {
	SqrtPriceX96 U256
	Tick         int32
	Liquidity    U128
	GrowthX128   U256 // global fee growth of the input token
	Down         bool // the price falls: token0 is the input (zeroForOne)
	Fees         U256 // paid to liquidity so far, less the protocol's part
	In           U256 // input of the whole swap, fee included

	left     U256 // input not yet explained, fee included
	end      U256
	fee      uint32
	protocol uint32
	short    bool // the steps cost more than the event paid
	still    bool // the last step did not move the price
}

// Direction tells from a Swap event whether the price fell, or in a swap that
// did not move it, whether token0 was the input. Nothing happened (a hook took
// the whole amount) when none is true.
func Direction(before, after *U256, tickBefore, tickAfter int32, amount0, amount1 I128) (down, nothing bool) {
	switch {
	case !after.Eq(before):
		return after.Lt(before), false
	case amount0 != amount1:
		return amount0.Sign() < 0 || amount1.Sign() > 0, false
	}
	return tickAfter < tickBefore, amount0.Sign() == 0 && tickAfter == tickBefore
}

// Begin sets r to the pool before the swap. The growth is the input token's,
// amountIn the event's amount of it (negative: paid into the pool), end the
// event's price, fee the event's, protocolFee the pool's of both directions.
func (r *Replay) Begin(sqrtPrice *U256, tick int32, liquidity U128, growth *U256, down bool,
	amountIn I128, end *U256, fee, protocolFee uint32,
) {
	*r = Replay{
		SqrtPriceX96: *sqrtPrice, Tick: tick, Liquidity: liquidity, GrowthX128: *growth, Down: down,
		end: *end, fee: fee, protocol: ProtocolFeeOf(protocolFee, down),
	}
	r.short = amountIn.Sign() > 0
	r.In = amountIn.Abs().U256()
	r.left = r.In
}

// ProtocolFeeOf returns the part of a pool's protocol fee that a direction
// pays, in pips: the low 12 bits when the price falls, the high ones else.
func ProtocolFeeOf(protocolFee uint32, down bool) uint32 {
	if down {
		return protocolFee & 0xfff
	}
	return protocolFee >> 12
}

// Full takes the step to stop and reports true, unless the swap ended before.
func (r *Replay) Full(stop int32, sqrtStop *U256) bool {
	if r.Down && sqrtStop.Lt(&r.end) || !r.Down && sqrtStop.Gt(&r.end) {
		return false
	}

	// A full step pays for the whole way; what it leaves is for the next ones.
	in := inputTo(&r.SqrtPriceX96, sqrtStop, r.Liquidity, r.Down)
	fee := feeOn(&in, r.fee)
	in.Add(&in, &fee)
	if _, under := r.left.SubOverflow(&r.left, &in); under {
		r.short = true
	}

	r.account(&in, &fee)
	r.SqrtPriceX96 = *sqrtStop
	r.Tick = stop
	if r.Down {
		r.Tick--
	}
	return true
}

// Cross applies the liquidityNet of the initialised tick just reached.
func (r *Replay) Cross(net I128) {
	if r.Down {
		net = net.Neg()
	}
	var over bool
	if r.Liquidity, over = r.Liquidity.Apply(net); over {
		r.short = true
	}
}

// Last takes the last step, which ends at the event's price and may not move
// it, and compares what the event claims with what was replayed.
func (r *Replay) Last(tick int32, liquidity U128) error {
	if r.short {
		return fmt.Errorf("the steps to the event's price need more than its input of %s", r.In.Dec())
	}

	// The fee of the last step is whatever its input leaves after the swap.
	kept := MulDiv(&r.left, &U256{uint64(Pips - r.fee)}, &U256{Pips})
	var fee U256
	fee.Sub(&r.left, &kept)
	r.account(&r.left, &fee)

	r.still = r.SqrtPriceX96.Eq(&r.end)
	if r.still && tick != r.Tick {
		return fmt.Errorf("the event's tick is %d; replayed %d", tick, r.Tick)
	}

	if liquidity != r.Liquidity {
		want, got := liquidity.U256(), r.Liquidity.U256()
		return fmt.Errorf("the event's liquidity is %s; replayed %s", want.Dec(), got.Dec())
	}

	r.SqrtPriceX96, r.Tick = r.end, tick
	return nil
}

// account adds a step's fee to the growth, less the protocol's part, which is
// taken from the whole input, or is the whole fee when nobody else takes one.
func (r *Replay) account(total, fee *U256) {
	if r.protocol > 0 {
		cut := *fee
		if r.fee != r.protocol {
			cut = MulDiv(total, &U256{uint64(r.protocol)}, &U256{Pips})
		}
		fee.Sub(fee, &cut)
	}

	// Nobody is in range: the contracts give the fee to no one.
	if r.Liquidity.IsZero() {
		return
	}
	growth := GrowthOf(fee, r.Liquidity)
	r.GrowthX128.Add(&r.GrowthX128, &growth)
	r.Fees.Add(&r.Fees, fee)
}

// LPFee returns the liquidity providers' fee behind a swap's: the largest l
// with p + l - floor(p * l / 10^6) = fee, p being the protocol's.
func LPFee(fee, protocol uint32) uint32 {
	if protocol == 0 || fee >= Pips {
		return fee
	}
	p, l := uint64(protocol), uint64(fee)
	swapFee := func(l uint64) uint64 { return p + l - p*l/Pips }
	for l > 0 && swapFee(l) > uint64(fee) {
		l--
	}
	for l < Pips && swapFee(l+1) <= uint64(fee) {
		l++
	}
	return uint32(l)
}
