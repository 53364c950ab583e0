package script

import (
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

// Trade computes the event of an order on a pool of st, as the contracts do: the
// inverse of the ledger's replay. It reads Pools, Ticks and TickLists of st and
// changes nothing. It reports false if nothing can be traded.
func Trade(st *market.State, pool uint32, o Order) (e market.Swap, ok bool) {
	p := *st.Pools.At(pool)
	fee := p.Fee
	if p.IsDynamic() {
		fee = o.Fee
	}

	e = market.Swap{Pool: p.ID, Fee: clmath.SwapFee(fee, clmath.ProtocolFeeOf(p.ProtocolFee, o.Down))}
	if o.Amount.IsZero() || o.Limit.Lt(&p.SqrtPriceX96) != o.Down || o.Limit == p.SqrtPriceX96 ||
		!o.ExactIn && e.Fee == clmath.Pips {
		return e, false
	}

	left, in, out := o.Amount, clmath.U256{}, clmath.U256{}
	for !left.IsZero() && p.SqrtPriceX96 != o.Limit {
		takeStep(st, pool, &p, &o, e.Fee, &left, &in, &out)
	}

	e.SqrtPriceX96, e.Tick, e.Liquidity = p.SqrtPriceX96, p.Tick, p.Liquidity
	e.Amount0, ok = swapperDelta(&in, &out, o.Down)
	if ok {
		e.Amount1, ok = swapperDelta(&in, &out, !o.Down)
	}
	return e, ok
}

// takeStep moves p to the next initialised tick or word edge, or to where the
// order ends, and updates the amounts.
func takeStep(
	st *market.State, pool uint32, p *market.Pool, o *Order, fee uint32, left, in, out *clmath.U256,
) {
	// The step ends at the stop, or at the order's limit if that comes first.
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

	// A price that did not move keeps the pool's tick, which it does not determine.
	p.SqrtPriceX96 = next
	switch {
	case next == sqrt:
		reachTick(st, p, stop, slot, o.Down)
	case next != before:
		p.Tick = clmath.TickAtSqrtPrice(&next)
	}
}

// reachTick moves p onto a tick and crosses it if it is initialised.
func reachTick(st *market.State, p *market.Pool, tick int32, slot uint32, down bool) {
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

// nextStop returns the tick at which the step from p's tick ends, and its record,
// or NoIndex if it is not initialised.
func nextStop(st *market.State, pool uint32, p *market.Pool, down bool) (stop int32, slot uint32) {
	stop = clmath.WordEdge(p.Tick, p.TickSpacing, down)
	refs := st.TickLists.At(pool)
	k := market.FirstAbove(refs, p.Tick)
	if down {
		k--
	}
	if k >= 0 && k < len(refs) && (down && refs[k].Tick >= stop || !down && refs[k].Tick <= stop) {
		return refs[k].Tick, refs[k].Slot
	}
	return stop, market.NoIndex
}

// swapperDelta returns the swapper's amount of one token; ok is false if it does
// not fit 128 bits.
func swapperDelta(in, out *clmath.U256, isIn bool) (d clmath.I128, ok bool) {
	v := out
	if isIn {
		v = in
	}
	narrow, fits := clmath.Narrow(v)
	d = narrow.I128()
	if isIn {
		d = d.Neg()
	}
	return d, fits && narrow.Hi>>63 == 0
}
