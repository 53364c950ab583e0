package ledger

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// order is a swap as a trader asks for it.
type order struct {
	amount  clmath.U256
	down    bool
	exactIn bool
	limit   int32  // the tick whose price it may not pass
	fee     uint32 // the LP fee, for a dynamic pool
}

// trade computes a swap forwards, from the order to the event, on the pool as
// it is in the ledger: what the contracts do, and the reverse of the replay.
func trade(l *Ledger, pool uint32, o order) (e market.Swap, ok bool) {
	p := *l.pools.At(pool)
	fee := p.Fee
	if p.IsDynamic() {
		fee = o.fee
	}
	e = market.Swap{Pool: p.ID, Fee: swapFee(fee, clmath.ProtocolFeeOf(p.ProtocolFee, o.down))}
	limit := clmath.SqrtPriceAtTick(o.limit)
	if o.amount.IsZero() || limit.Lt(&p.SqrtPriceX96) != o.down || limit == p.SqrtPriceX96 ||
		!o.exactIn && e.Fee == clmath.Pips {
		return e, false
	}
	left, in, out := o.amount, clmath.U256{}, clmath.U256{}
	for !left.IsZero() && p.SqrtPriceX96 != limit {
		stop, slot := nextStop(l, pool, &p, o.down)
		sqrt := clmath.SqrtPriceAtTick(stop)
		target := sqrt
		if sqrt.Lt(&limit) == o.down {
			target = limit
		}
		before := p.SqrtPriceX96
		next, paid, got, cut := clmath.SwapStep(&before, &target, p.Liquidity, &left, o.exactIn, e.Fee)
		paid.Add(&paid, &cut)
		in.Add(&in, &paid)
		out.Add(&out, &got)
		if o.exactIn {
			left.Sub(&left, &paid)
		} else {
			left.Sub(&left, &got)
		}
		p.SqrtPriceX96 = next
		if next == sqrt {
			p.Tick = stop
			if slot != market.NoIndex {
				net := l.ticks.At(slot).LiquidityNet
				if o.down {
					net = net.Neg()
				}
				p.Liquidity, _ = p.Liquidity.Apply(net)
			}
			if o.down {
				p.Tick--
			}
		} else if next != before {
			p.Tick = clmath.TickAtSqrtPrice(&next)
		}
	}
	e.SqrtPriceX96, e.Tick, e.Liquidity = p.SqrtPriceX96, p.Tick, p.Liquidity
	e.Amount0, ok = delta(&in, &out, o.down)
	if ok {
		e.Amount1, ok = delta(&in, &out, !o.down)
	}
	return e, ok
}

// nextStop returns where the step from p's tick ends, and the tick's record.
func nextStop(l *Ledger, pool uint32, p *market.Pool, down bool) (stop int32, slot uint32) {
	stop = clmath.WordEdge(p.Tick, p.TickSpacing, down)
	refs := l.lists.At(pool).Refs
	k := above(refs, p.Tick)
	if down {
		k--
	}
	if k >= 0 && k < len(refs) && (down && refs[k].Tick >= stop || !down && refs[k].Tick <= stop) {
		return refs[k].Tick, refs[k].Slot
	}
	return stop, market.NoIndex
}

// delta is the swapper's change of one token.
func delta(in, out *clmath.U256, isIn bool) (d clmath.I128, ok bool) {
	v := out
	if isIn {
		v = in
	}
	narrow, fits := clmath.Narrow(v)
	d = clmath.I128{Lo: narrow.Lo, Hi: int64(narrow.Hi)}
	if isIn {
		d = d.Neg()
	}
	return d, fits && narrow.Hi>>63 == 0
}
