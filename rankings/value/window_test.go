package value

import (
	"testing"

	"tidemark/rankings/market"
)

// TestShortAndLongWindows: testNow is 08:00 UTC, so that of the 30th day before it
// two thirds count.
func TestShortAndLongWindows(t *testing.T) {
	now, today := market.HourOf(testNow), market.DayOf(testNow)
	minute := int64(0)
	f := func(hour, month float64, hours ...uint32) {
		t.Helper()
		w := newWorld()
		w.now += minute * 60
		_, pool := w.honest()
		for _, at := range hours {
			w.volume(pool, at, float64(now-at)+1, 0.001*float64(now-at+1))
		}
		stats := Stats(w.state(), pool)
		mustNear(t, "1h", stats.VolumeUsd1h, hour, 1e-12)
		mustNear(t, "30d", stats.VolumeUsd30d, month, 1e-12)
		mustNear(t, "fees 1h", stats.FeesUsd1h, hour/1000, 1e-12)
		mustNear(t, "fees 30d", stats.FeesUsd30d, month/1000, 1e-12)
	}

	f(0, 0)
	f(1, 1, now)
	f(1+2, 1+2, now-1, now)
	f(0, 3, now-2)
	day := func(ago uint32) uint32 { return (today - ago) * 24 }
	size := func(hour uint32) float64 { return float64(now-hour) + 1 }
	f(1, size(day(29))+size(day(8))+1, day(29), day(8), now)
	f(0, size(day(30))*2/3, day(30))
	f(0, 0, day(31))

	minute = 35
	f(1+2*5.0/12, 1+2, now-1, now)
	f(0, size(day(30))*(1-(8*60+35)/1440.0), day(30))
	minute = 4
	f(1+2, 1+2, now-1, now)
}

// TestMonthOfAnOldStore: days that an earlier format did not keep make the window
// unknown, but not for a pool that is younger.
func TestMonthOfAnOldStore(t *testing.T) {
	today := market.DayOf(testNow)
	f := func(from uint32, created int64, want float64) {
		t.Helper()
		w := newWorld()
		_, pool := w.honest()
		w.volume(pool, market.HourOf(testNow), 5, 0.005)
		w.pools.Mut(pool).CreatedAt = created
		st := w.state()
		st.DaysFrom = from + 1
		stats := Stats(st, pool)
		mustNear(t, "30d", stats.VolumeUsd30d, want, 0)
		mustNear(t, "fees 30d", stats.FeesUsd30d, want/1000, 1e-12)
		mustNear(t, "7d", stats.VolumeUsd7d, 5, 0)
	}

	f(today-30, 0, 5)
	f(today-29, 0, market.Unknown)
	f(today-7, 0, market.Unknown)
	f(today-7, testNow-7*market.Day, 5)
	f(today-7, testNow-8*market.Day, market.Unknown)
}

// TestWindowsMoved: wherever it says no, the windows are what they were.
func TestWindowsMoved(t *testing.T) {
	quiet := 0
	for ago := uint32(0); ago < 32*24; ago += 7 {
		for _, later := range []int64{WindowStep, market.Hour, 30 * market.Hour} {
			w := newWorld()
			_, pool := w.honest()
			hour := market.HourOf(testNow) - ago
			if hour < market.OldestHour(market.DayOf(testNow)) {
				hour -= hour % 24
			}
			w.volume(pool, hour, 100, 1)

			st := w.state()
			before := Stats(st, pool)
			past := st.Now()
			st.Head.Time += later
			if WindowsMoved(st, pool, past) {
				continue
			}
			quiet++
			if after := Stats(st, pool); after != before {
				t.Errorf("%d hours ago, %d s later: %+v; was %+v", ago, later, after, before)
			}
		}
	}

	if quiet < 50 {
		t.Errorf("%d were quiet; want more", quiet)
	}
}

// TestWeekAtMidnight: the oldest hour that is kept by itself is the one that falls out of
// the week in the first hour of a day.
func TestWeekAtMidnight(t *testing.T) {
	f := func(seconds int64, want float64) {
		t.Helper()
		w := newWorld()
		w.now = testNow - 8*market.Hour + seconds
		_, pool := w.honest()
		oldest := market.OldestHour(market.DayOf(w.now))
		w.volume(pool, oldest-24, 1000, 1) // a day's
		w.volume(pool, oldest, 12, 0.012)
		w.volume(pool, oldest+1, 5, 0.005)
		stats := Stats(w.state(), pool)
		mustNear(t, "7d", stats.VolumeUsd7d, want, 1e-12)
		mustNear(t, "fees 7d", stats.FeesUsd7d, want/1000, 1e-12)
	}

	f(0, 12+5)
	f(5*60, 11+5)
	f(55*60, 1+5)
	f(3600, 5)
}
