package ledger

import (
	"cmp"
	"maps"
	"slices"

	"tidemark/rankings/market"
)

// bucketDays finds the buckets of a day in all pools, so that a new day costs what became
// too old and not a walk over all newer buckets. It follows from the buckets. A day lists
// the oldest bucket that each pool has of it, among records that no longer are one.
type bucketDays struct {
	rows  *market.Frozen[market.HourBucket]
	newer []uint32            // by bucket: the next newer one of its pool, or NoIndex
	days  map[uint32][]uint32 // by UTC day
}

func dayOf(b *market.HourBucket) uint32 { return b.Hour / market.HoursOfDay }

// add adds a bucket, which the next older one of its pool may follow.
func (x *bucketDays) add(slot uint32) {
	b := x.rows.At(slot)
	x.grow(slot)
	if b.Prev != market.NoIndex {
		x.grow(b.Prev)
		x.newer[b.Prev] = slot
	}
	if x.isOldest(slot) {
		x.days[dayOf(b)] = append(x.days[dayOf(b)], slot)
	}
}

func (x *bucketDays) grow(slot uint32) {
	for uint32(len(x.newer)) <= slot {
		x.newer = append(x.newer, market.NoIndex)
	}
}

// end notes that no bucket is newer than one, or that its record is free.
func (x *bucketDays) end(slot uint32) {
	x.grow(slot)
	x.newer[slot] = market.NoIndex
}

// isOldest reports whether a record is the oldest bucket that its pool has of a day.
func (x *bucketDays) isOldest(slot uint32) bool {
	b := x.rows.At(slot)
	return b.Pool != market.NoIndex && (b.Prev == market.NoIndex || dayOf(x.rows.At(b.Prev)) < dayOf(b))
}

// newestOf returns the newest bucket of a day in every pool that has one, by pool.
func (x *bucketDays) newestOf(day uint32) []uint32 {
	slots := slices.DeleteFunc(slices.Clone(x.days[day]), func(slot uint32) bool {
		return slot >= x.rows.Len() || dayOf(x.rows.At(slot)) != day || !x.isOldest(slot)
	})
	slices.SortFunc(slots, func(a, b uint32) int {
		return cmp.Compare(x.rows.At(a).Pool, x.rows.At(b).Pool)
	})
	slots = slices.Compact(slots)

	for i := range slots {
		next := x.newer[slots[i]]
		for next != market.NoIndex && dayOf(x.rows.At(next)) == day {
			slots[i], next = next, x.newer[next]
		}
	}
	return slots
}

// until returns the days before one that have a list, ascending.
func (x *bucketDays) until(day uint32) (days []uint32) {
	for _, d := range slices.Sorted(maps.Keys(x.days)) {
		if d < day {
			days = append(days, d)
		}
	}
	return days
}

// undoBucketDays updates the index after the rows of u were restored. What was the next
// newer bucket of one before the span has changed, or stands behind the newest now.
func (l *Ledger) undoBucketDays(u *Undo) {
	x := &l.buckets
	saved, pools := Hours.Saved(u), Pools.Saved(u)
	for i := range saved {
		if slot := saved[i].Index; saved[i].Row.Pool == market.NoIndex {
			x.end(slot)
		} else {
			x.add(slot)
		}
	}

	for i := range pools {
		if newest := pools[i].Row.LastHour; newest != market.NoIndex {
			x.end(newest)
		}
	}

	x.newer = x.newer[:min(len(x.newer), int(l.st.Hours.Len()))]
}
