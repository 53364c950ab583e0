package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"tidemark/rankings/market"
	"tidemark/storage/database"
	"tidemark/storage/disktest"
)

// damagedMarket is a closed store with two chains, an identity and an offline chain, of
// which something is damaged.
func damagedMarket(t *testing.T, damage func(fs vfs.FS)) (fs vfs.FS, one, two *snapshot) {
	t.Helper()
	fs = vfs.NewMem()
	s := openTest(t, fs)
	must(s.SetIdentity([]Pair{{"seed", "7"}}))
	must(s.SetOffline(42161, true))
	one, two = newRig(8, 1).commit(t, s, 2, false), newRig(9, 42161).commit(t, s, 2, false)
	must(s.db.Flush())
	closeTest(t, s)
	damage(fs)
	return fs, one, two
}

func fileWith(fs vfs.FS, part string) (path string) {
	names, err := fs.List("data")
	must(err)
	for _, name := range names {
		if strings.HasPrefix(name, part) || strings.HasSuffix(name, part) {
			path = "data/" + name
		}
	}
	return path
}

// flipTables flips a bit of some bytes in every table that has them.
func flipTables(t *testing.T, fs vfs.FS, want []byte) {
	t.Helper()
	names, err := fs.List("data")
	must(err)
	for _, name := range names {
		f, err := fs.Open("data/" + name)
		must(err)
		content, err := io.ReadAll(f)
		must(errors.Join(err, f.Close()))
		if at := bytes.Index(content, want); at >= 0 && strings.HasSuffix(name, ".sst") {
			disktest.FlipBitAt(t, fs, "data/"+name, int64(at), 1)
		}
	}
}

// Files of a Pebble that this one does not know are no damage: they are refused, and
// stay where they are for the version that knows them.
func TestNewerPebble(t *testing.T) {
	fs, one, _ := damagedMarket(t, func(vfs.FS) {})
	move := func(version string) {
		t.Helper()
		m, _, err := atomicfs.LocateMarker(fs, "data", "format-version")
		must(err)
		must(errors.Join(m.Move(version), m.Close()))
	}

	move("999")
	if _, err := Open("data", testOptions(fs)); err == nil || !strings.Contains(err.Error(), "format major version 999") {
		t.Errorf("a store of a later Pebble: %v", err)
	}
	if _, err := fs.Stat("data.damaged"); err == nil {
		t.Error("files of a later Pebble were set aside")
	}

	move(fmt.Sprintf("%03d", uint64(database.Format)))
	s := openTest(t, fs)
	defer closeTest(t, s)
	holds(t, s, one)
}

// Where Pebble cannot open anything, the files are set aside, and every chain says that
// its data is missing. It is the same market, and an offline chain stays offline.
func TestMarketSetAside(t *testing.T) {
	f := func(what string, damage func(fs vfs.FS), lost bool) {
		t.Helper()
		fs, one, _ := damagedMarket(t, damage)
		o := testOptions(fs)
		o.ReadOnly = true
		if s, err := Open("data", o); err == nil {
			closeTest(t, s)
		} else if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: read-only: %v; want ErrDamaged", what, err)
		}

		s := openTest(t, fs)
		defer closeTest(t, s)
		if got := s.Identity(); !slices.Equal(got, []Pair{{"seed", "7"}}) || !s.Offline(42161) || s.Offline(1) {
			t.Errorf("%s: identity %v, offline %v", what, got, s.Offline(42161))
		}
		r, err := s.Restore(1)
		must(err)
		if !lost {
			if r == nil || s.Rollback(1) != nil {
				t.Fatalf("%s: restored %v, %s", what, r, s.Rollback(1))
			}
			holds(t, s, one)
			return
		}

		for _, chain := range []market.ChainID{1, 42161} {
			if got := s.Rollback(chain); got == nil || !strings.Contains(got.String(), "all data of chain") {
				t.Errorf("%s: chain %d says %v", what, chain, got)
			}
		}
		if s.LastGeneration(1) != one.generation {
			t.Errorf("%s: generations go on from %d; want %d", what, s.LastGeneration(1), one.generation)
		}
		if files, err := fs.List("data.damaged"); err != nil || len(files) == 0 {
			t.Errorf("%s: set aside are %v, %v", what, files, err)
		}
		holds(t, s, newRig(10, 1).commit(t, s, 20, true))
	}

	f("the MANIFEST", func(fs vfs.FS) { disktest.FlipBitAt(t, fs, fileWith(fs, "MANIFEST-"), 20, 1) }, true)
	f("no MANIFEST", func(fs vfs.FS) { must(fs.Remove(fileWith(fs, "MANIFEST-"))) }, true)
	f("no marker", func(fs vfs.FS) { must(fs.Remove(fileWith(fs, "marker.manifest"))) }, true)
	f("the OPTIONS", func(fs vfs.FS) {
		w, err := fs.Create(fileWith(fs, "OPTIONS-"), vfs.WriteCategoryUnspecified)
		must(err)
		_, err = w.Write([]byte("[Version]\n  pebble_version=0.1\n[Options]\nx"))
		must(errors.Join(err, w.Close()))
	}, false)
	f("nothing", func(vfs.FS) {}, false)
}

// A damaged first block has the format, the identity, and keys of the first chain. The
// first are written again, and the chain is built again; the other one is whole.
func TestDamagedFirstBlock(t *testing.T) {
	fs, _, two := damagedMarket(t, func(fs vfs.FS) { flipTables(t, fs, []byte("identity")) })
	s := openToRead(t, fs)
	if s.headerDamage == nil || readAll(s, 1) == nil {
		t.Fatalf("the damaged block is not the first: %v", s.headerDamage)
	}
	if got := s.Identity(); !slices.Equal(got, []Pair{{"seed", "7"}}) || !s.Offline(42161) {
		t.Errorf("identity %v, offline %v", got, s.Offline(42161))
	}
	closeTest(t, s)

	for range 2 {
		s = openTest(t, fs)
		if got := s.Identity(); !slices.Equal(got, []Pair{{"seed", "7"}}) || !s.Offline(42161) {
			t.Errorf("identity %v, offline %v", got, s.Offline(42161))
		}
		if s.Rollback(1) == nil || s.Rollback(42161) != nil || s.Damaged(42161) != nil {
			t.Errorf("chain 1: %v; chain 42161: %v, %v", s.Rollback(1), s.Rollback(42161), s.Damaged(42161))
		}
		holds(t, s, two)
		closeTest(t, s)
	}
	s = openTest(t, fs)
	defer closeTest(t, s)
	holds(t, s, newRig(10, 1).commit(t, s, 20, true))
	holds(t, s, two)
}

// What chains share can be damaged while the store is in use, by a block that a compaction
// wrote. It is written again with the chain that is dropped for it, and the next start has
// it and the other chain.
func TestFirstBlockDamagedInUse(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	must(s.SetIdentity([]Pair{{"seed", "7"}}))
	must(s.SetOffline(42161, true))
	newRig(8, 1).commit(t, s, 20, true)
	two := newRig(9, 42161).commit(t, s, 300, true)
	must(s.Compact())
	flipTables(t, fs, []byte("identity"))

	if readAll(s, 1) == nil || s.Damaged(1) == nil {
		t.Fatal("chain 1 has no keys in the first block")
	}
	if err := s.DropChain(1); err != nil {
		t.Fatal(err)
	}
	if stored, err := s.readHeaderKeys(); err != nil || !sameHeader(&stored, &s.header) {
		t.Errorf("the store has %+v, %v; want %+v", stored, err, s.header)
	}
	one := newRig(10, 1).commit(t, s, 20, true)
	closeTest(t, s)

	s = openTest(t, fs)
	defer closeTest(t, s)
	if got := s.Identity(); !slices.Equal(got, []Pair{{"seed", "7"}}) || !s.Offline(42161) || s.headerDamage != nil {
		t.Errorf("identity %v, offline %v, damage %v", got, s.Offline(42161), s.headerDamage)
	}
	holds(t, s, one)
	holds(t, s, two)
}

// A damaged block with keys of two chains takes out both. The second one cannot commit
// on what it has lost, and both are built again.
func TestDamageOfTwoChains(t *testing.T) {
	source, _, _ := damagedMarket(t, func(vfs.FS) {})
	path := fileWith(source, ".sst")
	info, err := source.Stat(path)
	must(err)
	var s *Store
	for at := int64(20); s == nil; at += 400 {
		if at > info.Size() {
			t.Fatal("no block has keys of both chains")
		}
		fs := vfs.NewMem()
		_, err := vfs.Clone(source, fs, "", "")
		must(err)
		disktest.FlipBitAt(t, fs, path, at, 1)
		s = openTest(t, fs)
		one, two := s.readBeside(appendChainEnd(nil, 1), true), s.readBeside(appendChain(nil, 42161), false)
		if one == nil || two == nil || s.headerDamage != nil {
			closeTest(t, s)
			s = nil
		}
	}
	defer closeTest(t, s)
	if readAll(s, 42161) == nil {
		t.Fatal("chain 42161 is not damaged")
	}

	if err := s.DropChain(42161); err != nil {
		t.Fatal(err)
	}
	if s.Damaged(1) == nil || s.Damaged(42161) != nil {
		t.Fatalf("chain 1: %v, chain 42161: %v", s.Damaged(1), s.Damaged(42161))
	}

	g := newRig(10, 1)
	var damage *Damage
	if err := s.Commit(g.cut(5, true)); !errors.As(err, &damage) {
		t.Errorf("a commit on removed data gave %v", err)
	}
	two := newRig(11, 42161).commit(t, s, 20, true)
	if err := s.DropChain(1); err != nil {
		t.Fatal(err)
	}
	one := newRig(10, 1).commit(t, s, 20, true)
	must(s.Compact())
	holds(t, s, one)
	holds(t, s, two)
	if s.Damaged(1) != nil || s.Damaged(42161) != nil {
		t.Errorf("chain 1: %v, chain 42161: %v", s.Damaged(1), s.Damaged(42161))
	}
}

// Flushes that a damaged MANIFEST does not know of leave a gap between commits. No store
// with a gap passes for whole.
func TestGapBetweenCommits(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := openTest(t, fs)
	g := newRig(8, 1)
	for range 3 {
		g.commit(t, s, 2, true)
		must(s.db.Flush())
	}
	want := g.commit(t, s, 2, true)
	source := fs.CrashClone(vfs.CrashCloneCfg{})
	closeTest(t, s)
	info, err := source.Stat(fileWith(source, "MANIFEST-"))
	must(err)
	dropOldLogs(source)

	gaps, damaged, whole := 0, 0, 0
	for at := int64(0); at < info.Size(); at += 9 {
		disk := vfs.NewMem()
		_, err := vfs.Clone(source, disk, "", "")
		must(err)
		disktest.FlipBitAt(t, disk, fileWith(disk, "MANIFEST-"), at, 1)
		s := openTest(t, disk)
		switch d := s.Damaged(1); {
		case d != nil && strings.Contains(d.Error(), "are missing"):
			gaps++
			if findings, err := s.Check(); err != nil || !strings.Contains(strings.Join(findings, ""), d.What) {
				t.Errorf("findings are %q, %v", findings, err)
			}
			must(s.DropChain(1))
			holds(t, s, newRig(10, 1).commit(t, s, 2, true))
		case d != nil: // the MANIFEST names a table that there is not
			damaged++
			must(s.DropChain(1))
			holds(t, s, newRig(10, 1).commit(t, s, 2, true))
		case s.Rollback(1) == nil:
			whole++
			holds(t, s, want)
		}
		closeTest(t, s)
	}
	if gaps == 0 {
		t.Errorf("no flip left a gap; %d stores are damaged, %d whole", damaged, whole)
	}
}

// dropOldLogs deletes the logs whose commits were flushed. Pebble keeps a few of them
// for a while, to write over them.
func dropOldLogs(fs vfs.FS) {
	names, err := fs.List("data")
	must(err)
	var logs []string
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			logs = append(logs, name)
		}
	}
	slices.Sort(logs)
	for _, name := range logs[:len(logs)-1] {
		must(fs.Remove("data/" + name))
	}
}
