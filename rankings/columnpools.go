package rankings

import (
	"tidemark/rankings/block"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// fillPools fills the columns of pools. It also marks the pools that moved:
// only a position in one of those can have entered or left its range, or hold
// other amounts than in prev.
func (f *columnBuilder) fillPools() {
	st := f.st
	n := st.Pools.Len()
	f.tvl = make([]float64, n)
	f.safePools, f.defaultPools = block.NewBitmap(n), block.NewBitmap(n)
	f.marks, f.quarantineChanged = make([]poolMarks, n), block.NewBitmap(n)
	f.quarantined, f.hooked = block.NewBitmap(n), block.NewBitmap(n)
	f.crossedTicks = block.NewBitmap(st.Ticks.Len())
	f.fee, f.hookTag, f.tick = make([]uint32, n), make([]uint32, n), make([]int32, n)
	if f.prev != nil {
		f.poolOrders.take(&f.prev.columns.poolOrders, f.prev.State.Pools.Len(), n)
	}

	for i := range n {
		p := st.Pools.At(i)
		f.fillPool(i, p)
		f.comparePool(i, p)
		if f.marks[i]&(movedPool|pricedPool) != 0 {
			f.ranker.Prepare(i) // its rows are to be renewed
		}
		if i%market.ChunkLen == 0 {
			f.pause()
		}
	}

	f.safePools.Seal()
	f.defaultPools.Seal()
}

// fillPool fills the columns of pool i.
func (f *columnBuilder) fillPool(i uint32, p *market.Pool) {
	f.tvl[i] = f.st.Stats.At(i).TVLUsd
	f.sides.Set(2*i, p.Currency0)
	f.sides.Set(2*i+1, p.Currency1)
	f.fee[i], f.hookTag[i], f.tick[i] = p.ShownFee(), hookTag(&p.Hooks), p.Tick
	if f.hookTag[i] != 0 {
		f.hooked.Set(i)
	}

	if !isRisky(f.st, i) {
		f.safePools.Set(i)
	}
	if p.Quarantined {
		f.quarantined.Set(i)
		f.someQuarantined = true
	}
	if isStandard(f.st, i) {
		f.defaultPools.Set(i)
		f.marks[i] |= standardPool
	}
}

// comparePool marks what differs between pool i and the same pool in prev.
func (f *columnBuilder) comparePool(i uint32, p *market.Pool) {
	if f.prev == nil || i >= f.prev.State.Pools.Len() {
		f.marks[i] |= movedPool | tickedPool | pricedPool | crossedPool
		f.poolOrders.addPool(i)
		return
	}
	if f.nativeMoved || f.tokenMoved[p.Currency0] || f.tokenMoved[p.Currency1] {
		f.marks[i] |= pricedPool
	}

	was := f.prev.State.Pools.At(i)
	if value.OwnExitsMoved(was, p) {
		f.marks[i] |= pricedPool
	}
	f.comparePoolKeys(i, was, p)
	if poolMoved(was, p) {
		f.marks[i] |= movedPool
		if f.told == nil && f.crossTicks(i, was.Tick, p.Tick) {
			f.marks[i] |= crossedPool
		}
	}
	if was.Tick != p.Tick {
		f.marks[i] |= tickedPool
	}
	if was.Quarantined != p.Quarantined {
		f.quarantineChanged.Set(i)
		f.someTurned = true
	}
}

func poolMoved(was, is *market.Pool) bool {
	return was != is && (was.Tick != is.Tick || was.SqrtPriceX96 != is.SqrtPriceX96 ||
		was.FeeGrowthGlobal0X128 != is.FeeGrowthGlobal0X128 ||
		was.FeeGrowthGlobal1X128 != is.FeeGrowthGlobal1X128)
}

// crossTicks marks the initialised ticks of pool i, which was at another tick, that its price
// crossed since prev, also if it came back, and reports whether there are any. A position out
// of range of whose ends none is marked has the claim of before: it is on the same side of
// the price, and what both of its ticks know of the growth outside of them is the same.
func (f *columnBuilder) crossTicks(i uint32, was, is int32) (some bool) {
	if i >= f.st.TickLists.Len() {
		f.ticksUnknown = true
		return true
	}

	before, now := &f.prev.State.Ticks, &f.st.Ticks
	for _, ref := range f.st.TickLists.At(i) {
		crossed := (ref.Tick <= was) != (ref.Tick <= is)
		if !crossed && ref.Slot < before.Len() { // no position of prev has a new tick
			a, b := before.At(ref.Slot), now.At(ref.Slot)
			crossed = a != b && (a.Pool != b.Pool || a.Tick != b.Tick ||
				a.FeeGrowthOutside0X128 != b.FeeGrowthOutside0X128 ||
				a.FeeGrowthOutside1X128 != b.FeeGrowthOutside1X128)
		}
		if crossed {
			f.crossedTicks.Set(ref.Slot)
			some = true
		}
	}
	return some
}
