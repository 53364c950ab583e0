package pages

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/chart"
	"tidemark/rankings/market"
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
		days, hours := new(chart.Records), new(chart.Records)
		for name, err := range map[string]error{
			"days": p.dayEnds(st, 0, from, days), "hours": p.hourEnds(st, 0, from, hours),
		} {
			if (err != nil) != damaged {
				t.Errorf("%s from %d on: %v; damaged: %t", name, from, err, damaged)
			}
		}
		if !damaged && (len(days.Ends) == 0 || days.Ends[0].At >= from || len(hours.Ends) == 0 ||
			hours.Ends[0].At >= from*market.HoursOfDay) {
			t.Errorf("from %d on: %+v and %+v are not led by the day before", from, days.Ends, hours.Ends)
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
