package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// TestOldHoursArePruned: hours are read by pool or tick and in order; a new day
// deletes those that are too old, and no others. Blocks that may be undone count as if they
// were: what a chart needs that ends before them is kept.
func TestOldHoursArePruned(t *testing.T) {
	t.Run("nothing can be undone", func(t *testing.T) { testOldHours(t, 0, keptDays) })
	t.Run("five days can be", func(t *testing.T) { testOldHours(t, 5, keptDays+5) })
	t.Run("more than are kept for", func(t *testing.T) { testOldHours(t, undoneDays+2, keptDays+undoneDays) })
}

func testOldHours(t *testing.T, undoable, kept uint32) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	g := newRig(3, 1)
	g.commit(t, s, 20, true)
	const first, days = 20_000, 70
	for day := uint32(first); day < first+days; day++ {
		g.st.Head.Time = int64(day) * market.Day
		cut := g.cut(1, false)
		cut.Changes.UndoableTime = int64(day-undoable)*market.Day + market.Hour
		for pool := range uint32(3) {
			for hour := pool; hour < market.HoursOfDay; hour += 5 {
				cut.Changes.Ops.Add(
					ledger.PoolHours.Put(market.PoolHour{Pool: pool, Day: day, Hour: hour, Tick: int32(day)}),
					ledger.TickHours.Put(market.TickHour{Pool: pool, Tick: -int32(pool), Day: day, Hour: hour}))
			}
		}
		if err := s.Commit(cut); err != nil {
			t.Fatal(err)
		}
	}

	const last = first + days - 1
	f := func(pool, from, to, wantFirst uint32, want int) {
		t.Helper()
		hours, err := s.PoolHours(1, pool, from, to)
		ticks, err2 := s.TickHours(1, pool, -int32(pool), from, to)
		if err != nil || err2 != nil || len(hours) != want || len(ticks) != want {
			t.Fatalf("%d hours and %d of the tick, %v, %v; want %d", len(hours), len(ticks), err, err2, want)
		}
		at := uint32(0)
		for i, h := range hours {
			number := h.Day*market.HoursOfDay + h.Hour
			if h.Pool != pool || number <= at || h.Tick != int32(h.Day) || ticks[i].Day != h.Day || ticks[i].Hour != h.Hour {
				t.Errorf("hour %d is %+v, that of the tick %+v", i, h, ticks[i])
			}
			at = number
		}
		if want > 0 && hours[0].Day != wantFirst {
			t.Errorf("the first hour is of day %d; want %d", hours[0].Day, wantFirst)
		}
	}
	f(0, first, last, last-kept, int(kept+1)*5)
	f(1, last-2, last-1, last-2, 2*5)
	f(2, last, last, last, 5)
	f(3, first, last, 0, 0)
	f(0, first, last-kept-1, 0, 0)
}

// TestLastHours: the last hour of a day follows from the day, and is read once, also
// where a store of format 6 has it as an hour. A day of that format says none.
func TestLastHours(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	g := newRig(3, 1)
	g.commit(t, s, 20, true)
	const day = 20_000
	g.st.Head.Time = (day + 2) * market.Day
	cut := g.cut(1, false)

	put := func(day uint32, last uint8, hours ...uint32) {
		d := market.PoolDay{Pool: 1, Day: day, EventHour: last, Tick: 7, Amount0: words(3)}
		if last > 0 {
			d.HourHigh, d.HourLow, d.HourVolumeUsd, d.HourFeesUsd = 4, 2, 30, 5
		}
		cut.Changes.Ops.Add(ledger.PoolDays.Put(d), ledger.TickDays.Put(
			market.TickDay{Pool: 1, Day: day, Tick: -60, Hour: last, FeeGrowthOutside0X128: words(9)}))
		for _, hour := range hours {
			cut.Changes.Ops.Add(
				ledger.PoolHours.Put(market.PoolHour{Pool: 1, Day: day, Hour: hour}),
				ledger.TickHours.Put(market.TickHour{Pool: 1, Day: day, Tick: -60, Hour: hour}))
		}
	}
	put(day, 10, 3, 7)
	put(day+1, 10, 5, 9)
	put(day+2, 0, 1, 4)
	must(s.Commit(cut))

	hours, err := s.PoolHours(1, 1, day, day+2)
	ticks, err2 := s.TickHours(1, 1, -60, day, day+2)
	want := []uint32{3, 7, 9, 24 + 5, 24 + 9, 48 + 1, 48 + 4}
	if err != nil || err2 != nil || len(hours) != len(want) || len(ticks) != len(want) {
		t.Fatalf("%d hours and %d of the tick, %v, %v; want %d", len(hours), len(ticks), err, err2, len(want))
	}
	for i, number := range want {
		h, of := hours[i], ticks[i]
		if (h.Day-day)*market.HoursOfDay+h.Hour != number || h.Pool != 1 ||
			(of.Day-day)*market.HoursOfDay+of.Hour != number || of.Pool != 1 || of.Tick != -60 {
			t.Errorf("hour %d is %+v, that of the tick %+v; want %d", i, h, of, number)
		}
	}
	last := market.PoolHour{
		Pool: 1, Day: day, Hour: 9, Tick: 7, Amount0: 3, High: 4, Low: 2, VolumeUsd: 30, FeesUsd: 5,
	}
	if hours[2] != last || ticks[2].FeeGrowthOutside0X128 != words(9) {
		t.Errorf("the last hour is %+v, that of the tick %+v; want %+v", hours[2], ticks[2], last)
	}

	d := market.PoolDay{Open: words(8), Close: words(9)}
	var again market.PoolDay
	if err := decode(encode(nil, &d, codePoolDay), &again, codeDayEntry); err != nil || again != d {
		t.Errorf("a day of format 6 is read as %+v, %v", again, err)
	}
}

// TestOldHoursArePrunedAnew: a chain that was dropped and is indexed again keeps no more hours
// than before.
func TestOldHoursArePrunedAnew(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	const today = 20_000

	for range 2 {
		g := newRig(3, 1)
		g.commit(t, s, 20, true)
		g.st.Head.Time = today * market.Day
		cut := g.cut(1, false)
		cut.Changes.UndoableTime = g.st.Head.Time
		for day := uint32(today - 2*keptDays); day <= today; day++ {
			cut.Changes.Ops.Add(ledger.PoolHours.Put(market.PoolHour{Pool: 9, Day: day, Hour: 3}))
		}
		must(s.Commit(cut))

		hours, err := s.PoolHours(1, 9, 0, today-keptDays-1)
		if err != nil || len(hours) > 0 {
			t.Errorf("%d older hours are kept, %v", len(hours), err)
		}
		must(s.DropChain(1))
	}
}
