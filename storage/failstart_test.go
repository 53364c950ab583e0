package storage

import (
	"bytes"
	"errors"
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
)

// failingOnce is a disk of which the nth file operation fails.
func failingOnce(disk vfs.FS, n int64, operations *atomic.Int64) vfs.FS {
	return errorfs.Wrap(disk, errorfs.InjectorFunc(func(errorfs.Op) error {
		if operations.Add(1)-1 == n {
			return syscall.EIO
		}
		return nil
	}))
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
		if operations.Load() <= n {
			break
		}
	}
	if refused < 10 {
		t.Errorf("%d operations were made to fail; want more", refused)
	}
}

// What chains share is as it was if it could not be written, in memory too.
func TestHeaderThatCannotBeWritten(t *testing.T) {
	failing, broken := false, errors.New("broken")
	disk := failsAt(errorfs.OpRename, broken, &failing)
	s := openTest(t, disk)
	defer closeTest(t, s)
	before := []Pair{{"seed", "1"}}
	must(s.SetIdentity(before))
	update := s.header.Update

	failing = true
	if err := s.SetIdentity([]Pair{{"seed", "2"}}); !errors.Is(err, broken) {
		t.Errorf("SetIdentity = %v", err)
	}
	if got := s.Identity(); !slices.Equal(got, before) || s.header.Update != update {
		t.Errorf("the identity is %v, change %d; want %v, change %d", got, s.header.Update, before, update)
	}
	failing = false
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
