package ledger

import (
	"slices"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// tickSlot returns the record of a tick, made when there is none. A new tick
// counts all growth so far as having happened below it.
func (l *Ledger) tickSlot(pool uint32, p *market.Pool, tick int32) uint32 {
	if slot, ok := findTick(l.lists.At(pool).Refs, tick); ok {
		return slot
	}

	t := market.Tick{Pool: pool, Tick: tick, SqrtPriceX96: clmath.SqrtPriceAtTick(tick)}
	if tick <= p.Tick {
		t.FeeGrowthOutside0X128 = p.FeeGrowthGlobal0X128
		t.FeeGrowthOutside1X128 = p.FeeGrowthGlobal1X128
	}

	slot, ok := l.freeTicks.take()
	if ok {
		*Ticks.edit(l, slot) = t
	} else {
		slot = Ticks.add(l, t)
	}

	l.noteOutside(slot, Ticks.edit(l, slot))
	l.lists.insert(pool, market.TickRef{Tick: tick, Slot: slot})
	return slot
}

// moveTick adds a change of liquidity to a tick; net is the change as it
// counts at this end of the range: negated at the upper one.
func (l *Ledger) moveTick(slot uint32, delta, net clmath.I128) error {
	t := Ticks.edit(l, slot)
	gross, wrapped := t.LiquidityGross.Apply(delta)
	sum, overflowed := t.LiquidityNet.Add(net)
	if wrapped || overflowed {
		return l.refuse("liquidityDelta", signed(delta), "less at the tick")
	}
	t.LiquidityGross, t.LiquidityNet = gross, sum
	return nil
}

// clearTick frees a tick that no liquidity refers to any more. Its entry of
// today is dropped too: if it is initialised again, its fee growth starts anew.
func (l *Ledger) clearTick(slot uint32) {
	t := Ticks.edit(l, slot)
	if !t.LiquidityGross.IsZero() {
		return
	}
	if t.LastDay == l.day {
		l.ops = append(l.ops, TickDays.Drop(market.TickDay{Pool: t.Pool, Tick: t.Tick, Day: l.day}))
	}
	l.lists.remove(t.Pool, t.Tick)
	*t = market.Tick{Pool: market.NoIndex}
	l.freeTicks.put(slot)
}

// noteOutside remembers that a tick's fee growth outside was written.
func (l *Ledger) noteOutside(slot uint32, t *market.Tick) {
	t.LastDay = l.day
	if n := len(l.written); n == 0 || l.written[n-1] != slot {
		l.written = append(l.written, slot)
	}
}

// writeTickDays puts the ticks written since the last call into the series,
// at the end of a day or a span: only the last write of a day counts.
func (l *Ledger) writeTickDays() {
	slices.Sort(l.written)
	for _, slot := range slices.Compact(l.written) {
		t := l.st.Ticks.At(slot)
		if t.Pool == market.NoIndex {
			continue
		}
		l.ops = append(l.ops, TickDays.Put(tickDay(t)))
		onUndo(l, TickDays.Drop, market.TickDay{Pool: t.Pool, Tick: t.Tick, Day: t.LastDay})
	}
	l.written = l.written[:0]
}

func tickDay(t *market.Tick) market.TickDay {
	return market.TickDay{
		Pool: t.Pool, Day: t.LastDay, Tick: t.Tick,
		FeeGrowthOutside0X128: t.FeeGrowthOutside0X128,
		FeeGrowthOutside1X128: t.FeeGrowthOutside1X128,
	}
}

// oldTickDays puts into the undo the entries that the span has overwritten: those
// of ticks that had already been written on the day of the head.
func (l *Ledger) oldTickDays() {
	day := market.DayOf(l.st.Head.Time)
	saved := Ticks.in(l).saved
	for i := range saved {
		if t := &saved[i].Row; t.Pool != market.NoIndex && t.LastDay == day {
			onUndo(l, TickDays.Put, tickDay(t))
		}
	}
}
