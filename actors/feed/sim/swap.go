package sim

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// order is what a trader asks of a pool.
type order struct {
	down    bool // sells token0
	exactIn bool
	amount  clmath.U128 // of the input when exactIn, else of the output
	limit   int32       // the tick at whose price to stop
	fee     uint32      // of the liquidity providers, pips
}

// swap executes an order as the contracts do and reports what happened; false
// when nothing did, because the price was past the limit or the amount 0.
func (w *world) swap(p *pool, o order, sender market.Address) (market.Swap, bool) {
	limit := clmath.SqrtPriceAtTick(o.limit)
	if o.amount.IsZero() || o.down == !limit.Lt(&p.sqrt) || limit.Eq(&p.sqrt) {
		return market.Swap{}, false
	}

	// The protocol takes its part first, liquidity providers theirs of the rest.
	cut := uint64(clmath.ProtocolFeeOf(p.protocolFee, o.down))
	fee := uint32(cut + uint64(o.fee) - cut*uint64(o.fee)/clmath.Pips)

	left := o.amount.U256()
	var paid, got clmath.U256
	for !left.IsZero() && !p.sqrt.Eq(&limit) {
		w.stepSwap(p, o, &limit, fee, &left, &paid, &got)
	}
	if paid.IsZero() && got.IsZero() {
		return market.Swap{}, false
	}

	in, out := toSigned(&paid).Neg(), toSigned(&got)
	s := market.Swap{
		Pool: p.id, Sender: sender, Amount0: in, Amount1: out, SqrtPriceX96: p.sqrt,
		Liquidity: p.liquidity, Tick: p.tick, Fee: fee,
	}
	if !o.down {
		s.Amount0, s.Amount1 = out, in
	}
	return s, true
}

// stepSwap moves the pool to its next stop, or to where the order ends.
func (w *world) stepSwap(
	p *pool, o order, limit *clmath.U256, fee uint32, left, paid, got *clmath.U256,
) {
	at, ref, initialised := p.nextStop(o.down)
	end := clmath.SqrtPriceAtTick(at)
	target := end
	if o.down == end.Lt(limit) && !end.Eq(limit) {
		target = *limit
	}

	start := p.sqrt
	next, in, out, taken := clmath.SwapStep(&p.sqrt, &target, p.liquidity, left, o.exactIn, fee)
	in.Add(&in, &taken)
	if o.exactIn {
		left.Sub(left, &in)
	} else {
		left.Sub(left, &out)
	}
	paid.Add(paid, &in)
	got.Add(got, &out)

	p.sqrt = next
	switch {
	case next.Eq(&end):
		w.crossTick(p, at, ref, initialised, o.down)
	case !next.Eq(&start):
		p.tick = clmath.TickAtSqrtPrice(&next)
	}
}

// crossTick enters the liquidity beyond a stop.
func (w *world) crossTick(p *pool, at int32, ref market.TickRef, initialised, down bool) {
	if initialised {
		net := w.netAt(p, ref)
		if down {
			net = net.Neg()
		}
		p.liquidity = mustApply(p.liquidity, net)
	}
	p.tick = at
	if down {
		p.tick--
	}
}

// toSigned narrows an amount; the market is far from 127 bits.
func toSigned(v *clmath.U256) clmath.I128 {
	u, fits := clmath.Narrow(v)
	if !fits || int64(u.Hi) < 0 {
		panic("BUG: simulated amount left 127 bits")
	}
	return u.I128()
}
