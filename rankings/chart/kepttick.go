package chart

import (
	"iter"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// KeptTick is the fee growth outside of a tick that stayed initialised since a replay
// begins, then and now. The zero KeptTick is one that did not, as far as is known.
type KeptTick struct {
	Known     bool
	Then, Now [2]clmath.U256
}

// FindKept returns the records of two ticks of a pool that stayed initialised since a
// time; NoIndex stands for one that did not, or of which nothing shows it.
//
// A tick stays initialised as long as a position that ends there has liquidity, so the
// pool's positions are the proof. One that withdrew something may have withdrawn all for
// a moment, and proves nothing.
func FindKept(
	st *market.State, positions iter.Seq[uint32], since int64, ticks [2]int32,
) [2]uint32 {
	slots := [2]uint32{market.NoIndex, market.NoIndex}

	for i := range positions {
		p := st.Positions.At(i)
		for n, tick := range ticks {
			if tick != p.TickLower && tick != p.TickUpper || !hadLiquiditySince(p, since) {
				continue
			}
			if slots[n] = p.LowerSlot; tick == p.TickUpper {
				slots[n] = p.UpperSlot
			}
		}

		if slots[0] != market.NoIndex && slots[1] != market.NoIndex {
			break
		}
	}
	return slots
}

// hadLiquiditySince reports whether a position shows that it had liquidity all the time
// since then.
func hadLiquiditySince(p *market.Position, time int64) bool {
	untouched := p.Withdrawn0.IsZero() && p.Withdrawn1.IsZero() && p.Overflow == market.NoIndex
	return p.IsOpen() && int64(p.MintedAt) < time && untouched && p.Timed && p.SecondsClosed == 0
}

// grownBelow returns by how much the fee growth below a kept tick grew since the replay
// begins, exactly.
func (r *Replay) grownBelow(tick int32, kept *KeptTick) (grown [2]clmath.U256) {
	p, begin := r.st.Pools.At(r.pool), &r.begin
	globals := [2][2]*clmath.U256{
		{&begin.FeeGrowthGlobal0X128, &p.FeeGrowthGlobal0X128},
		{&begin.FeeGrowthGlobal1X128, &p.FeeGrowthGlobal1X128},
	}
	for leg, global := range globals {
		then := growthBelow(tick, begin.Tick, global[0], &kept.Then[leg])
		now := growthBelow(tick, p.Tick, global[1], &kept.Now[leg])
		grown[leg].Sub(&now, &then)
	}
	return grown
}

// growthBelow returns the fee growth below a tick, modulo 2^256, of a pool that stands
// at another.
func growthBelow(tick, at int32, global, outside *clmath.U256) (below clmath.U256) {
	if at >= tick {
		return *outside
	}
	return *below.Sub(global, outside)
}
