package ledger

import (
	"math"
	"slices"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// The hours of a pool are in the series only, and each is written once, at its end.
// Until then its day has what does not follow from the pool and its bucket: that it
// had an event in the hour, and the highest and lowest price. So refreshes write no
// more than a few bytes for it.

// SkipHours says that nobody will read the hours of the days before one, because
// they will be too old to be kept when the chain has caught up. They are not put into
// the series. The State is the same.
func (l *Ledger) SkipHours(before uint32) { l.hourDays = before }

// touchHour notes that a pool has an event in the present hour, before its price
// moves.
func (l *Ledger) touchHour(i uint32, d *market.PoolDay) {
	hour := eventHour(l.hourNow)
	if d.EventHour == hour {
		return
	}
	root := clmath.Float64(&l.st.Pools.At(i).SqrtPriceX96)
	d.EventHour, d.HourHigh, d.HourLow = hour, root, root
	l.hourPools = append(l.hourPools, i)
}

// eventHour returns an hour as PoolDay.EventHour has it.
func eventHour(hour uint32) uint8 { return uint8(hour%market.HoursOfDay) + 1 }

// findHourPools sets the running hour to that of the ledger's time, and finds the
// pools with events in it.
func (l *Ledger) findHourPools(pause func()) {
	l.hourNow = market.HourOf(l.time)
	l.hourPools = l.hourPools[:0]
	eachRow(&l.st.Days, pause, func(i uint32, d *market.PoolDay) {
		if d.Day == l.day && d.EventHour == eventHour(l.hourNow) {
			l.hourPools = append(l.hourPools, i)
		}
	})
}

// endHour puts the running hour of every pool that had events in it into the series,
// with the fee growth outside of the ticks that were written in it.
func (l *Ledger) endHour() {
	if l.day < l.hourDays {
		l.hourPools = l.hourPools[:0]
		return
	}

	slices.Sort(l.hourPools)
	for _, i := range slices.Compact(l.hourPools) {
		if i >= l.st.Pools.Len() {
			continue // the pool was reverted
		}

		// What marked the pool may have been reverted too.
		if d := l.st.Days.At(i); d.Day == l.day && d.EventHour == eventHour(l.hourNow) {
			l.putHour(i, d)
		}
	}
	l.hourPools = l.hourPools[:0]
}

// putHour puts the running hour of a pool and of its ticks into the series.
func (l *Ledger) putHour(i uint32, d *market.PoolDay) {
	p := l.st.Pools.At(i)
	h := market.PoolHour{
		Pool: i, Day: l.day, Hour: l.hourNow % market.HoursOfDay,
		Close: p.SqrtPriceX96, Tick: p.Tick, High: d.HourHigh, Low: d.HourLow,
		FeeGrowthGlobal0X128: p.FeeGrowthGlobal0X128,
		FeeGrowthGlobal1X128: p.FeeGrowthGlobal1X128,
	}
	if p.LastHour != market.NoIndex {
		if b := l.st.Hours.At(p.LastHour); b.Hour == l.hourNow {
			h.VolumeUsd, h.FeesUsd = b.VolumeUsd, b.FeesUsd
		}
	}

	// One walk over the ticks, most of which were not written.
	sum := principalSum{price: rootOf(&p.SqrtPriceX96)}
	for _, ref := range l.tickRefs.At(i).Refs {
		t := l.st.Ticks.At(ref.Slot)
		sum.add(t)
		if t.LastHour == l.hourNow {
			l.putTickHour(i, t)
		}
	}

	h.Amount0, h.Amount1 = sum.amount0, sum.amount1
	l.ops = append(l.ops, PoolHours.Put(h))
	addUndoOp(l, PoolHours.Drop, market.PoolHour{Pool: i, Day: h.Day, Hour: h.Hour})
}

// putTickHour puts what was written of a tick in the running hour into the series.
func (l *Ledger) putTickHour(pool uint32, t *market.Tick) {
	key := market.TickHour{
		Pool: pool, Tick: t.Tick, Day: l.day, Hour: l.hourNow % market.HoursOfDay,
	}
	entry := key
	entry.FeeGrowthOutside0X128 = t.FeeGrowthOutside0X128
	entry.FeeGrowthOutside1X128 = t.FeeGrowthOutside1X128

	l.ops = append(l.ops, TickHours.Put(entry))
	addUndoOp(l, TickHours.Drop, key)
}

// principalSum adds up the principal of a pool's liquidity in floats, tick by tick
// upwards, each part cut to whole raw units as principalOf does. Charts value it in
// USD, for which that is exact enough; it costs a tenth of principalOf, and there is
// one for every hour of every pool.
type principalSum struct {
	price, root      float64 // square roots times 2^96, of the pool and of the tick before
	liquidity        clmath.U128
	amount0, amount1 float64
}

const two64, two96 = 1 << 64, 1 << 96

// add adds the liquidity between the tick before and t.
func (s *principalSum) add(t *market.Tick) {
	lower, upper := s.root, rootOf(&t.SqrtPriceX96)
	if l := float64(s.liquidity.Hi)*two64 + float64(s.liquidity.Lo); l > 0 {
		if lower < s.price {
			s.amount1 += math.Floor(l * (min(upper, s.price) - lower) / two96)
		}
		if from := max(lower, s.price); from < upper {
			s.amount0 += math.Floor(l * two96 * ((upper - from) / from / upper))
		}
	}

	s.liquidity, _ = s.liquidity.Apply(t.LiquidityNet)
	s.root = upper
}

// rootOf returns a sqrtPriceX96 as a float.
func rootOf(sqrtPriceX96 *clmath.U256) float64 {
	return (float64(sqrtPriceX96[2])*two64+float64(sqrtPriceX96[1]))*two64 + float64(sqrtPriceX96[0])
}
