package storage

import (
	"bytes"
	"encoding/binary"

	"tidemark/rankings/clmath"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

const (
	// keptDays is how many days before the oldest block that may become the head again the
	// series with daily keys keep: the 30 of the longest chart by the hour, and two more, so
	// that a chart of an older generation still has its first hours.
	keptDays = 32
	// undoneDays is how many days that block may lie before the head. A reorganisation drops
	// minutes; where blocks are rare, or are not finalized for weeks, it may drop days, and
	// what is kept has to end somewhere.
	undoneDays = 30
)

// FirstKeptDay returns the first day that series with daily keys have when the head of
// the chain is of a time, and the oldest block that may become the head again of another;
// 0: that is not known.
func FirstKeptDay(head, undoable int64) uint32 {
	oldest := max(market.DayOf(undoable), max(market.DayOf(head), undoneDays)-undoneDays)
	return max(oldest, keptDays) - keptDays
}

// pruneSeries deletes the days that are too old to keep, when these are more. It is one
// record for each series, whatever it holds.
func (w *writer) pruneSeries(ch *ledger.Changes) {
	first := FirstKeptDay(ch.Head.Time, ch.UndoableTime)
	if first <= w.firstDay {
		return
	}
	w.firstDay = first
	for _, s := range allSeries {
		if l := s.about(); l.daily {
			from := appendRow(nil, w.chain, l.kind, 0)
			must(w.batch.DeleteRange(from, appendRow(nil, w.chain, l.kind, first), nil))
		}
	}
}

// isPrune reports whether a range deletion is one of pruneSeries.
func isPrune(chain market.ChainID, from, to []byte) bool {
	for _, s := range allSeries {
		l := s.about()
		kind := appendKind(nil, chain, l.kind)
		if l.daily && bytes.Equal(from, binary.BigEndian.AppendUint32(kind, 0)) &&
			bytes.HasPrefix(to, kind) && len(to) == len(from) {
			return true
		}
	}
	return false
}

// PoolHours returns the hours of a pool between two days, both inclusive, oldest
// first. An hour without events has no entry, and the newest hour of a day that is not
// over is in the State. It costs a seek a day.
func (s *Store) PoolHours(
	chain market.ChainID, pool, from, to uint32,
) ([]market.PoolHour, error) {
	key := func(day, hour uint32) market.PoolHour {
		return market.PoolHour{Pool: pool, Day: day, Hour: hour}
	}
	hours, err := readDays(s, chain, ledger.PoolHours, from, to, key)
	if err != nil {
		return nil, err
	}
	return addLast(hours, s.PoolDays(chain, pool, from, to, OldestFirst), lastHour,
		func(h *market.PoolHour) uint32 { return h.Day*market.HoursOfDay + h.Hour })
}

// lastHour returns the last hour of a day, if the day has it.
func lastHour(d *market.PoolDay) (market.PoolHour, bool) {
	return market.PoolHour{
		Pool: d.Pool, Day: d.Day, Hour: uint32(d.EventHour) - 1, Close: d.Close, Tick: d.Tick,
		FeeGrowthGlobal0X128: d.FeeGrowthGlobal0X128,
		FeeGrowthGlobal1X128: d.FeeGrowthGlobal1X128,
		Amount0:              clmath.Float64(&d.Amount0), Amount1: clmath.Float64(&d.Amount1),
		VolumeUsd: d.HourVolumeUsd, FeesUsd: d.HourFeesUsd, High: d.HourHigh, Low: d.HourLow,
	}, d.EventHour != 0
}

// TickHours returns the hours of a tick between two days, both inclusive, oldest
// first. It costs a seek a day.
func (s *Store) TickHours(
	chain market.ChainID, pool uint32, tick int32, from, to uint32,
) ([]market.TickHour, error) {
	key := func(day, hour uint32) market.TickHour {
		return market.TickHour{Pool: pool, Tick: tick, Day: day, Hour: hour}
	}
	hours, err := readDays(s, chain, ledger.TickHours, from, to, key)
	if err != nil {
		return nil, err
	}
	return addLast(hours, s.TickDays(chain, pool, tick, from, to, OldestFirst), lastTickHour,
		func(h *market.TickHour) uint32 { return h.Day*market.HoursOfDay + h.Hour })
}

// lastTickHour returns the last hour of a tick's day, if the day has it.
func lastTickHour(t *market.TickDay) (market.TickHour, bool) {
	return market.TickHour{
		Pool: t.Pool, Tick: t.Tick, Day: t.Day, Hour: uint32(t.Hour) - 1,
		FeeGrowthOutside0X128: t.FeeGrowthOutside0X128,
		FeeGrowthOutside1X128: t.FeeGrowthOutside1X128,
	}, t.Hour != 0
}

// addLast adds the last hours of days to the hours before them, and closes the series of
// days. A store of format 6 has some of them already.
func addLast[H, D any](
	hours []H, days *Series[D], last func(*D) (H, bool), at func(*H) uint32,
) (all []H, err error) {
	defer days.Close()
	for days.Next() {
		h, ok := last(days.Entry())
		if !ok {
			continue
		}

		end := at(&h)
		for len(hours) > 0 && at(&hours[0]) < end {
			all, hours = append(all, hours[0]), hours[1:]
		}
		if len(hours) == 0 || at(&hours[0]) != end {
			all = append(all, h)
		}
	}

	return append(all, hours...), days.Err()
}

// readDays returns the entries of a series with daily keys. key makes that of an hour
// of a day.
func readDays[E any](
	s *Store, chain market.ChainID, of ledger.Series[E], from, to uint32,
	key func(day, hour uint32) E,
) (entries []E, err error) {
	const last = market.HoursOfDay - 1
	r := openSeries(s, chain, of, key(from, 0), key(to, last), OldestFirst)
	defer r.Close()

	var low, high []byte
	for day := from; day <= to && r.it.Error() == nil; day++ { // a seek forgets an error
		first, end := key(day, 0), key(day, last)
		low, high = r.of.appendKey(low[:0], chain, &first), r.of.appendKey(high[:0], chain, &end)
		for ok := r.it.SeekGE(low); ok && bytes.Compare(r.it.Key(), high) <= 0; ok = r.it.Next() {
			if !r.decodeEntry() {
				return nil, r.err
			}
			entries = append(entries, r.entry)
		}
	}
	if err := r.it.Error(); err != nil {
		return nil, s.reportDamage(chain, r.of.name, err)
	}
	return entries, nil
}
