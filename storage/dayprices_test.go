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
		cut.Changes.Ops = append(cut.Changes.Ops, ledger.HourPrices.Put(ledger.HourEntry{HourPrice: p, Hour: hour}))
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
