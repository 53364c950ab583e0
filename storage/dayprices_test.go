package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// The price of a day is that of its last hour: the last record at or before it, of
// whatever day, and none before the first.
func TestDayPrices(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	g := newRig(41, 1)
	cut := g.cut(1, false)
	record := func(token, hour uint32, usd float64) {
		p := ledger.HourPrice{Token: token, Usd: usd, OnlyPool: market.NoIndex}
		cut.Changes.Ops.Add(ledger.HourPrices.Put(ledger.HourEntry{HourPrice: p, Hour: hour}))
	}
	const token, day = 900, 20_000
	record(token, day*24-1, 1)                // the last hour of the day before
	record(token, day*24+5, 2)                // within the day
	record(token, day*24+23, 3)               // its last hour
	record(token, (day+3)*24, 4)              // three days later, the first hour
	record(token, (day+5)*24, market.Unknown) // the price is lost
	record(token-1, day*24+12, 77)            // of another token
	record(token+1, day*24+12, 78)
	must(s.Commit(cut))

	f := func(from, to uint32, want ...float64) {
		t.Helper()
		got, err := s.DayPrices(1, token, from, to)
		if err != nil || len(got) != len(want) {
			t.Fatalf("days %d to %d: %v, %v; want %v", from, to, got, err, want)
		}
		for i, usd := range want {
			p := got[i]
			if p.Usd != usd && (market.Known(p.Usd) || market.Known(usd)) || p.Token != token {
				t.Errorf("day %d: token %d at %v; want %v", from+uint32(i), p.Token, p.Usd, usd)
			}
			before := from+uint32(i) < day-1
			if (p.Reason == market.ReasonNoMarket) != before || p.OnlyPool != market.NoIndex {
				t.Errorf("day %d: %+v", from+uint32(i), p)
			}
		}
	}

	unknown := market.Unknown
	f(day-2, day+6, unknown, 1, 3, 3, 3, 4, 4, unknown, unknown)
	f(day, day, 3)
	f(day+1, day+2, 3, 3)
	f(day+3, day+3, 4)
	f(day-1, day-1, 1)
	f(day-3, day-2, unknown, unknown)
	f(day+9, day+9, unknown)
}

// The price of an hour is the last record at or before it, and so is a tick's entry on a
// day.
func TestPricesByHour(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	g := newRig(42, 1)
	cut := g.cut(1, false)
	const token = 900
	for hour, usd := range map[uint32]float64{100: 1, 101: 2, 105: 3, 108: market.Unknown} {
		p := ledger.HourPrice{Token: token, Usd: usd, OnlyPool: market.NoIndex}
		cut.Changes.Ops.Add(ledger.HourPrices.Put(ledger.HourEntry{HourPrice: p, Hour: hour}))
	}
	for _, day := range []uint32{20, 22} {
		e := market.TickDay{Pool: 7, Tick: -60, Day: day}
		e.FeeGrowthOutside0X128[0] = uint64(day)
		cut.Changes.Ops.Add(ledger.TickDays.Put(e))
	}
	must(s.Commit(cut))

	f := func(from, to uint32, want ...float64) {
		t.Helper()
		got, err := s.PricesByHour(1, token, from, to)
		if err != nil || len(got) != len(want) {
			t.Fatalf("hours %d to %d: %v, %v; want %v", from, to, got, err, want)
		}
		for i, usd := range want {
			if p := got[i]; p.Usd != usd && (market.Known(p.Usd) || market.Known(usd)) || p.Token != token {
				t.Errorf("hour %d: token %d at %v; want %v", from+uint32(i), p.Token, p.Usd, usd)
			}
		}
	}
	unknown := market.Unknown
	f(98, 109, unknown, unknown, 1, 2, 2, 2, 2, 3, 3, 3, unknown, unknown)
	f(104, 104, 2)
	f(105, 106, 3, 3)
	f(90, 91, unknown, unknown)

	for day, want := range map[uint32]uint64{19: 0, 20: 20, 21: 20, 22: 22, 99: 22} {
		e, ok, err := s.TickDayAt(1, 7, -60, day)
		if err != nil || ok != (want != 0) || e.FeeGrowthOutside0X128[0] != want {
			t.Errorf("day %d: %+v, %t, %v; want %d", day, e, ok, err, want)
		}
	}
}
