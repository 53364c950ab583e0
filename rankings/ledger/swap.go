package ledger

import (
	"fmt"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// applySwap replays a swap from its event; see clmath.Replay. The event's price,
// tick, liquidity and, in a pool with a static fee, its fee must match the replay.
func (l *Ledger) applySwap(e *market.Swap) error {
	i, err := l.findPool(&e.Pool)
	if err != nil || l.st.Pools.At(i).Quarantined {
		return err
	}

	p := Pools.edit(l, i)
	end := &e.SqrtPriceX96
	down, nothing := clmath.Direction(&p.SqrtPriceX96, end, p.Tick, e.Tick, e.Amount0, e.Amount1)
	if err := l.checkSwap(p, e, down, nothing); err != nil {
		return err
	}

	// Before the price moves, because a new day opens at the old price.
	l.touchDay(i)

	growth, other := &p.FeeGrowthGlobal1X128, &p.FeeGrowthGlobal0X128
	in, out := e.Amount1, e.Amount0
	if down {
		growth, other, in, out = other, growth, out, in
	}

	r := &l.replay
	r.Begin(&p.SqrtPriceX96, p.Tick, p.Liquidity, growth, down, in, end, e.Fee, p.ProtocolFee)
	if !nothing {
		l.replaySteps(i, p.TickSpacing, other)
	}

	if err := r.Finish(e.Tick, e.Liquidity); err != nil {
		return l.refuseSwap(e, in)
	}

	// The event agrees with the replay; change the pool.
	*growth = r.GrowthX128
	p.SqrtPriceX96, p.Tick, p.Liquidity = r.SqrtPriceX96, r.Tick, r.Liquidity
	p.LastFee = p.Fee
	if p.IsDynamic() {
		p.LastFee = clmath.LPFee(e.Fee, clmath.ProtocolFeeOf(p.ProtocolFee, down))
	}

	p.LastSwapAt = l.time
	p.Swaps++
	l.addSwapTotals(i, p, out)
	return nil
}

// refuseSwap names the quantity in which event and replay differ.
func (l *Ledger) refuseSwap(e *market.Swap, in clmath.I128) error {
	r := &l.replay
	switch {
	case e.Liquidity != r.Liquidity:
		return l.refuse("liquidity", unsigned(e.Liquidity), unsigned(r.Liquidity))
	case e.Tick != r.Tick && e.SqrtPriceX96 == r.SqrtPriceX96:
		return l.refuse("tick", e.Tick, r.Tick)
	}
	return l.refuse("input", signed(in), "enough to reach its price")
}

// checkSwap refuses values that no swap can have, before they are used: a price
// out of bounds would never be reached, and a fee above 100 % or below the
// protocol's would wrap.
//
// No swap moves the price to the lower bound, but a pool can be initialised there
// and a swap too small to move the price leaves it there; no pool is ever at the
// upper bound. A pool with a static fee takes just that. The last step takes the
// event's tick as it is, so that must be the tick of its price.
func (l *Ledger) checkSwap(p *market.Pool, e *market.Swap, down, nothing bool) error {
	end := &e.SqrtPriceX96
	protocol := clmath.ProtocolFeeOf(p.ProtocolFee, down)
	switch {
	case end.Lt(&clmath.MinSqrtPrice) || !end.Lt(&clmath.MaxSqrtPrice):
		return l.refuse("sqrtPriceX96", end.Dec(), priceRange)
	case e.Tick < clmath.MinTick || e.Tick >= clmath.MaxTick:
		return l.refuse("tick", e.Tick, fmt.Sprintf("%d to %d", clmath.MinTick, clmath.MaxTick-1))
	case e.Fee > clmath.Pips || e.Fee < protocol && !nothing:
		return l.refuse("fee", e.Fee, fmt.Sprintf("%d to %d", protocol, clmath.Pips))
	case !p.IsDynamic() && !nothing && e.Fee != clmath.SwapFee(p.Fee, protocol):
		return l.refuse("fee", e.Fee, clmath.SwapFee(p.Fee, protocol))
	}

	// The price may equal that of the next tick: a falling price that stopped there.
	if !clmath.WithinTick(end, e.Tick) {
		return l.refuse("tick", e.Tick, clmath.TickAtSqrtPrice(end))
	}
	return nil
}

// priceRange describes the prices that a pool can have.
var priceRange = fmt.Sprintf("%s to below %s", clmath.MinSqrtPrice.Dec(), clmath.MaxSqrtPrice.Dec())

// replaySteps takes the full steps of the swap in l.replay, to every initialised
// tick and every word edge up to the event's price. other is the fee growth of
// the output token.
func (l *Ledger) replaySteps(pool uint32, spacing int32, other *clmath.U256) {
	r := &l.replay
	refs := l.st.TickLists.At(pool)
	k := market.FirstAbove(refs, r.Tick)
	if r.Down {
		k--
	}

	for {
		// The stop is the next initialised tick, or the word's edge if that is nearer.
		stop := clmath.WordEdge(r.Tick, spacing, r.Down)
		slot := uint32(market.NoIndex)
		if k >= 0 && k < len(refs) {
			if at := refs[k].Tick; at == stop || at > stop == r.Down {
				stop, slot = at, refs[k].Slot
			}
		}

		if slot == market.NoIndex {
			if sqrt := clmath.SqrtPriceAtTick(stop); !r.StepTo(stop, &sqrt) {
				return
			}
			continue
		}
		if !r.StepTo(stop, &l.st.Ticks.At(slot).SqrtPriceX96) {
			return
		}

		l.crossTick(slot, other)
		if r.Down {
			k--
		} else {
			k++
		}
	}
}

// crossTick crosses the initialised tick that the replay has reached: it flips the
// tick's fee growth and seconds outside and applies its liquidity.
func (l *Ledger) crossTick(slot uint32, other *clmath.U256) {
	r := &l.replay
	t := Ticks.edit(l, slot)
	l.endTickHour(t)
	global0, global1 := other, &r.GrowthX128
	if r.Down {
		global0, global1 = global1, global0
	}
	t.FeeGrowthOutside0X128.Sub(global0, &t.FeeGrowthOutside0X128)
	t.FeeGrowthOutside1X128.Sub(global1, &t.FeeGrowthOutside1X128)
	t.SecondsOutside = l.clock() - t.SecondsOutside
	l.noteOutside(slot, t)
	r.Cross(t.LiquidityNet)
}
