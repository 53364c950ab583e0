package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// TestOldHoursArePruned: hours are read by pool or tick and in order; a new day
// deletes those that are too old, and no others.
func TestOldHoursArePruned(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	g := newRig(3, 1)
	g.commit(t, s, 20, true)
	const first, days = 20_000, 40
	for day := uint32(first); day < first+days; day++ {
		g.st.Head.Time = int64(day) * market.Day
		cut := g.cut(1, false)
		for pool := range uint32(3) {
			for hour := pool; hour < market.HoursOfDay; hour += 5 {
				cut.Changes.Ops = append(cut.Changes.Ops,
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
	f(0, first, last, last-keptDays, (keptDays+1)*5)
	f(1, last-2, last-1, last-2, 2*5)
	f(2, last, last, last, 5)
	f(3, first, last, 0, 0)
	f(0, first, last-keptDays-1, 0, 0)
}
