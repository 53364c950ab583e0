package storage

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/market"
)

// TestOpenDays: the series has running days without what their pools have, and reads them
// whole; a pool that is missing, and a day that is over and open, are found.
func TestOpenDays(t *testing.T) {
	_, s := lifeStore(t)
	defer closeTest(t, s)
	r, err := s.Restore(1)
	must(err)

	open, today := 0, market.DayOf(r.State.Head.Time)
	for i := range r.State.Days.Len() {
		want := *r.State.Days.At(i)
		if want.Day == 0 {
			continue
		}
		raw, _, err := s.get(dayKey(i, want.Day), nil)
		must(err)
		stored := market.PoolDay{}
		must(decode(raw, &stored, codeDayEntry))
		if isOpen(&stored) != (want.Day == today) {
			t.Errorf("pool %d: its day %d is open: %t; the running day is %d", i, want.Day, isOpen(&stored), today)
		}
		if isOpen(&stored) {
			open++
		}

		got, _, err := s.PoolDayAt(1, i, market.NoIndex)
		if a, b := encode(nil, &got, codePoolDay), encode(nil, &want, codePoolDay); err != nil || string(a) != string(b) {
			t.Errorf("pool %d: the series has %+v, %v; want %+v", i, got, err, want)
		}
	}
	if open == 0 {
		t.Error("no day is open")
	}

	day := *r.State.Days.At(0)
	day.CloseWith(new(market.Pool))
	findings, err := checkSpoiled(t, s, dayKey(0, today-1), func([]byte) []byte {
		d := withoutHour(day)
		return encode(nil, &d, codeDayEntry)
	})
	if err != nil || !strings.Contains(strings.Join(findings, "\n"), "is open; the running one is") {
		t.Errorf("findings of an open day that is over: %q, %v", findings, err)
	}
	must(s.db.Delete(rowKey(1, "pools", 0, 0), pebble.Sync))
	must(s.db.Delete(rowKey(1, "pools", 0, 1), pebble.Sync))
	if _, _, err := s.PoolDayAt(1, 0, today); err == nil || !strings.Contains(err.Error(), "pool 0 of an open day is missing") {
		t.Errorf("an open day without its pool is read: %v", err)
	}
}

// TestOpenDay: only the running day is open, and only where it has what its pool has.
func TestOpenDay(t *testing.T) {
	const day = 20_000
	next := randomNumbers(71)
	pool := filled[market.Pool](next)
	pool.SqrtPriceX96[0] |= 1
	var pools market.Table[market.Pool]
	pools.Append(pool)
	st := &market.State{Pools: pools.Freeze(), Head: market.Head{Time: day*market.Day + 5}}

	f := func(name string, want bool, change func(d *market.PoolDay)) {
		t.Helper()
		d := withoutHour(filled[market.PoolDay](next))
		d.Pool, d.Day = 0, day
		d.CloseWith(&pool)
		change(&d)
		got := *openDay(st, &d)
		if isOpen(&got) != want {
			t.Errorf("%s: it is open: %t; want %t", name, isOpen(&got), want)
		}
		if closeRow(st, 0, &got); equal(got, d) != "" {
			t.Errorf("%s: it is closed as %+v; want %+v", name, got, d)
		}
	}

	f("the running day", true, func(*market.PoolDay) {})
	f("the day before", false, func(d *market.PoolDay) { d.Day-- })
	f("a day with an hour", false, func(d *market.PoolDay) { d.EventHour = 3 })
	f("of another price", false, func(d *market.PoolDay) { d.Close[0] ^= 2 })
	f("of another tick", false, func(d *market.PoolDay) { d.Tick++ })
	f("of other liquidity", false, func(d *market.PoolDay) { d.Liquidity.Lo ^= 1 })
	f("of other fees", false, func(d *market.PoolDay) { d.FeeGrowthGlobal0X128[0] ^= 1 })
	f("of other fees of the other token", false, func(d *market.PoolDay) { d.FeeGrowthGlobal1X128[0] ^= 1 })
	f("of a pool that is missing", false, func(d *market.PoolDay) { d.Pool = 1 })
}
