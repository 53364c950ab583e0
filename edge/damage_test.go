package edge

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/actors/feed/sim"
	"tidemark/edge/pages"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// keysOf begins the keys of chain 1 with a kind and numbers.
func keysOf(kind byte, numbers ...uint32) []byte {
	key := []byte{1, 1, kind}
	for _, n := range numbers {
		key = binary.BigEndian.AppendUint32(key, n)
	}
	return key
}

// damageRecords damages the records whose keys begin so, and returns what repairs them.
func damageRecords(dir string, keys []byte) (repair func()) {
	quiet := pebble.Options{FormatMajorVersion: pebble.FormatValueSeparation, Logger: nothing{}}
	db, err := pebble.Open(dir, &quiet)
	must(err)
	var was [][2][]byte
	it, err := db.NewIter(nil)
	must(err)
	for it.SeekGE(keys); it.Valid() && bytes.HasPrefix(it.Key(), keys); it.Next() {
		was = append(was, [2][]byte{bytes.Clone(it.Key()), bytes.Clone(it.Value())})
	}
	must(it.Close())
	for _, record := range was {
		must(db.Set(record[0], record[1][:1], pebble.NoSync))
	}
	must(db.Close())

	return func() {
		db, err := pebble.Open(dir, &quiet)
		must(err)
		for _, record := range was {
			must(db.Set(record[0], record[1], pebble.NoSync))
		}
		must(db.Close())
	}
}

// nothing is a log that keeps nothing.
type nothing struct{}

func (nothing) Infof(string, ...any)  {}
func (nothing) Errorf(string, ...any) {}
func (nothing) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// crossed returns a position with some history whose lower tick the price crossed lately,
// in a pool without the native currency, and the first entry of its history.
func crossed(s *storage.Store, st *market.State) (i uint32, first market.Transaction) {
	today := market.DayOf(st.Now())
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		hours, err := s.TickHours(st.Chain, p.Pool, p.TickLower, today-3, today)
		must(err)
		_, known, err := s.TickDayAt(st.Chain, p.Pool, p.TickUpper, today)
		must(err)

		history := s.Transactions(st.Chain, i, storage.Place{}, storage.End(st.Head.Number), storage.OldestFirst)
		entries, first := 0, market.Transaction{}
		for ; history.Next(); entries++ {
			if entries == 0 {
				first = *history.Entry()
			}
		}
		history.Close()
		if len(hours) > 0 && st.Pools.At(p.Pool).Currency0 != st.Native && known && entries > 1 {
			return i, first
		}
	}
	panic("no tick was crossed")
}

// unreadable asks for paths, by name, and returns the names of those that are refused as
// unreadable. The bodies of all others are added to whole, or are what is there.
func (f *front) unreadable(paths, whole map[string]string) (failed []string) {
	f.t.Helper()
	for name, path := range paths {
		a := f.get(path)
		if strings.Contains(a.body, "data could not be read") {
			if name != "export" && (a.code != 503 || a.header.Get("X-Units-Charged") != "0" ||
				a.header.Get("Retry-After") != "1" || !strings.Contains(f.log.String(), "chain 1")) {
				f.t.Errorf("%s: got %d %v; the log has %s", name, a.code, a.header, f.log)
			}
			failed = append(failed, name)
			continue
		}

		if whole[name] == "" {
			whole[name] = a.body
		}
		if a.code != 200 || a.body != whole[name] {
			f.t.Errorf("%s: got %d %.200s; before it was %.200s", name, a.code, a.body, whole[name])
		}
	}
	slices.Sort(failed)
	return failed
}

// TestDamagedRecords checks that an answer which needs a record that cannot be read is a
// 503, not charged and with its cause in the log, and that all others are as before.
func TestDamagedRecords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "market")
	open := func() *storage.Store {
		s, err := storage.Open(dir, storage.Options{Logger: slog.New(slog.DiscardHandler)})
		must(err)
		return s
	}
	n := &node{store: open(), board: new(rankings.Board)}
	n.grow(sim.Config{Chain: 1, Positions: 60, Pools: 10, Days: 4, Actions: 500})

	view, _ := n.board.Load().Chain(1)
	st := view.View.State
	i, first := crossed(n.store, st)
	p := st.Positions.At(i)
	must(n.store.Close())
	position := fmt.Sprintf("/v1/positions/1/swapdex-v4/%d", p.ID)
	pool := fmt.Sprintf("/v1/pools/1/swapdex-v4/%s", st.Pools.At(p.Pool).ID)
	most := 887272 / st.Pools.At(p.Pool).TickSpacing * st.Pools.At(p.Pool).TickSpacing
	paths := map[string]string{
		"list": "/v1/positions", "filtered": "/v1/positions?range=in", "pools": "/v1/pools",
		"export":   "/v1/positions/export?chainId=1&" + every,
		"position": position, "explain": position + "/explain", "pool": pool, "ticks": pool + "/ticks",
		"days": pool + "/charts", "hours": pool + "/charts?interval=1h",
		"own days": position + "/charts", "own hours": position + "/charts?interval=1h",
		"estimate": fmt.Sprintf("%s/estimate?tickLower=%d&tickUpper=%d&valueUsd=100", pool, -most, most),
	}

	whole := map[string]string{}
	f := func(keys []byte, fails ...string) {
		t.Helper()
		if keys != nil {
			defer damageRecords(dir, keys)()
		}
		store := open()
		defer func() { must(store.Close()) }()
		t.Run(fmt.Sprintf("keys %x", keys), func(t *testing.T) {
			s := serve(t, func(c *Config) { c.Board, c.Store = n.board, store })
			failed := s.unreadable(paths, whole)
			slices.Sort(fails)
			if !slices.Equal(failed, fails) {
				t.Errorf("%q fail; want %q", failed, fails)
			}

			// The newest entries of a history, without a wait for the others.
			s.limit(func(l *pages.Limits) { l.TransactionsWait = 0 })
			if a := s.get(position); (a.code == 503) != slices.Contains(fails, "position") {
				t.Errorf("without a wait the position is %d %.200s", a.code, a.body)
			}
		})
	}

	f(nil)
	f(keysOf(0x20), "position", "own days", "own hours")
	block := []uint32{uint32(first.Block >> 32), uint32(first.Block), first.LogIndex}
	f(keysOf(0x20, append([]uint32{i}, block...)...), "position", "own days", "own hours")
	f(keysOf(0x21), "days", "hours", "own days", "own hours", "estimate")
	f(keysOf(0x22), "own days", "own hours")
	f(keysOf(0x22, p.Pool, uint32(p.TickUpper)^1<<31), "own days", "own hours")
	f(keysOf(0x23), "days", "hours", "own days", "own hours", "estimate")
	for _, token := range []uint32{st.Pools.At(p.Pool).Currency0, st.Pools.At(p.Pool).Currency1} {
		f(keysOf(0x23, token), "days", "hours", "own days", "own hours", "estimate")
	}
	f(keysOf(0x23, st.Native), "own days", "own hours")
	f(keysOf(0x24), "hours", "own hours", "estimate")
	f(keysOf(0x25), "own hours")
	f(keysOf(0x40), "list", "filtered", "pools", "export")
}
