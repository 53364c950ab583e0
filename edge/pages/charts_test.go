package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings"
	"tidemark/rankings/chart"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// TestQuotesOfRange checks that there is a quote for each interval of a range, known or
// not.
func TestQuotesOfRange(t *testing.T) {
	store := newStore(t)
	p := &Pages{cfg: &Config{Store: store}}

	for _, step := range []chart.Step{chart.Daily, chart.Hourly} {
		for _, token := range []uint32{0, market.NoIndex} {
			quotes, err := p.readQuotes(&market.State{Chain: 1}, token, step, 100, 102)
			if err != nil || len(quotes) != 3 {
				t.Fatalf("step %d, token %d: %d quotes of 3 intervals, %v", step, token, len(quotes), err)
			}
			for n, q := range quotes[:2] {
				if market.Known(q.Usd) || q.OnlyPool != market.NoIndex {
					t.Errorf("step %d, token %d: quote %d, of which nothing is stored, is %+v", step, token, n, q)
				}
			}
		}
	}
}

// TestUnreadableDays checks that a chart is not drawn from the day before its range when
// that cannot be read.
func TestUnreadableDays(t *testing.T) {
	dir := t.TempDir()
	open := func() *storage.Store {
		store, err := storage.Open(dir, storage.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	store := open()
	st := played(t, store, aPoolOfThreeDays...)
	created := market.DayOf(st.Pools.At(0).CreatedAt)
	p := &Pages{cfg: &Config{Store: store}}
	f := func(from uint32, damaged bool) {
		t.Helper()
		hours := new(chart.Records)
		days, dayErr := p.readDayEnds(st, 0, from, market.DayOf(st.Now()))
		for name, err := range map[string]error{"days": dayErr, "hours": p.hourEnds(st, 0, from, hours)} {
			if (err != nil) != damaged {
				t.Errorf("%s from %d on: %v; damaged: %t", name, from, err, damaged)
			}
		}
		if !damaged && (len(days) == 0 || days[0].At >= from || len(hours.Ends) == 0 ||
			hours.Ends[0].At >= from*market.HoursOfDay) {
			t.Errorf("from %d on: %+v and %+v are not led by the day before", from, days, hours.Ends)
		}
	}
	damage := func(keys string) {
		t.Helper()
		if err := p.cfg.Store.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: pebble.FormatValueSeparation})
		if err != nil {
			t.Fatal(err)
		}
		it, err := db.NewIter(nil)
		if err != nil {
			t.Fatal(err)
		}
		for it.SeekGE([]byte(keys)); it.Valid() && strings.HasPrefix(string(it.Key()), keys); it.Next() {
			if err := db.Set(it.Key(), []byte{1}, pebble.NoSync); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(it.Close(), db.Close()); err != nil {
			t.Fatal(err)
		}
		p.cfg.Store = open()
	}

	tomorrow := market.DayOf(st.Now()) + 1
	f(created+2, false)
	f(tomorrow, false)
	const ofPool = "\x01\x01\x21\x00\x00\x00\x00" // 0 of chain 1
	damage(string(binary.BigEndian.AppendUint32([]byte(ofPool), created)))
	f(created+2, true)
	f(tomorrow, false)
	damage(ofPool)
	f(tomorrow, true)
	if err := p.cfg.Store.Close(); err != nil {
		t.Error(err)
	}
}

// priceAll gives every token of a State the price of two dollars.
func priceAll(st *market.State) {
	var prices market.Table[market.Price]
	for range st.Tokens.Len() {
		prices.Append(market.Price{Usd: 2, ExitUsd: 2, OnlyPool: market.NoIndex})
	}
	st.Prices = prices.Freeze()
}

// TestSeriesReadsWhatItNeeds: a position's series is the same from what is read for it as
// from all that the store has. Prices pass the ticks of some positions in the range and of
// others before it; some were closed on the day of their mint, or later, or opened again.
func TestSeriesReadsWhatItNeeds(t *testing.T) {
	store := newStore(t)
	st := played(t, store, "gas 0 0", "pool P A B 3000 60", "mint 1 a P min max 1e18", "mint 2 b P -600 600 1e18",
		"mint 3 c P 660 1200 1e18", "wait +1d", "push P @1.1", "wait +1d", "push P @1", "mint 4 d P -60 60 1e18",
		"wait +1h", "remove 4 all", "mint 5 e P -120 600 1e18", "wait +1d", "push P @1.1", "wait +2d", "push P @0.99",
		"remove 5 all", "wait +1d", "add 4 1e18", "push P @1.01", "wait +1d", "mint 6 f P -120 60 1e18", "remove 2 5e17",
		"push P @0.99")
	priceAll(st)
	p := &Pages{cfg: &Config{Store: store, Board: new(rankings.Board)}}
	p.SetLimits(DefaultLimits())
	v := &rankings.View{State: st}

	for i := range st.Positions.Len() {
		at, skipped := st.Positions.At(i), 0
		for days := uint32(1); days <= 8; days++ {
			for _, step := range []chart.Step{chart.Daily, chart.Hourly} {
				from := step.First(st, 0, days)
				line := chart.NewTimeline(st, 0, step, from, everyEnd(t, p, v, step, from))
				want := line.Position(i, everyRecord(t, p, v, i, step, from))
				got, err := p.positionSeries(v, i, step, line)
				if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("position %d, %d days, step %d: %+v, %v; want %+v", at.ID, days, step, got, err, want)
				}
				if begin, end := line.PositionPast(i); begin >= end {
					skipped++
				}
			}
		}
		if never := at.ID == 1 || at.ID == 2; never && skipped > 2 || at.ID == 6 && skipped < 8 {
			t.Errorf("position %d has no past in %d series", at.ID, skipped)
		}
	}
}

// everyEnd reads all ends of the pool, whose tokens are always worth 2 USD.
func everyEnd(t *testing.T, p *Pages, v *rankings.View, step chart.Step, from uint32) *chart.Records {
	t.Helper()
	var kept chart.Records
	st, err := v.State, error(nil)
	if step == chart.Hourly {
		err = p.hourEnds(st, 0, market.DayOf(step.Start(from)), &kept)
	} else {
		kept.Ends, err = p.readDayEnds(st, 0, 0, market.DayOf(st.Now()))
	}

	for leg := range kept.Quotes {
		kept.Quotes[leg] = slices.Repeat([]value.Quote{{Usd: 2, ExitUsd: 2, OnlyPool: market.NoIndex}},
			int(step.Of(st.Now())-from)+1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &kept
}

// everyRecord reads the whole history of a position, and all that is kept of its ticks.
func everyRecord(
	t *testing.T, p *Pages, v *rankings.View, i uint32, step chart.Step, from uint32,
) *chart.PositionRecords {
	t.Helper()
	st, today := v.State, market.DayOf(v.State.Now())
	at := st.Positions.At(i)
	kept := &chart.PositionRecords{History: chart.NewHistory(at, step, 0, step.Of(st.Now()))}
	it := p.transactions(st, i, storage.OldestFirst)
	defer it.Close()
	for it.Next() {
		kept.History.Add(it.Entry())
	}

	for tick, to := range map[int32]*[]chart.Outside{at.TickLower: &kept.Lower, at.TickUpper: &kept.Upper} {
		var err error
		if step == chart.Daily {
			*to, err = readSeries(p.cfg.Store.TickDaysFrom(1, 0, tick, 0, today), chart.OutsideOfDay)
		} else {
			var hours []market.TickHour
			hours, err = p.cfg.Store.TickHours(1, 0, tick, today-20, today)
			for n := range hours {
				*to = append(*to, chart.OutsideOfHour(&hours[n]))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	kept.Native, _ = p.readQuotes(st, st.Native, step, from, step.Of(st.Now()))
	return kept
}

// aPoolOfThreeDays is a market in whose pool something happens every other day.
var aPoolOfThreeDays = []string{
	"pool P A B 3000 60", "mint 1 alice P -600 600 1e18", "wait +2d", "push P @2", "wait +2d", "push P @3",
}

// TestReplayBegins checks what a replay of a pool begins with: its first day, or the newest
// one before it. It says which of them is missing.
func TestReplayBegins(t *testing.T) {
	store := newStore(t)
	st := played(t, store, aPoolOfThreeDays...)
	created := market.DayOf(st.Pools.At(0).CreatedAt)
	p := &Pages{cfg: &Config{Store: store}}
	f := func(of *Pages, first uint32, want string) {
		t.Helper()
		_, err := of.replay(st, 0, first, int64(first)*market.Day)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("from day %d on: got %q; want %q", first, got, want)
		}
	}

	for day := range uint32(5) {
		f(p, created+day, "")
	}
	f(p, created-1, fmt.Sprintf("cannot find a day of pool 0 before %d", created-1))
	empty := &Pages{cfg: &Config{Store: newStore(t)}}
	f(empty, created, fmt.Sprintf("cannot find the first day %d of pool 0", created))
	f(empty, created+1, fmt.Sprintf("cannot find a day of pool 0 before %d", created+1))

	older := market.Thaw(st.Pools)
	older.Mut(0).CreatedAt -= 9 * market.Day
	st.Pools = older.Freeze()
	f(p, created, fmt.Sprintf("cannot find a day of pool 0 before %d", created))
}
