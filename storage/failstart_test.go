package storage

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/rankings/market"
	"tidemark/storage/database"
	"tidemark/storage/disktest"
)

// afterStart is more operations than any start has: none fails any more.
const afterStart = 1 << 40

// failingOnce is a disk of which the nth file operation fails.
func failingOnce(disk vfs.FS, n int64, operations *atomic.Int64) vfs.FS {
	return disktest.FailingOn(disk, n, operations, func(errorfs.Op) bool { return true })
}

// Whichever file operation of a start fails, a store that is only read is refused with
// that error, or it is whole: with its cuts, its identity, its rollbacks and its gaps.
func TestStartsOnAFailingDisk(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := openTest(t, disk)
	must(s.SetIdentity([]Pair{{"seed", "7"}}))
	g, h := newRig(61, 1), newRig(62, 42161)
	g.commit(t, s, 3, true)
	want, other := g.commit(t, s, 3, true), h.commit(t, s, 3, true)
	must(s.heads.write(acknowledgedHead{chain: 42161, sequence: 9, block: 99})) // it lost commits
	closeTest(t, s)

	refused := 0
	for n := int64(0); ; n++ {
		var operations atomic.Int64
		o := testOptions(failingOnce(disk, n, &operations))
		o.ReadOnly = true
		s, err := Open("data", o)
		reached := operations.Swap(afterStart) > n
		switch {
		case err != nil && !errors.Is(err, syscall.EIO) && !strings.Contains(err.Error(), syscall.EIO.Error()):
			t.Errorf("operation %d failed: %v", n, err)
		case err != nil:
			refused++
		default:
			holds(t, s, want)
			holds(t, s, other)
			chains, err := s.Chains()
			r := s.Rollback(42161)
			if err != nil || !slices.Equal(chains, []market.ChainID{1, 42161}) || r == nil || r.Commits != 8 ||
				!slices.Equal(s.Identity(), []Pair{{"seed", "7"}}) || s.headerDamage != nil {
				t.Errorf("operation %d failed: chains %d, %v, rollback %v, identity %v",
					n, chains, err, r, s.Identity())
			}
			closeTest(t, s)
		}
		if !reached {
			break
		}
	}
	if refused < 10 {
		t.Errorf("%d operations were made to fail; want more", refused)
	}
}

// What chains share is as it was if it could not be written, in memory too.
func TestHeaderThatCannotBeWritten(t *testing.T) {
	var failing atomic.Bool
	broken := errors.New("broken")
	disk := failsAt(errorfs.OpRename, broken, &failing)
	s := openTest(t, disk)
	defer closeTest(t, s)
	before := []Pair{{"seed", "1"}}
	must(s.SetIdentity(before))
	update := s.header.Update

	failing.Store(true)
	if err := s.SetIdentity([]Pair{{"seed", "2"}}); !errors.Is(err, broken) {
		t.Errorf("SetIdentity = %v", err)
	}
	if got := s.Identity(); !slices.Equal(got, before) || s.header.Update != update {
		t.Errorf("the identity is %v, change %d; want %v, change %d", got, s.header.Update, before, update)
	}
	failing.Store(false)
	must(s.SetIdentity([]Pair{{"seed", "3"}}))
	if s.header.Update != update+1 {
		t.Errorf("change %d follows %d", s.header.Update, update)
	}
}

// A chain that was removed with its neighbour takes nothing until it was dropped.
func TestLostChainTakesNothing(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	g := newRig(63, 1)
	g.commit(t, s, 3, true)
	w := s.writerOf(1)
	s.loseChain(1, 5)
	keys := keysOf(t, s, 1)

	var damage *Damage
	for what, err := range map[string]error{
		"commit": s.Commit(g.cut(3, true)), "follow": s.Follow(1, make([]byte, 12), []byte("here")),
	} {
		if !errors.As(err, &damage) || !strings.Contains(err.Error(), "removed with those of chain 5") {
			t.Errorf("%s = %v; want the damage", what, err)
		}
	}
	if !slices.Equal(keysOf(t, s, 1), keys) {
		t.Error("a chain that was lost took a write")
	}

	must(s.DropChain(1))
	if err := s.Commit(newRig(64, 1).cut(3, true)); err != nil || w.lost != nil {
		t.Errorf("after the chain was dropped: %v", err)
	}
}

// What Pebble tells of itself is counted and logged.
func TestListener(t *testing.T) {
	set, out := metrics.NewSet(), new(bytes.Buffer)
	o := testOptions(vfs.NewMem())
	o.Metrics = set
	s, err := Open("data", o)
	must(err)
	defer closeTest(t, s)

	l := s.listener(slog.New(slog.NewTextHandler(out, nil)))
	l.WriteStallBegin(pebble.WriteStallBeginInfo{Reason: "memtables"})
	l.DiskSlow(pebble.DiskSlowInfo{Path: "data/000001.log"})
	l.DiskSlow(pebble.DiskSlowInfo{Path: "data/000002.log"})
	l.BackgroundError(errors.New("no compaction"))
	for _, says := range []string{"memtables", "000001.log", "000002.log", "no compaction"} {
		if !strings.Contains(out.String(), says) {
			t.Errorf("the log does not say %q:\n%s", says, out)
		}
	}

	newRig(65, 1).commit(t, s, 30, true)
	must(s.db.Flush())
	if u := s.Usage(); u.FlushBytes == 0 || u.FlushBytes > u.DiskBytes {
		t.Errorf("%d bytes were flushed; the store has %d", u.FlushBytes, u.DiskBytes)
	}
	out.Reset()
	set.WritePrometheus(out)
	for _, line := range []string{
		"tidemark_store_write_stalls_total 1\n", "tidemark_store_slow_disk_operations_total 2\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in\n%s", line, out)
		}
	}
}

// The findings of a chain end at a limit.
func TestFindingsAreLimited(t *testing.T) {
	c := &checker{chain: 7}
	for i := range maxFindings + 5 {
		c.report("finding %d", i)
	}
	if len(c.found) != maxFindings || c.found[0] != "chain 7: finding 0" {
		t.Errorf("%d findings, the first %q; want %d", len(c.found), c.found[0], maxFindings)
	}
}

// TestTableDamage: damage names its file and keys, and touches the chains with keys there.
func TestTableDamage(t *testing.T) {
	info := &pebble.DataCorruptionInfo{Path: "data/000004.sst", Details: errors.New("a bad block")}
	info.Bounds.Start, info.Bounds.End.Key = appendRow(nil, 3, kindHead, 7), appendRow(nil, 5, kindHead, 9)

	d := database.NewTableDamage(info)
	if want := "file data/000004.sst, keys 01030100000007 to 01050100000009: a bad block"; d.String() != want {
		t.Errorf("got %s; want %s", d, want)
	}
	for chain, want := range map[market.ChainID]bool{1: false, 2: false, 3: true, 4: true, 5: true, 6: false, 300: false} {
		if touches(d, chain) != want {
			t.Errorf("chain %d is touched: %t; want %t", chain, !want, want)
		}
	}
	d.Lower, d.Upper = appendChainEnd(nil, 3), appendChain(nil, 5)
	if touches(d, 3) || !touches(d, 5) {
		t.Errorf("the keys from the end of chain 3 to the begin of 5 touch 3: %t, 5: %t", touches(d, 3), touches(d, 5))
	}
}

// TestHeadsAreClosed: the file of heads is closed with the store, once it was written.
func TestHeadsAreClosed(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	must(s.heads.close()) // nothing was written
	newRig(66, 1).commit(t, s, 3, true)
	broken := errors.New("broken")
	s.heads.file = disktest.Unclosable{File: s.heads.file, Err: broken}
	if err := s.Close(); !errors.Is(err, broken) || !strings.Contains(err.Error(), "cannot close store data") {
		t.Errorf("Close = %v; want that the heads could not be closed", err)
	}
}

// Whichever file operation fails while a stand-in takes the place of a cut table in a
// store that is only read, the start is refused, or the store is open as without the
// failure: with the chain that the table does not touch, and what is wrong with the other.
func TestStandInsOnAFailingDisk(t *testing.T) {
	disk, _, two := splitMarket(t)
	cut := ""
	for name, touched := range closedTables(t, disk) {
		if len(touched) == 1 && touched[0] == 1 {
			cut = name
		}
	}
	info, err := disk.Stat("data/" + cut)
	must(err)
	disktest.Resize(t, disk, "data/"+cut, info.Size()/2)

	refused := 0
	for n := int64(0); ; n++ {
		var operations atomic.Int64
		o := testOptions(failingOnce(disk, n, &operations))
		o.ReadOnly = true
		s, err := Open("data", o)
		if err != nil {
			refused++
			continue
		}

		reached := operations.Swap(afterStart) > n
		holds(t, s, two)
		findings := strings.Join(s.listStandIns([]market.ChainID{1, 42161}), " ")
		if !strings.Contains(findings, cut) || !strings.Contains(findings, "chains with keys there: [1];") {
			t.Errorf("operation %d failed: the findings %q do not name %s and chain 1", n, findings, cut)
		}
		closeTest(t, s)
		if !reached {
			break
		}
	}
	if refused < 20 {
		t.Errorf("%d operations were made to fail; want more", refused)
	}
}

// A database without anything in it is no store to read, and a new one to write.
func TestEmptyDatabase(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	must(errors.Join(s.db.DeleteRange(headerPrefix, headerEnd, pebble.Sync), disk.Remove("data/"+headerName)))
	closeTest(t, s)

	o := testOptions(disk)
	o.ReadOnly = true
	if _, err := Open("data", o); err == nil || !strings.Contains(err.Error(), "it is empty") {
		t.Errorf("read-only: %v; want that it is empty", err)
	}
	s = openTest(t, disk)
	holds(t, s, newRig(67, 1).commit(t, s, 3, true))
	closeTest(t, s)
}

// Whichever operation on a cut table or its copy fails while a stand-in takes its place,
// the next start has the same: the other chain whole, the damage of this one, and what
// there was of the table aside.
func TestKeptTablesOnAFailingDisk(t *testing.T) {
	market, _, two := splitMarket(t)
	cut := ""
	for name, touched := range closedTables(t, market) {
		if len(touched) == 1 && touched[0] == 1 {
			cut = max(cut, name)
		}
	}
	disktest.Resize(t, market, "data/"+cut, 10)

	refused := 0
	for n := int64(0); ; n++ {
		disk := vfs.NewMem()
		_, err := vfs.Clone(market, disk, "", "")
		must(err)

		var operations atomic.Int64
		s, err := Open("data", testOptions(disktest.FailingOn(disk, n, &operations, func(op errorfs.Op) bool {
			return strings.Contains(op.Path, cut) || strings.HasPrefix(op.Path, "data.damaged")
		})))
		if err != nil {
			refused++
			if !strings.Contains(err.Error(), syscall.EIO.Error()) {
				t.Errorf("operation %d failed: %v", n, err)
			}
		} else {
			closeTest(t, s)
		}

		s = openTest(t, disk)
		holds(t, s, two)
		err, damage := readSeries(s, 1), s.Damaged(1) // of a stand-in that is there already
		if damage == nil && s.Rollback(1) == nil || s.Damaged(42161) != nil {
			t.Errorf("operation %d failed: chain 1 is read with %v; its damage is %v, that of 42161 %v",
				n, err, damage, s.Damaged(42161))
		}
		closeTest(t, s)
		if info, err := disk.Stat("data.damaged/" + cut); err != nil || info.Size() != 10 {
			t.Errorf("operation %d failed: what there was of %s is not aside: %v", n, cut, err)
		}
		if operations.Load() <= n {
			break
		}
	}
	if refused < 4 {
		t.Errorf("%d starts were refused; want more", refused)
	}
}

// A number that is no table's is an error, and not a stand-in.
func TestStandInsHaveNumbers(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	damage := func(text string) error { return fmt.Errorf("%s: %w", text, ErrDamaged) }
	f := func(err error, added, failed bool) {
		t.Helper()
		got, e := s.addStandIns("aside", err)
		if got != added || (e != nil) != failed || len(s.standIns) != 0 {
			t.Errorf("%q: added %t, %v, %d stand-ins; want %t, failed %t", err, got, e, len(s.standIns), added, failed)
		}
	}

	f(errors.New("L6: 7: file 7 (type sst) unknown"), false, false) // not damage
	f(damage("anything else"), false, false)
	f(damage("L6: 99999999999999999999: file 7 (type sst) unknown"), true, true)
	f(damage("L6: 99999999999999999999: object size mismatch (x) 1 != 9 (MANIFEST)"), true, true)
	f(damage("L6: 7: object size mismatch (x) 1 != 99999999999999999999 (MANIFEST)"), true, true)
}
