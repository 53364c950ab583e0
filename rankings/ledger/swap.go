package ledger

import (
	"fmt"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// swap replays a swap from its event; see clmath.Replay. What the event claims
// of price, tick, liquidity and a static pool's fee must be what the replay
// has, or logs are missing.
func (l *Ledger) swap(e *market.Swap) error {
	i, err := l.pool(&e.Pool)
	if err != nil || l.st.Pools.At(i).Quarantined {
		return err
	}

	p := Pools.edit(l, i)
	end := &e.SqrtPriceX96
	down, nothing := clmath.Direction(&p.SqrtPriceX96, end, p.Tick, e.Tick, e.Amount0, e.Amount1)
	if err := l.checkSwap(p, e, down, nothing); err != nil {
		return err
	}

	l.touchDay(i) // before the price moves: a new day opens where the old one closed
	growth, other := &p.FeeGrowthGlobal1X128, &p.FeeGrowthGlobal0X128
	in, out := e.Amount1, e.Amount0
	if down {
		growth, other, in, out = other, growth, out, in
	}

	r := &l.replay
	r.Begin(&p.SqrtPriceX96, p.Tick, p.Liquidity, growth, down, in, end, e.Fee, p.ProtocolFee)
	if !nothing {
		l.walk(i, p.TickSpacing, other)
	}

	if err := r.Finish(e.Tick, e.Liquidity); err != nil {
		return l.refuseSwap(e, in, err)
	}

	// The replay agrees with the event: only now is the pool changed.
	*growth = r.GrowthX128
	p.SqrtPriceX96, p.Tick, p.Liquidity = r.SqrtPriceX96, r.Tick, r.Liquidity
	p.LastFee = p.Fee
	if p.IsDynamic() {
		p.LastFee = clmath.LPFee(e.Fee, clmath.ProtocolFeeOf(p.ProtocolFee, down))
	}

	p.LastSwapAt = l.time
	p.Swaps++
	l.tally(i, p, out)
	return nil
}

// refuseSwap says in which quantity the replay ended elsewhere.
func (l *Ledger) refuseSwap(e *market.Swap, in clmath.I128, err error) error {
	r := &l.replay
	switch {
	case e.Liquidity != r.Liquidity:
		return l.refuse("liquidity", unsigned(e.Liquidity), unsigned(r.Liquidity))
	case e.Tick != r.Tick && e.SqrtPriceX96 == r.SqrtPriceX96:
		return l.refuse("tick", e.Tick, r.Tick)
	}
	return l.refuse("input", signed(in), err)
}

// checkSwap refuses what no swap can say, before any arithmetic trusts it: a
// price outside the limits would never be reached, a fee above all or below
// the protocol's would wrap. The lower limit itself is no price that a swap can
// go to, but one at which a pool can be initialised and a swap too small to
// move it can leave it; no pool is ever at the upper one. A static pool's fee
// must be its own; and since the last step takes the event's tick, that must be
// the tick of its price.
func (l *Ledger) checkSwap(p *market.Pool, e *market.Swap, down, nothing bool) error {
	end := &e.SqrtPriceX96
	protocol := clmath.ProtocolFeeOf(p.ProtocolFee, down)
	switch {
	case end.Lt(&clmath.MinSqrtPrice) || !end.Lt(&clmath.MaxSqrtPrice):
		return l.refuse("sqrtPriceX96", end.Dec(), priceRange)
	case e.Tick < clmath.MinTick || e.Tick >= clmath.MaxTick:
		return l.refuse("tick", e.Tick, "-887272 to 887271")
	case e.Fee > clmath.Pips || e.Fee < protocol && !nothing:
		return l.refuse("fee", e.Fee, fmt.Sprintf("%d to 1000000", protocol))
	case !p.IsDynamic() && !nothing && e.Fee != swapFee(p.Fee, protocol):
		return l.refuse("fee", e.Fee, swapFee(p.Fee, protocol))
	}

	if lower := clmath.SqrtPriceAtTick(e.Tick); lower.Gt(end) {
		return l.refuse("tick", e.Tick, clmath.TickAtSqrtPrice(end))
	}
	// Equal is a falling price that stopped on the tick above.
	if upper := clmath.SqrtPriceAtTick(e.Tick + 1); upper.Lt(end) {
		return l.refuse("tick", e.Tick, clmath.TickAtSqrtPrice(end))
	}

	return nil
}

// priceRange names the prices that a pool can be at.
var priceRange = fmt.Sprintf("%s to below %s", clmath.MinSqrtPrice.Dec(), clmath.MaxSqrtPrice.Dec())

// swapFee is what a swap pays in all when it pays both fees.
func swapFee(lp, protocol uint32) uint32 {
	return protocol + lp - uint32(uint64(protocol)*uint64(lp)/clmath.Pips)
}

// walk takes the full steps of the swap in l.replay: to every initialised
// tick and every word edge up to the event's price. The other growth is that
// of the token that is not the input.
func (l *Ledger) walk(pool uint32, spacing int32, other *clmath.U256) {
	r := &l.replay
	refs := l.lists.At(pool).Refs
	k := above(refs, r.Tick)
	if r.Down {
		k--
	}

	for {
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

		l.cross(slot, other)
		if r.Down {
			k--
		} else {
			k++
		}
	}
}

// cross passes the initialised tick at which the replay stands.
func (l *Ledger) cross(slot uint32, other *clmath.U256) {
	r := &l.replay
	t := Ticks.edit(l, slot)
	global0, global1 := other, &r.GrowthX128
	if r.Down {
		global0, global1 = global1, global0
	}
	t.FeeGrowthOutside0X128.Sub(global0, &t.FeeGrowthOutside0X128)
	t.FeeGrowthOutside1X128.Sub(global1, &t.FeeGrowthOutside1X128)
	l.noteOutside(slot, t)
	r.Cross(t.LiquidityNet)
}
