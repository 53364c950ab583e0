package ledger

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// addSwapTotals adds the swap in l.replay to its pool's hour, day and minute. The
// pool's day must have begun. out is the event's amount of the output token.
func (l *Ledger) addSwapTotals(i uint32, p *market.Pool, out clmath.I128) {
	r := &l.replay
	b := l.hourBucket(i, p)

	// Fees are valued like the input: as their part of the volume.
	volume := l.volumeUsd(p, out)
	fees := 0.0
	if !r.Fees.IsZero() {
		fees = volume * (clmath.Float64(&r.Fees) / clmath.Float64(&r.In))
	}

	b.VolumeUsd += volume
	b.FeesUsd += fees
	b.Close = clmath.Float64(&p.SqrtPriceX96)
	b.Swaps++

	d := Days.edit(l, i)
	d.VolumeUsd += volume
	d.FeesUsd += fees
	d.Swaps++
	if p.SqrtPriceX96.Gt(&d.High) {
		d.High = p.SqrtPriceX96
	}
	if p.SqrtPriceX96.Lt(&d.Low) {
		d.Low = p.SqrtPriceX96
	}

	d.HourHigh, d.HourLow = max(d.HourHigh, b.Close), min(d.HourLow, b.Close)

	closeMinute(Minutes.edit(l, i), market.MinuteOf(l.time), b.Close)
}

// hourBucket returns the pool's bucket of the present hour for writing, a new one
// at the hour's first swap. p is the pool's row, which must be writable.
func (l *Ledger) hourBucket(i uint32, p *market.Pool) *market.HourBucket {
	hour := market.HourOf(l.time)
	if p.LastHour != market.NoIndex && l.st.Hours.At(p.LastHour).Hour == hour {
		return Hours.edit(l, p.LastHour)
	}

	b := market.HourBucket{Pool: i, Hour: hour, Prev: p.LastHour}
	slot, ok := l.freeHours.take()
	if ok {
		*Hours.edit(l, slot) = b
	} else {
		slot = Hours.add(l, b)
	}

	p.LastHour = slot
	l.buckets.add(slot)
	return Hours.edit(l, slot)
}

// sweepHours joins the buckets of the days that became too old to be kept by the hour
// since a day before, and frees those older than every window of today. Doing it once a
// day is cheaper than every hour, because old buckets are scattered over chunks, and the
// first write to each frozen chunk copies it.
func (l *Ledger) sweepHours(before uint32) {
	joined := market.OldestHour(before) / market.HoursOfDay
	oldest := max(l.day, market.KeptDays) - market.KeptDays
	for _, day := range l.buckets.until(market.OldestHour(l.day) / market.HoursOfDay) {
		switch {
		case day < oldest:
			l.freeDay(day)
		case day >= joined:
			l.joinDay(day)
		}
	}
}

// joinDay makes one bucket of all that each pool has of a day.
func (l *Ledger) joinDay(day uint32) {
	slots := l.buckets.newestOf(day)
	for _, slot := range slots {
		l.joinBuckets(slot)
	}
	l.buckets.days[day] = slots
}

// joinBuckets makes the newest bucket that a pool has of a day that of the whole day.
func (l *Ledger) joinBuckets(slot uint32) {
	day := dayOf(l.st.Hours.At(slot))
	if l.st.Hours.At(slot).Hour == day*market.HoursOfDay {
		return // nothing of the day is older
	}

	b := Hours.edit(l, slot)
	for b.Prev != market.NoIndex && dayOf(l.st.Hours.At(b.Prev)) == day {
		joined := b.Prev
		older := l.st.Hours.At(joined)
		b.VolumeUsd += older.VolumeUsd
		b.FeesUsd += older.FeesUsd
		b.Swaps += older.Swaps
		b.Prev = older.Prev
		l.freeBucket(joined)
	}
	b.Hour = day * market.HoursOfDay
	if b.Prev != market.NoIndex {
		l.buckets.newer[b.Prev] = slot
	}
}

// freeDay frees the buckets that pools have of a day and of all before it.
func (l *Ledger) freeDay(day uint32) {
	for _, slot := range l.buckets.newestOf(day) {
		if newer := l.buckets.newer[slot]; newer != market.NoIndex {
			Hours.edit(l, newer).Prev = market.NoIndex
		} else {
			Pools.edit(l, l.st.Hours.At(slot).Pool).LastHour = market.NoIndex
		}
		l.freeBuckets(slot)
	}
	delete(l.buckets.days, day)
}

// freeBuckets frees a bucket and all older ones of its list.
func (l *Ledger) freeBuckets(slot uint32) {
	for slot != market.NoIndex {
		prev := l.st.Hours.At(slot).Prev
		l.freeBucket(slot)
		slot = prev
	}
}

func (l *Ledger) freeBucket(slot uint32) {
	*Hours.edit(l, slot) = market.HourBucket{Pool: market.NoIndex, Prev: market.NoIndex}
	l.freeHours.add(slot)
	l.buckets.end(slot)
}

// closeMinute sets the close of a minute, which must not be before the ring's
// newest.
func closeMinute(m *market.Minutes, minute uint32, sqrt float64) {
	if newest := m.Minute[m.Newest]; newest != minute && newest != 0 {
		m.Newest = (m.Newest + 1) % market.MinuteSlots
	}
	m.Minute[m.Newest] = minute
	m.Sqrt[m.Newest] = sqrt
}
