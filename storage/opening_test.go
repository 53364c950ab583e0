package storage

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// Only data of an older format is dropped to be built again, and only by a node that
// may write: the others are never asked for it. A node that does not want it keeps it.
func TestRebuildIsForOlderFormats(t *testing.T) {
	answer := true
	f := func(format string, readOnly, asked, kept bool, says string) {
		t.Helper()
		disk := vfs.NewMem()
		s := openTest(t, disk)
		want := newRig(31, 1).commit(t, s, 3, true)
		must(s.db.Set(formatKey, []byte(format), pebble.Sync))
		closeTest(t, s)
		must(disk.Remove("data/" + headerName))

		o, questions := testOptions(disk), 0
		o.ReadOnly = readOnly
		o.Rebuild = func() bool { questions++; return answer }
		s, err := Open("data", o)
		if asked != (questions > 0) || says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("format %s, read-only %t: asked %d times, %v; want %t, %q", format, readOnly, questions, err, asked, says)
		}
		if err != nil {
			return
		}
		defer closeTest(t, s)
		if kept {
			holds(t, s, want)
		} else if r, err := s.Restore(1); r != nil || err != nil {
			t.Errorf("format %s: the data is still there: %v", format, err)
		} else if n := s.LastGeneration(1); n != want.generation || n == 0 {
			t.Errorf("format %s: the last generation is %d; want %d", format, n, want.generation)
		}
	}

	before, now, next := strconv.Itoa(Format-1), strconv.Itoa(Format), strconv.Itoa(Format+1)
	f("1", false, true, false, "")
	f(before, false, true, false, "")
	f(now, false, false, true, "")
	f(now, true, false, true, "")
	f("1", true, false, true, `unknown format "1"; this program reads`)
	f(next, false, false, true, `unknown format "`+next+`"; this program reads`)
	f("0", false, false, true, `cannot read format of store data`)

	answer = false
	f(before, false, true, true, "")
	f("1", false, true, true, `unknown format "1"; this program reads`)
}

// A store that has lost its first commits has no format, but its HEADER has: it is not
// taken for whole.
func TestLostFirstCommits(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	newRig(32, 1).commit(t, s, 3, true)
	must(s.db.DeleteRange(headerPrefix, headerEnd, pebble.Sync))
	closeTest(t, s)

	o := testOptions(disk)
	o.ReadOnly = true
	if _, err := Open("data", o); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "its first commits are missing") {
		t.Errorf("read-only: %v; want that the first commits are missing", err)
	}
	s = openTest(t, disk)
	defer closeTest(t, s)
	if s.Rollback(1) == nil {
		t.Error("the chain does not say that its data is missing")
	}
	if files, err := disk.List("data.damaged"); err != nil || len(files) == 0 {
		t.Errorf("set aside are %v, %v", files, err)
	}
}

// The last key of a damaged file is searched for damage too.
func TestDamageOfASingleKey(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	key := appendKind(nil, 7, kindDirectory)
	must(s.db.Flush())
	write(s, key, []byte("a directory that is alone in its table"))
	must(s.db.Flush())
	closeTest(t, s)
	flipTables(t, disk, []byte("alone in its table"))

	s = openTest(t, disk)
	defer closeTest(t, s)
	if err := s.readRange(7, key, key); !isDamage(err) {
		t.Errorf("the damaged key reads as %v", err)
	}
	if err := s.readRange(8, key, key); err != nil {
		t.Errorf("of another chain: %v", err)
	}
}

// Pools that a revert removes take their lists of ticks with them, so that the next
// pool of that number begins without any.
func TestReplicaForgetsRemovedPools(t *testing.T) {
	x := newTeed(t, 1)
	g := newRig(33, 1)
	for range 4 {
		g.commit(t, x.s, 8, true)
		x.follow()

		keep := g.pools.Len() / 2
		g.pools.Truncate(keep)
		g.days.Truncate(keep)
		g.minutes.Truncate(keep)
		g.stats.Truncate(min(g.stats.Len(), keep))
		freed := moveRows(&g.ticks, func(t *market.Tick) *uint32 { return &t.Pool }, keep, market.NoIndex)
		moved := moveRows(&g.positions, func(p *market.Position) *uint32 { return &p.Pool }, keep, 0)
		direct := moveRows(&g.nonNFT, func(d *market.NonNFT) *uint32 { return &d.Pool }, keep, 0)
		prices := moveRows(&g.prices, func(p *market.Price) *uint32 { return &p.OnlyPool }, keep, market.NoIndex)
		ch := &ledger.Changes{}
		g.dropUndos(ch, g.st.Head.Number)
		g.st.Head.Number++
		g.freeze()
		ch.Head = g.st.Head
		cut := &Cut{State: g.now.st, Changes: ch, Prices: prices, Confirmed: g.now.confirmed}
		ledger.Ticks.SetChanged(cut.Changes, freed)
		ledger.Positions.SetChanged(cut.Changes, moved)
		ledger.NonNFT.SetChanged(cut.Changes, direct)
		must(x.s.Commit(cut))
		x.follow()
	}
}

// moveRows gives every row whose pool is gone another one, and returns them.
func moveRows[T any](table *market.Table[T], pool func(*T) *uint32, pools, to uint32) (moved []uint32) {
	for i := range table.Len() {
		if at := *pool(table.At(i)); at != market.NoIndex && at >= pools {
			*pool(table.Mut(i)) = to
			moved = append(moved, i)
		}
	}
	return moved
}

// Every figure of a store is in the metrics under its name, as Usage has it.
func TestStoreMetrics(t *testing.T) {
	set := metrics.NewSet()
	o := testOptions(vfs.NewMem())
	o.Metrics = set
	s, err := Open("data", o)
	must(err)
	defer closeTest(t, s)
	g := newRig(34, 1)
	g.commit(t, s, 30, true)
	must(s.db.Flush())
	g.commit(t, s, 30, true)
	must(s.Compact())
	g.commit(t, s, 3, true) // what is flushed now has to be compacted later
	must(s.db.Flush())
	g.commit(t, s, 3, true)
	must(readAll(s, 1))
	must(readSeries(s, 1))
	u := s.Usage()
	if u.CacheHits == 0 {
		must(readSeries(s, 1))
		u = s.Usage()
	}

	var out bytes.Buffer
	set.WritePrometheus(&out)
	for name, value := range map[string]uint64{
		"disk_bytes": u.DiskBytes, "memtable_bytes": u.MemTableBytes, "cache_bytes": uint64(u.CacheBytes),
		"cache_hits_total": uint64(u.CacheHits), "cache_misses_total": uint64(u.CacheMisses),
		"log_bytes_total": u.LogBytes, "flush_bytes_total": u.FlushBytes, "compact_bytes_total": u.CompactBytes,
		"compaction_debt_bytes": u.CompactionDebt, "read_amplification": uint64(u.ReadAmp),
	} {
		if value == 0 {
			t.Errorf("%s is 0 in a store that has read and written", name)
		}
		if want := fmt.Sprintf("\ntidemark_store_%s %d\n", name, value); !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// Keys of what chains share that this program does not know are those of a later one: it
// takes nothing from them, and a chain number that cannot be one takes no chain offline.
func TestUnknownHeaderKeys(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	must(errors.Join(s.SetIdentity([]Pair{{"seed", "7"}}), s.SetOffline(42161, true)))
	for _, key := range []string{"\x00offline/", "\x00offline/\x02\x01", "\x00offline/\x09\x01", "\x00later"} {
		must(s.db.Set([]byte(key), []byte("x"), pebble.Sync))
	}
	closeTest(t, s)

	s = openTest(t, disk)
	defer closeTest(t, s)
	if got, want := fmt.Sprint(s.header.Offline, s.Identity()), "[42161] [{seed 7}]"; got != want {
		t.Errorf("the header has %s; want %s", got, want)
	}
}

// A chain is offline until it is set online, whatever the others are, also after a start.
func TestOfflineChains(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	f := func(chain market.ChainID, offline bool, want ...bool) {
		t.Helper()
		must(s.SetOffline(chain, offline))
		closeTest(t, s)
		s = openTest(t, disk)
		for i, id := range []market.ChainID{1, 42161} {
			if got := s.Offline(id); got != want[i] {
				t.Errorf("chain %d set to %t: %d is offline: %t; want %t", chain, offline, id, got, want[i])
			}
		}
	}

	f(42161, true, false, true)
	f(1, true, true, true)
	f(1, true, true, true)
	f(42161, false, true, false)
	f(42161, false, true, false)
	f(1, false, false, false)
	closeTest(t, s)
}

// A HEADER whose checksum does not match tells nothing, and is written again from the keys. What
// is whole is left as it is: opening a store is no change of what chains share.
func TestHeaderFile(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	must(s.SetIdentity([]Pair{{"seed", "7"}}))
	want := s.header
	closeTest(t, s)
	f := func(what string, content []byte) {
		t.Helper()
		if content != nil {
			must(database.ReplaceFile(disk, "data/"+headerName, content))
		}
		s := openTest(t, disk)
		if !sameHeader(&s.header, &want) {
			t.Errorf("%s: the header is %+v; want %+v", what, s.header, want)
		}
		if file, err := s.readHeaderFile(); err != nil || file == nil || !sameHeader(file, &want) {
			t.Errorf("%s: the file has %+v, %v; want %+v", what, file, err, want)
		}
		closeTest(t, s)
	}

	f("as it was", nil)
	f("opened again", nil)
	line := fmt.Sprintf(`{"Format":%d,"Update":999,"Identity":[{"Name":"seed","Value":"8"}]}`, Format)
	f("another sum", []byte(line+"\n00000000\n"))
	f("no sum", []byte(line))
	f("no JSON", []byte("junk\n"))
	f("an empty file", []byte{})
}

// Two headers are the same if all that chains share is.
func TestSameHeader(t *testing.T) {
	f := func(want bool, change func(h *header)) {
		t.Helper()
		a := &header{Format: 3, Update: 7, Identity: []Pair{{"seed", "7"}}, Offline: []market.ChainID{1, 10}}
		b := &header{Format: 3, Update: 7, Identity: []Pair{{"seed", "7"}}, Offline: []market.ChainID{1, 10}}
		if change(b); sameHeader(a, b) != want || sameHeader(b, a) != want {
			t.Errorf("%+v and %+v: want them to be the same: %t", a, b, want)
		}
	}

	f(true, func(*header) {})
	f(false, func(h *header) { h.Format++ })
	f(false, func(h *header) { h.Update++ })
	f(false, func(h *header) { h.Excised = true })
	f(false, func(h *header) { h.Identity[0].Value = "8" })
	f(false, func(h *header) { h.Identity = nil })
	f(false, func(h *header) { h.Offline[1] = 137 })
	f(false, func(h *header) { h.Offline = h.Offline[:1] })
}
