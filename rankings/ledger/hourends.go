package ledger

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// The hours of a pool are in the series only, and each is written once: by the pool's
// first event in a later hour of the same day. Until then its day has what does not
// follow from the pool and its bucket: which hour it is, and its highest and lowest
// price. The last hour of a day ends as the day does, so it has no record of its own:
// the day's record says the rest. The same holds for ticks. So refreshes write no more
// than a few bytes for an hour, and nothing is done when one ends.

// SkipHours says that nobody will read the hours of the days before one, because
// they will be too old to be kept when the chain has caught up. They are not put into
// the series. The State is the same.
func (l *Ledger) SkipHours(before uint32) { l.hourDays = before }

// touchHour notes that a pool has an event in the present hour, before anything of the
// pool changes.
func (l *Ledger) touchHour(i uint32, d *market.PoolDay) {
	hour := eventHour(l.hourNow)
	if d.EventHour == hour {
		return
	}
	if d.EventHour != 0 && l.day >= l.hourDays {
		l.putHour(i, d)
	}
	root := clmath.Float64(&l.st.Pools.At(i).SqrtPriceX96)
	d.EventHour, d.HourHigh, d.HourLow = hour, root, root
}

// eventHour returns an hour as PoolDay.EventHour has it.
func eventHour(hour uint32) uint8 { return uint8(hour%market.HoursOfDay) + 1 }

// putHour puts the newest hour of a pool's running day into the series.
func (l *Ledger) putHour(i uint32, d *market.PoolDay) {
	p := l.st.Pools.At(i)
	h := market.PoolHour{
		Pool: i, Day: d.Day, Hour: uint32(d.EventHour) - 1,
		Close: p.SqrtPriceX96, Tick: p.Tick, High: d.HourHigh, Low: d.HourLow,
		FeeGrowthGlobal0X128: p.FeeGrowthGlobal0X128,
		FeeGrowthGlobal1X128: p.FeeGrowthGlobal1X128,
	}
	h.VolumeUsd, h.FeesUsd = l.hourSums(p, d)
	h.Amount0, h.Amount1 = principalOf(p, l.st.TickLists.At(i), &l.st.Ticks)

	put(&l.ops, PoolHours, &h)
	undoByDrop(l, PoolHours, &market.PoolHour{Pool: i, Day: h.Day, Hour: h.Hour})
}

// hourSums returns what the newest hour of a running day sums up.
func (l *Ledger) hourSums(p *market.Pool, d *market.PoolDay) (volumeUsd, feesUsd float64) {
	hour := d.Day*market.HoursOfDay + uint32(d.EventHour) - 1
	if p.LastHour == market.NoIndex || l.st.Hours.At(p.LastHour).Hour != hour {
		return 0, 0
	}
	b := l.st.Hours.At(p.LastHour)
	return b.VolumeUsd, b.FeesUsd
}

// endTickHour puts what was last written of a tick into the series, before it is
// written again, if that was in an earlier hour of the running day.
func (l *Ledger) endTickHour(t *market.Tick) {
	if t.LastHour >= l.hourNow || t.LastDay() != l.day || l.day < l.hourDays {
		return
	}

	key := market.TickHour{
		Pool: t.Pool, Tick: t.Tick, Day: l.day, Hour: t.LastHour % market.HoursOfDay,
	}
	entry := key
	entry.FeeGrowthOutside0X128 = t.FeeGrowthOutside0X128
	entry.FeeGrowthOutside1X128 = t.FeeGrowthOutside1X128

	put(&l.ops, TickHours, &entry)
	undoByDrop(l, TickHours, &key)
}
