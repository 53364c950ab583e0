package value

import "tidemark/rankings/market"

// The rolling windows, in whole hours: the running one, and as many before it
// as make the window's length less one. Of the hour before those counts the
// share that the window still has, which falls in steps: a window is then
// never an hour short, and never falls by a full hour's trade at once.
//
// The window of 30 days is the same in whole UTC days: the running one, the 29
// before it, and the share of the 30th before it.
const (
	dayHours  = 24
	weekHours = 7 * 24
	monthDays = market.KeptDays
	// WindowStep is how many seconds of the chain's time pass between two
	// steps. Shorter ones would have every pool valued again more often.
	WindowStep = 5 * market.Minute
)

// oldestShare is the part of the oldest hour or day of a window that lies inside
// it; unit is the seconds of one.
func oldestShare(now, unit int64) float64 {
	return 1 - float64(now%unit/WindowStep*WindowStep)/float64(unit)
}

// sums are what one window adds up.
type sums struct{ volumeUsd, feesUsd float64 }

// add adds the part of a bucket, age hours or days old, that a window of so many
// has.
func (s *sums) add(b *market.HourBucket, age, length uint32, share float64) {
	switch {
	case age < length:
		s.volumeUsd += b.VolumeUsd
		s.feesUsd += b.FeesUsd
	case age == length:
		s.volumeUsd += b.VolumeUsd * share
		s.feesUsd += b.FeesUsd * share
	}
}

// sumWindows adds up the pool's hour buckets. A bucket of unknown USD makes
// its windows unknown, and those of a quarantined pool are.
func sumWindows(st *market.State, pool *market.Pool, stats *market.PoolStats) {
	now, today := market.HourOf(st.Now()), market.DayOf(st.Now())
	share, dayShare := oldestShare(st.Now(), market.Hour), oldestShare(st.Now(), market.Day)
	hourly := market.OldestHour(today)

	var hour, day, week, month sums
	for at := pool.LastHour; at != market.NoIndex; {
		b := st.Hours.At(at)
		if b.Hour >= hourly {
			age := now - b.Hour
			hour.add(b, age, 1, share)
			day.add(b, age, dayHours, share)
			week.add(b, age, weekHours, share)
		}
		month.add(b, today-b.Hour/24, monthDays, dayShare)
		at = b.Prev
	}

	unknown := sums{market.Unknown, market.Unknown}
	if !keptMonth(st, pool) {
		month = unknown
	}
	if pool.Quarantined {
		hour, day, week, month = unknown, unknown, unknown, unknown
	}

	stats.VolumeUsd1h, stats.FeesUsd1h = finite(hour.volumeUsd), finite(hour.feesUsd)
	stats.VolumeUsd24h, stats.FeesUsd24h = finite(day.volumeUsd), finite(day.feesUsd)
	stats.VolumeUsd7d, stats.FeesUsd7d = finite(week.volumeUsd), finite(week.feesUsd)
	stats.VolumeUsd30d, stats.FeesUsd30d = finite(month.volumeUsd), finite(month.feesUsd)
}

// keptMonth reports whether the buckets of all days of the longest window were
// kept, or of all days that the pool has.
func keptMonth(st *market.State, pool *market.Pool) bool {
	from := max(st.DaysFrom, 1) - 1
	return from+monthDays <= market.DayOf(st.Now()) || from <= market.DayOf(pool.CreatedAt)
}

// WindowsMoved reports whether the windows of a pool without a new swap may differ
// from those of an earlier time, in seconds: it traded within the week before, or
// on the day that falls out of the window of 30 days, or a UTC day began since.
func WindowsMoved(st *market.State, index uint32, before int64) bool {
	at := st.Pools.At(index).LastHour
	if at == market.NoIndex {
		return false
	}
	if st.Hours.At(at).Hour+weekHours >= market.HourOf(before) {
		return true
	}

	for ; at != market.NoIndex; at = st.Hours.At(at).Prev {
		if st.Hours.At(at).Hour/24+monthDays <= market.DayOf(st.Now()) {
			return true
		}
	}
	return market.DayOf(before) != market.DayOf(st.Now())
}
