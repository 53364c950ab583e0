package ledger

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// A pool's day begins with its first event of that day. Events update its sums,
// high, low and prices at once. Its closing values follow from the pool and its
// ticks, and are filled in only when the row is read or stored.

// startDay begins the present day of a pool at its present price. The pool's day
// before was put into the series when it ended.
func (l *Ledger) startDay(i uint32) {
	p, d := l.st.Pools.At(i), Days.edit(l, i)
	*d = market.PoolDay{
		Pool: i, Day: l.day,
		Open: p.SqrtPriceX96, High: p.SqrtPriceX96, Low: p.SqrtPriceX96,
	}
	undoByDrop(l, PoolDays, &market.PoolDay{Pool: i, Day: l.day})
	l.touchDayRow(i, d)
	l.touchHour(i, d)
}

// touchDay notes that an event changes the state of a pool today.
func (l *Ledger) touchDay(i uint32) {
	if l.st.Days.At(i).Day != l.day {
		l.startDay(i)
		return
	}
	d := Days.edit(l, i)
	l.touchDayRow(i, d)
	l.touchHour(i, d)
}

// touchDayRow sets the prices of the hour, and notes that the closing values are
// out of date.
func (l *Ledger) touchDayRow(i uint32, d *market.PoolDay) {
	l.setDayPrices(i, d)
	l.markDayStale(i)
}

func (l *Ledger) setDayPrices(i uint32, d *market.PoolDay) {
	p := l.st.Pools.At(i)
	d.Price0Usd = l.st.Tokens.At(p.Currency0).HourUsd
	d.Price1Usd = l.st.Tokens.At(p.Currency1).HourUsd
}

// markDayStale notes that the closing values of a pool's day are out of date.
func (l *Ledger) markDayStale(i uint32) {
	if !l.isStale[i] {
		l.isStale[i] = true
		l.staleDays = append(l.staleDays, i)
	}
}

// endDay ends the present day of every pool that has one.
func (l *Ledger) endDay() {
	for i := range l.st.Days.Len() {
		if l.st.Days.At(i).Day != l.day {
			continue
		}
		d := Days.edit(l, i)
		l.setDayPrices(i, d)
		if l.isStale[i] { // else it is as the last Freeze or Changes filled it in
			l.fillDayEnd(i, d)
		}

		entry := *d
		if l.day < l.hourDays {
			entry.ForgetHour()
		} else {
			entry.HourVolumeUsd, entry.HourFeesUsd = l.hourSums(l.st.Pools.At(i), d)
		}
		put(&l.ops, PoolDays, &entry)
		d.ForgetHour()
	}
}

// putRunningDay puts a day that is not over into the series. The State has its newest
// hour.
func (l *Ledger) putRunningDay(c *Changes, i uint32) {
	if entry := *l.st.Days.At(i); entry.Day == l.day {
		entry.ForgetHour()
		put(&c.Ops, PoolDays, &entry)
	}
}

// fillStaleDays fills in the closing values that are out of date. This is not
// part of a span's undo: the values follow from the pool, so a Revert only has to
// mark the days that it restores.
func (l *Ledger) fillStaleDays() {
	for _, i := range l.staleDays {
		if i >= l.st.Pools.Len() {
			continue // the pool was reverted
		}
		l.isStale[i] = false
		if l.st.Days.At(i).Day == l.day {
			l.fillDayEnd(i, Days.note(l, i))
			l.pause()
		}
	}
	l.staleDays = l.staleDays[:0]
}

// fillDayEnd fills in the closing values from the pool as it is now.
func (l *Ledger) fillDayEnd(i uint32, d *market.PoolDay) {
	p := l.st.Pools.At(i)
	d.CloseWith(p)
	amount0, amount1 := principalOf(p, l.st.TickLists.At(i), &l.st.Ticks)
	d.Amount0, d.Amount1 = clmath.FromFloat(amount0), clmath.FromFloat(amount1)
}
