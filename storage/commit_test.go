package storage

import (
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/rankings/ledger"
	"tidemark/storage/database"
)

// The first commit after a start goes on from the last one. Where it cannot tell what
// that was, it commits nothing, and the chain counts as damaged; other chains go on.
func TestFirstCommitOnDamage(t *testing.T) {
	f := func(what string, key, value []byte) {
		t.Helper()
		disk := vfs.NewMem()
		s := openTest(t, disk)
		g, h := newRig(21, 1), newRig(22, 42161)
		g.commit(t, s, 3, true)
		h.commit(t, s, 3, true)
		closeTest(t, s)

		s = openTest(t, disk)
		defer closeTest(t, s)
		write(s, key, value)
		before, _, err := s.get(appendKind(nil, 1, kindDirectory), nil)
		must(err)
		var damage *Damage
		if err := s.Commit(g.cut(3, true)); !errors.As(err, &damage) {
			t.Errorf("%s: the commit gave %v; want a damage", what, err)
		}
		after, _, err := s.get(appendKind(nil, 1, kindDirectory), nil)
		if must(err); string(after) != string(before) {
			t.Errorf("%s: the refused commit wrote a directory", what)
		}
		holds(t, s, h.commit(t, s, 3, true))
	}

	f("head", appendKind(nil, 1, kindHead), []byte{1})
	f("number of the commit", appendKind(nil, 1, kindCommit), []byte{1, 2, 3})
	f("mark", appendKind(nil, 1, kindMark), []byte{0})
}

// Undos say what rows were before. Where a row that they follow from is damaged, the chain is.
func TestUndosOfADamagedRow(t *testing.T) {
	_, s := lifeStore(t)
	defer closeTest(t, s)
	undos, err := coldUndos(s, 1, nil)
	if err != nil || len(undos) == 0 {
		t.Fatalf("%d undos, %v", len(undos), err)
	}
	r, err := s.Restore(1)
	must(err)
	for i := range r.State.Pools.Len() {
		write(s, rowKey(1, "pools", i, 0), []byte{1})
	}

	var damage *Damage
	if undos, err := coldUndos(s, 1, nil); len(undos) > 0 || !errors.As(err, &damage) || damage.What != "table pools" {
		t.Errorf("%d undos, %v; want the damage of table pools", len(undos), err)
	}
}

// dayCut is a cut in which the running day of pool 0 changes to its present record
// and which does something with the series of days.
func (g *rig) dayCut(ops ...ledger.Op) *Cut {
	ch := new(ledger.Changes)
	ch.Ops.Add(ops...)
	ledger.Days.SetChanged(ch, []uint32{0})
	g.st.Head.Number++
	g.freeze()
	ch.Head = g.st.Head
	return &Cut{State: g.now.st, Changes: ch, Confirmed: g.now.confirmed}
}

// A running day is stored once: in the series, if the same commit puts it there, and
// else with its pool. So it can be read back whatever later commits drop.
func TestRunningDayIsStored(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	g := newRig(23, 1)
	g.commit(t, s, 3, false)
	day := *g.days.At(0)
	before := day
	before.Day-- // and else the same

	for _, ops := range [][]ledger.Op{
		{ledger.PoolDays.Put(day)}, {ledger.PoolDays.Drop(day)}, {ledger.PoolDays.Put(day), ledger.PoolDays.Drop(day)},
		{ledger.PoolDays.Put(before)},
	} {
		must(s.Commit(g.dayCut(ops...)))
		r, err := s.Restore(1)
		must(err)
		func() {
			defer catchDamage(&err)
			if d := equal(day, *r.State.Days.At(0)); d != "" {
				t.Errorf("after %d operations the day is (-want +got):\n%s", len(ops), d)
			}
		}()
		if err != nil {
			t.Errorf("after %d operations, the first of which drops: %t: %v", len(ops), ops[0].Drop, err)
		}
	}
	closeTest(t, s)
}

// A chain whose data was dropped on purpose is not one that has lost it.
func TestDroppedChainHasLostNothing(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	newRig(24, 1).commit(t, s, 3, true)
	two := newRig(25, 42161).commit(t, s, 3, true)
	must(s.DropChain(1))

	for range 2 {
		if got := s.heads.stored(); len(got) != 1 || got[0] != 42161 {
			t.Errorf("chains that should have data are %v; want 42161", got)
		}
		if s.Rollback(1) != nil {
			t.Errorf("the dropped chain says %s", s.Rollback(1))
		}
		if undos, err := coldUndos(s, 1, nil); undos != nil || err != nil {
			t.Errorf("the dropped chain has the undos %v, %v", undos, err)
		}
		holds(t, s, two)
		closeTest(t, s)
		s = openTest(t, disk)
	}
	closeTest(t, s)
}

// failsAt returns a disk in memory on which a kind of operation fails while failing.
func failsAt(kind errorfs.OpKind, broken error, failing *atomic.Bool) vfs.FS {
	return errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing.Load() && op.Kind == kind {
			return broken
		}
		return nil
	}))
}

// A file of heads that cannot be opened or synced records nothing, and says so.
func TestHeadsThatCannotBeWritten(t *testing.T) {
	broken := errors.New("broken")

	for _, kind := range []errorfs.OpKind{
		errorfs.OpOpen, errorfs.OpFileWriteAt, errorfs.OpFileSync, errorfs.OpFileSyncData,
	} {
		var failing atomic.Bool
		disk := failsAt(kind, broken, &failing)
		must(disk.MkdirAll("data", 0o700))
		h, err := openHeads(disk, "data")
		must(err)
		failing.Store(true)
		if err := h.write(acknowledgedHead{chain: 1, sequence: 1}); !errors.Is(err, broken) {
			t.Errorf("operation %d fails: %v", kind, err)
		}
		if _, ok := h.get(1); ok {
			t.Errorf("operation %d failed, and the head counts as recorded", kind)
		}
		failing.Store(false)
		must(h.write(acknowledgedHead{chain: 1, sequence: 2}))
		must(h.close())
	}
}

// Logs or tables without the marker of a database are what is left of one: no store
// is made anew over them without setting them aside. The ballast stays where it is.
func TestLeftFilesAreSetAside(t *testing.T) {
	for _, name := range []string{"000004.log", "000005.sst"} {
		disk := vfs.NewMem()
		must(disk.MkdirAll("data", 0o700))
		for _, file := range []string{name, ballastName} {
			w, err := disk.Create("data/"+file, vfs.WriteCategoryUnspecified)
			must(err)
			must(w.Close())
		}

		closeTest(t, openTest(t, disk))
		if _, err := disk.Stat("data.damaged/" + name); err != nil {
			t.Errorf("%s is not set aside: %v", name, err)
		}
		if _, err := disk.Stat("data/" + ballastName); err != nil {
			t.Errorf("%s beside it: the ballast is gone: %v", name, err)
		}
	}
}

// The header is replaced as a whole: whichever step fails, the error is told, and the
// file is as it was.
func TestReplaceFile(t *testing.T) {
	broken := errors.New("broken")

	for _, kind := range []errorfs.OpKind{errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpFileSync, errorfs.OpRename} {
		var failing atomic.Bool
		disk := failsAt(kind, broken, &failing)
		must(disk.MkdirAll("data", 0o700))
		must(database.ReplaceFile(disk, "data/file", []byte("old")))
		failing.Store(true)
		if err := database.ReplaceFile(disk, "data/file", []byte("new")); !errors.Is(err, broken) {
			t.Errorf("operation %d fails: %v", kind, err)
		}
		f, err := disk.Open("data/file")
		must(err)
		content := make([]byte, 3)
		_, err = f.ReadAt(content, 0)
		if must(errors.Join(err, f.Close())); string(content) != "old" {
			t.Errorf("operation %d failed, and the file has %q", kind, content)
		}
	}
}

// The ballast file is made when there is room and it is wanted. What hinders it is told.
func TestBallastIsMade(t *testing.T) {
	broken := errors.New("broken")
	f := func(bytes int64, kind errorfs.OpKind, says string) {
		t.Helper()
		var failing atomic.Bool
		mem := vfs.NewMem()
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 40})
		o := testOptions(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if failing.Load() && op.Kind == kind && strings.HasSuffix(op.Path, ballastName) {
				return broken
			}
			return nil
		})))
		o.BallastBytes, o.MinFreeBytes = bytes, 1
		s, err := Open("data", o)
		must(err)
		defer closeTest(t, s)
		if err := mem.Remove("data/" + ballastName); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}

		failing.Store(true)
		_, err = s.Guard().Check()
		if says == "" && err != nil || says != "" && (!errors.Is(err, broken) || !strings.Contains(err.Error(), says)) {
			t.Errorf("a ballast of %d bytes, operation %d fails: %v; want %q", bytes, kind, err, says)
		}
		info, err := mem.Stat("data/" + ballastName)
		made := err == nil && info.Size() == bytes
		if want := says == "" && bytes > 0; made != want {
			t.Errorf("a ballast of %d bytes, operation %d fails: made %t; want %t", bytes, kind, made, want)
		}
	}

	const none = errorfs.OpKind(255)
	f(1, none, "")
	f(100, none, "")
	f(-1, none, "")
	f(100, errorfs.OpStat, "cannot stat ballast file")
	f(100, errorfs.OpCreate, "cannot write ballast file")
	f(100, errorfs.OpFileWrite, "cannot write ballast file")
	f(100, errorfs.OpFileSync, "cannot write ballast file")
}

// A transaction that cannot be read is a finding with the reason, and is counted to no
// position.
func TestCheckOfATransaction(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	key := entryKey(0, 5, 1)
	write(s, key, []byte{1})
	newRig(26, 1).commit(t, s, 1, false)
	findings, err := s.Check()
	must(err)
	if all := strings.Join(findings, "\n"); !strings.Contains(all, "01: bad field flags") {
		t.Errorf("findings are\n%s", all)
	}
}

// Options without a ballast want none.
func TestNoBallast(t *testing.T) {
	if o := (Options{BallastBytes: -1}).withDefaults(); o.BallastBytes > 0 {
		t.Errorf("a ballast of %d bytes; want none", o.BallastBytes)
	}
}
