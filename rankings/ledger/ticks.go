package ledger

import (
	"slices"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// tickSlot returns the record of a tick and adds one if there is none. By the
// contracts' convention all fee growth so far happened below a new tick, and so
// did all time.
func (l *Ledger) tickSlot(pool uint32, p *market.Pool, tick int32) uint32 {
	if slot, ok := findTick(l.st.TickLists.At(pool), tick); ok {
		return slot
	}

	t := market.Tick{Pool: pool, Tick: tick, SqrtPriceX96: clmath.SqrtPriceAtTick(tick)}
	if tick <= p.Tick {
		t.FeeGrowthOutside0X128 = p.FeeGrowthGlobal0X128
		t.FeeGrowthOutside1X128 = p.FeeGrowthGlobal1X128
		t.SecondsOutside = l.clock()
	}

	slot, ok := l.freeTicks.take()
	if ok {
		*Ticks.edit(l, slot) = t
	} else {
		slot = Ticks.add(l, t)
	}

	l.noteOutside(slot, Ticks.edit(l, slot))
	l.tickRefs.insert(pool, market.TickRef{Tick: tick, Slot: slot})
	return slot
}

// clock returns the time of the present block for seconds inside and outside,
// which are modulo 2^32.
func (l *Ledger) clock() uint32 { return uint32(l.time) }

// moveTick adds a change of liquidity to a tick. net is delta at the lower end of
// the range and -delta at the upper one.
func (l *Ledger) moveTick(slot uint32, delta, net clmath.I128) error {
	t := Ticks.edit(l, slot)
	gross, wrapped := t.LiquidityGross.Apply(delta)
	sum, overflowed := t.LiquidityNet.Add(net)
	if wrapped || overflowed {
		return l.refuse("liquidityDelta", signed(delta),
			"one that fits the tick's liquidity "+unsigned(t.LiquidityGross))
	}

	t.LiquidityGross, t.LiquidityNet = gross, sum
	return nil
}

// clearTick frees a tick that has no liquidity any more. Its entry of today is
// dropped too, because its fee growth starts again when it is next initialised.
func (l *Ledger) clearTick(slot uint32) {
	t := Ticks.edit(l, slot)
	if !t.LiquidityGross.IsZero() {
		return
	}
	l.endTickHour(t)
	if t.LastDay() == l.day {
		drop(&l.ops, TickDays, &market.TickDay{Pool: t.Pool, Tick: t.Tick, Day: l.day})
	}

	l.tickRefs.remove(t.Pool, t.Tick)
	*t = market.Tick{Pool: market.NoIndex}
	l.freeTicks.add(slot)
}

// noteOutside notes that a tick's fee growth outside was written.
func (l *Ledger) noteOutside(slot uint32, t *market.Tick) {
	t.LastHour = l.hourNow
	if n := len(l.writtenTicks); n == l.writtenBefore || l.writtenTicks[n-1] != slot {
		l.writtenTicks = append(l.writtenTicks, slot)
	}
}

// writeTickDays puts the ticks that were written since the last call into the
// series. It is called at the end of a day and by Changes, since only the last
// write of a day counts. What a Revert restored since is put again as it was.
func (l *Ledger) writeTickDays() {
	slices.Sort(l.writtenTicks)
	for _, slot := range slices.Compact(l.writtenTicks) {
		if slot >= l.st.Ticks.Len() {
			continue // it was reverted
		}
		if t := l.st.Ticks.At(slot); t.Pool != market.NoIndex { // else it was cleared
			entry := tickDay(t)
			put(&l.ops, TickDays, &entry)
		}
	}
	l.writtenTicks, l.writtenBefore = l.writtenTicks[:0], 0
}

// dropTickDays adds to the undo that the days of ticks that the span wrote are
// dropped. It is called at the end of a day and of a span.
func (l *Ledger) dropTickDays() {
	if l.final {
		return
	}

	written := slices.Clone(l.writtenTicks[l.writtenBefore:])
	slices.Sort(written)
	for _, slot := range slices.Compact(written) {
		if t := l.st.Ticks.At(slot); t.Pool != market.NoIndex {
			undoByDrop(l, TickDays, &market.TickDay{Pool: t.Pool, Tick: t.Tick, Day: t.LastDay()})
		}
	}
}

// tickDay returns the series entry of a tick's last write.
func tickDay(t *market.Tick) market.TickDay {
	return market.TickDay{
		Pool: t.Pool, Day: t.LastDay(), Tick: t.Tick, Hour: uint8(t.LastHour%market.HoursOfDay) + 1,
		FeeGrowthOutside0X128: t.FeeGrowthOutside0X128,
		FeeGrowthOutside1X128: t.FeeGrowthOutside1X128,
	}
}

// undoTickDays adds to the undo the entries that the span overwrote: those of
// ticks that had been written before on the day of the head. A free record has no day.
func (l *Ledger) undoTickDays() {
	day := market.DayOf(l.st.Head.Time)
	saved := Ticks.in(l).saved
	for i := range saved {
		if t := &saved[i].Row; t.LastDay() == day {
			entry := tickDay(t)
			undoByPut(l, TickDays, &entry)
		}
	}
}
