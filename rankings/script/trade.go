package script

import (
	"sort"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Order is a swap as a trader asks for it.
type Order struct {
	Amount  clmath.U256
	Down    bool // sells token0
	ExactIn bool
	Limit   clmath.U256 // the sqrtPriceX96 that it may not pass
	Fee     uint32      // the LP fee, for a dynamic pool
}

// Trade computes a swap forwards, from the order to the event, on a pool as it
// is in st: what the contracts do, and the reverse of the ledger's replay. It
// reads Pools, Ticks and TickLists of st, and changes nothing. It reports false
// when nothing can be traded.
func Trade(st *market.State, pool uint32, o Order) (e market.Swap, ok bool) {
	p := *st.Pools.At(pool)
	fee := p.Fee
	if p.IsDynamic() {
		fee = o.Fee
	}

	e = market.Swap{Pool: p.ID, Fee: swapFee(fee, clmath.ProtocolFeeOf(p.ProtocolFee, o.Down))}
	if o.Amount.IsZero() || o.Limit.Lt(&p.SqrtPriceX96) != o.Down || o.Limit == p.SqrtPriceX96 ||
		!o.ExactIn && e.Fee == clmath.Pips {
		return e, false
	}

	left, in, out := o.Amount, clmath.U256{}, clmath.U256{}
	for !left.IsZero() && p.SqrtPriceX96 != o.Limit {
		step(st, pool, &p, &o, e.Fee, &left, &in, &out)
	}

	e.SqrtPriceX96, e.Tick, e.Liquidity = p.SqrtPriceX96, p.Tick, p.Liquidity
	e.Amount0, ok = change(&in, &out, o.Down)
	if ok {
		e.Amount1, ok = change(&in, &out, !o.Down)
	}
	return e, ok
}

// step moves p to the next tick or word edge, or to where the order ends.
func step(
	st *market.State, pool uint32, p *market.Pool, o *Order, fee uint32, left, in, out *clmath.U256,
) {
	stop, slot := nextStop(st, pool, p, o.Down)
	sqrt := clmath.SqrtPriceAtTick(stop)
	target := sqrt
	if sqrt.Lt(&o.Limit) == o.Down {
		target = o.Limit
	}

	before := p.SqrtPriceX96
	next, paid, got, cut := clmath.SwapStep(&before, &target, p.Liquidity, left, o.ExactIn, fee)
	paid.Add(&paid, &cut)
	in.Add(in, &paid)
	out.Add(out, &got)
	if o.ExactIn {
		left.Sub(left, &paid)
	} else {
		left.Sub(left, &got)
	}

	p.SqrtPriceX96 = next
	switch {
	case next == sqrt:
		pass(st, p, stop, slot, o.Down)
	case next != before:
		p.Tick = clmath.TickAtSqrtPrice(&next)
	}
}

// pass crosses a tick at which p stands.
func pass(st *market.State, p *market.Pool, tick int32, slot uint32, down bool) {
	p.Tick = tick
	if slot != market.NoIndex {
		net := st.Ticks.At(slot).LiquidityNet
		if down {
			net = net.Neg()
		}
		p.Liquidity, _ = p.Liquidity.Apply(net)
	}
	if down {
		p.Tick--
	}
}

// nextStop returns where the step from p's tick ends, and the tick's record.
func nextStop(st *market.State, pool uint32, p *market.Pool, down bool) (stop int32, slot uint32) {
	stop = clmath.WordEdge(p.Tick, p.TickSpacing, down)
	refs := st.TickLists.At(pool).Refs
	k := sort.Search(len(refs), func(i int) bool { return refs[i].Tick > p.Tick })
	if down {
		k--
	}
	if k >= 0 && k < len(refs) && (down && refs[k].Tick >= stop || !down && refs[k].Tick <= stop) {
		return refs[k].Tick, refs[k].Slot
	}
	return stop, market.NoIndex
}

// swapFee is what a swap pays in all when liquidity providers take lp of what
// the protocol leaves.
func swapFee(lp, protocol uint32) uint32 {
	return protocol + lp - uint32(uint64(protocol)*uint64(lp)/clmath.Pips)
}

// change is the swapper's change of one token.
func change(in, out *clmath.U256, isIn bool) (d clmath.I128, ok bool) {
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
