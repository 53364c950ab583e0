package storage

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/rankings/market"
	"tidemark/storage/database"
	"tidemark/storage/disktest"
)

// tablesOf returns the table files of a store by the chains with keys in them.
func tablesOf(t *testing.T, s *Store, chains ...market.ChainID) map[string][]market.ChainID {
	t.Helper()
	levels, err := s.db.SSTables()
	must(err)
	tables := map[string][]market.ChainID{}

	for _, level := range levels {
		for _, table := range level {
			name := (&standIn{number: uint64(table.BackingSSTNum)}).name()
			for _, chain := range chains {
				before := string(table.Largest.UserKey) < string(appendChain(nil, chain))
				if !before && string(table.Smallest.UserKey) < string(appendChainEnd(nil, chain)) {
					tables[name] = append(tables[name], chain)
				}
			}
		}
	}
	return tables
}

// splitMarket is a closed store of two chains, each with tables of its own. A compaction
// that began before the store was closed may have merged them; then it is made again.
func splitMarket(t *testing.T) (fs vfs.FS, one, two *snapshot) {
	t.Helper()
	for range 20 {
		fs, one, two = makeSplitMarket(t)
		own := make(map[market.ChainID]bool)
		for _, touched := range closedTables(t, fs) {
			if len(touched) == 1 {
				own[touched[0]] = true
			}
		}
		if len(own) == 2 {
			return fs, one, two
		}
	}

	t.Fatal("compactions always merge the tables of the two chains")
	return nil, nil, nil
}

func makeSplitMarket(t *testing.T) (fs vfs.FS, one, two *snapshot) {
	t.Helper()
	fs = vfs.NewMem()
	s := openTest(t, fs)
	must(s.SetIdentity([]Pair{{"seed", "7"}}))

	g, h := newRig(8, 1), newRig(9, 42161)
	g.commit(t, s, 20, true)
	must(s.Compact())
	h.commit(t, s, 20, true)
	must(s.db.Flush())
	one, two = g.commit(t, s, 20, true), h.commit(t, s, 20, true)
	must(s.db.Flush())
	closeTest(t, s)
	return fs, one, two
}

// closedTables is tablesOf a closed store.
func closedTables(t *testing.T, fs vfs.FS) map[string][]market.ChainID {
	t.Helper()
	copied := vfs.NewMem()
	_, err := vfs.Clone(fs, copied, "", "")
	must(err)
	s := openToRead(t, copied)
	defer closeTest(t, s)
	return tablesOf(t, s, 1, 42161)
}

// TestMissingTable removes, cuts and lengthens each table. The chains with keys in it
// are damaged and can be built again, and the others go on serving; the damage is known
// as soon as the store is open, and after the next start. A check says all of it and
// changes nothing.
func TestMissingTable(t *testing.T) {
	alone, both, all := 0, 0, 0
	f := func(what string, size func(int64) int64, harmless bool) {
		t.Helper()
		for _, split := range []bool{true, false} {
			fs, one, two := splitMarket(t)
			if !split {
				fs, one, two = damagedMarket(t, func(vfs.FS) {})
			}
			for name, touched := range closedTables(t, fs) {
				disk := vfs.NewMem()
				_, err := vfs.Clone(fs, disk, "", "")
				must(err)
				info, err := disk.Stat("data/" + name)
				must(err)
				disktest.Resize(t, disk, "data/"+name, size(info.Size()))

				last := map[market.ChainID]*snapshot{1: one, 42161: two}
				if harmless {
					touched = nil
				}
				if len(touched) == 1 {
					alone++
				} else if len(touched) == 2 {
					both++
				}
				all++
				checkStandIn(t, disk, name, touched, last)
			}
		}
	}

	f("missing", func(int64) int64 { return -1 }, false)
	f("empty", func(int64) int64 { return 0 }, false)
	f("cut in half", func(n int64) int64 { return n / 2 }, false)
	f("without its last byte", func(n int64) int64 { return n - 1 }, false)
	f("longer", func(n int64) int64 { return n + 100 }, true)
	disktest.Figure(t, "%d tables missing, cut or too long: %d with keys of one chain, %d of two; only those chains are "+
		"built again", all, alone, both)
	if alone == 0 || both == 0 {
		t.Errorf("%d tables of one chain and %d of two; want some of both", alone, both)
	}
}

// checkStandIn opens a store without a good table and builds the chains again that it
// touches. The others keep what they had last.
func checkStandIn(
	t *testing.T, fs vfs.FS, name string, touched []market.ChainID, last map[market.ChainID]*snapshot,
) {
	t.Helper()
	checkReadOnly(t, fs, name, touched)

	var s *Store
	for range 2 { // the same again after a restart
		if s != nil {
			closeTest(t, s)
		}
		s = openTest(t, fs)
		if got := s.Identity(); !slices.Equal(got, []Pair{{"seed", "7"}}) {
			t.Errorf("the identity is %v", got)
		}
		for chain := range last {
			if !slices.Contains(touched, chain) {
				holds(t, s, last[chain])
				continue
			}
			// With the block of what chains share, a chain is removed at once.
			err, damage := readSeries(s, chain), s.Damaged(chain)
			if damage == nil && s.Rollback(chain) == nil {
				t.Errorf("chain %d: nothing is said about its damage", chain)
			}
			if err != nil && !strings.Contains(damage.Error(), name) {
				t.Errorf("the damage of chain %d is %q; want %s in it", chain, damage, name)
			}
		}
	}
	defer closeTest(t, s)

	for _, chain := range touched {
		must(s.DropChain(chain))
	}
	for _, chain := range touched {
		last[chain] = newRig(10+uint64(chain), chain).commit(t, s, 20, true)
	}
	must(s.Compact())
	for chain := range last {
		holds(t, s, last[chain])
		if d := s.Damaged(chain); d != nil {
			t.Errorf("chain %d is damaged after it was built again: %v", chain, d)
		}
	}
}

// checkReadOnly opens a store without a good table to be read. It names the file and the
// chains in its range, and the disk stays as it is.
func checkReadOnly(t *testing.T, fs vfs.FS, name string, touched []market.ChainID) {
	t.Helper()
	before := disktest.List(t, fs, "data")
	s := openToRead(t, fs)
	chains, err := s.Chains()
	must(err)
	findings := s.listStandIns(chains)
	text := strings.Join(findings, "\n")
	closeTest(t, s)

	if after := disktest.List(t, fs, "data"); !slices.Equal(after, before) {
		t.Errorf("%s: the check leaves %v; before there was %v", name, after, before)
	}
	if len(findings) != 1 {
		t.Errorf("%s: the check says %q; want one finding", name, findings)
	}
	for _, want := range []string{"file data/" + name + ", keys ", " to ", ": it is ", " when it starts"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s: the check says %q; want %q", name, text, want)
		}
	}
	if len(touched) > 0 && !strings.Contains(text, fmt.Sprintf("chains with keys there: %d;", touched)) {
		t.Errorf("%s: the check says %q; want the chains %d", name, text, touched)
	}
}

// TestStandInsThatTouchNothing: a stand-in without keys of a chain is named all the same. What
// reading finds, in it or in another file, is told elsewhere.
func TestStandInsThatTouchNothing(t *testing.T) {
	s := &Store{dir: "data", fs: vfs.NewMem(), damages: newDamages(), standIns: []standIn{{5, "it is missing"}}}
	file := func(name string, lower, upper []byte, what string) {
		s.damages.files = append(s.damages.files, &database.TableDamage{File: name, Lower: lower, Upper: upper, What: what})
	}
	file("data/000005.sst", []byte{0, 1}, []byte{0, 2}, "it is missing")
	file("data/000005.sst", appendChain(nil, 7), appendChainEnd(nil, 7), "it is missing")
	file("data/000005.sst", appendChain(nil, 1), appendChain(nil, 1), "a bad checksum")
	file("data/000006.sst", appendChain(nil, 7), appendChainEnd(nil, 7), "it is missing")

	want := []string{
		"file data/000005.sst, keys 0001 to 0002: it is missing; no chain has keys there; a node goes on without it " +
			"when it starts",
		fmt.Sprintf("file data/000005.sst, keys %x to %x: it is missing; chains with keys there: [7]; a node builds those "+
			"that it cannot read again from their feeds when it starts", appendChain(nil, 7), appendChainEnd(nil, 7)),
	}
	if got := s.listStandIns([]market.ChainID{1, 7}); !slices.Equal(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
}

// TestCheckMissingTable checks a store without one of its tables: the finding of the file
// comes first, then those of what was in it.
func TestCheckMissingTable(t *testing.T) {
	fs, s := lifeStore(t)
	closeTest(t, s)
	tables := slices.Sorted(maps.Keys(closedTables(t, fs)))
	disktest.Resize(t, fs, "data/"+tables[0], -1)

	s = openToRead(t, fs)
	defer closeTest(t, s)
	findings, err := s.Check()
	must(err)
	if len(findings) != 3 {
		t.Fatalf("findings are %q; want three", findings)
	}
	for i, wants := range [][]string{
		{"file data/" + tables[0] + ", keys ", "it is missing; chains with keys there: [1];"},
		{"records that chains share: file data/" + tables[0], "when it starts"},
		{"chain 1: file data/" + tables[0], "`tidemark chains resync 1`"},
	} {
		for _, want := range wants {
			if !strings.Contains(findings[i], want) {
				t.Errorf("finding %d is %q; want %q in it", i+1, findings[i], want)
			}
		}
	}
}

// The damage is known before anything is read, and what there was of a table is kept.
func TestMissingTables(t *testing.T) {
	fs, _, _ := splitMarket(t)
	cut := slices.Sorted(maps.Keys(closedTables(t, fs)))
	for _, name := range cut {
		disktest.Resize(t, fs, "data/"+name, 10)
	}

	// How many tables there are depends on when Pebble compacted.
	missing := cut[len(cut)-1]
	disktest.Resize(t, fs, "data/"+missing, -1)
	cut = cut[:len(cut)-1]

	s := openTest(t, fs)
	defer closeTest(t, s)
	for _, chain := range []market.ChainID{1, 42161} {
		if s.Damaged(chain) == nil {
			t.Errorf("the damage of chain %d is not known", chain)
		}
	}
	names, err := fs.List("data.damaged")
	must(err)
	if slices.Sort(names); !slices.Equal(names, cut) {
		t.Errorf("set aside are %v; want %v, which were cut, and not %s, which was missing", names, cut, missing)
	}
}

// A stand-in that cannot be made of what there is of a table is not left out: the check
// says which table it is.
func TestStandInThatCannotBeMade(t *testing.T) {
	disk, _, _ := splitMarket(t)
	name := slices.Sorted(maps.Keys(closedTables(t, disk)))[0]
	disktest.Resize(t, disk, "data/"+name, 10)
	broken := errors.New("broken")

	for _, kind := range []errorfs.OpKind{errorfs.OpOpen, errorfs.OpFileRead} {
		o := testOptions(errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == kind && strings.HasSuffix(op.Path, "/"+name) {
				return broken
			}
			return nil
		})))
		o.ReadOnly = true
		if _, err := Open("data", o); !errors.Is(err, broken) || !strings.Contains(err.Error(), "cannot replace table "+name+": ") {
			t.Errorf("operation %d fails: %v; want that %s cannot be replaced", kind, err, name)
		}
	}
}

// TestStandInOnAFullDisk: where a stand-in cannot be written, the start fails, and every
// other file stays. Once there is space, only what the table had is damaged.
func TestStandInOnAFullDisk(t *testing.T) {
	whole, one, two := splitMarket(t)
	for name, touched := range closedTables(t, whole) {
		for _, kind := range []errorfs.OpKind{errorfs.OpCreate, errorfs.OpFileWrite} {
			disk := vfs.NewMem()
			_, err := vfs.Clone(whole, disk, "", "")
			must(err)
			disktest.Resize(t, disk, "data/"+name, 10)

			full := errorfs.InjectorFunc(func(op errorfs.Op) error {
				if op.Kind == kind && strings.HasSuffix(op.Path, ".dbtmp") {
					return syscall.ENOSPC
				}
				return nil
			})
			_, err = Open("data", testOptions(errorfs.Wrap(disk, full)))
			if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "cannot replace table "+name+": ") {
				t.Errorf("operation %d on a full disk: %v; want that %s cannot be replaced", kind, err, name)
			}
			checkStandIn(t, disk, name, touched, map[market.ChainID]*snapshot{1: one, 42161: two})
		}
	}
}

// openFiles is a file system that counts the files that are open.
type openFiles struct {
	vfs.FS
	open int
}

type openFile struct {
	vfs.File
	of *openFiles
}

func (f openFile) Close() error { f.of.open--; return f.File.Close() }

func (o *openFiles) count(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	o.open++
	return openFile{f, o}, nil
}

func (o *openFiles) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	return o.count(o.FS.Open(name, opts...))
}

func (o *openFiles) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return o.count(o.FS.Create(name, category))
}

// TestStandInFile: a stand-in has what there is of the table and zeros behind, is as long as it
// should be, and leaves no file open.
func TestStandInFile(t *testing.T) {
	f := func(table string, there bool, size int, want string) {
		t.Helper()
		disk := &openFiles{FS: vfs.NewMem()}
		s := &Store{fs: disk}
		if there {
			must(database.ReplaceFile(disk, "table", []byte(table)))
		}
		must(s.writeStandIn("table", "stand-in", int64(size)))
		if disk.open != 0 {
			t.Errorf("%q: %d files are open", table, disk.open)
		}

		file, err := disk.Open("stand-in")
		must(err)
		content, err := io.ReadAll(file)
		must(errors.Join(err, file.Close()))
		if string(content) != want {
			t.Errorf("%q of %d bytes: the stand-in has %d bytes; want %d", table, size, len(content), len(want))
		}
	}

	const page = 1 << 16
	zeros := func(n int) string { return string(make([]byte, n)) }
	f("", false, 0, "")
	f("", false, 3, zeros(3))
	f("", true, 3, zeros(3))
	f("abc", true, 0, "")
	f("abc", true, 2, "ab")
	f("abc", true, 3, "abc")
	f("abc", true, 5, "abc"+zeros(2))
	f("abc", true, 3+page, "abc"+zeros(page))
	f("abc", true, 4+page, "abc"+zeros(page+1))
	f("abc", true, 3+2*page, "abc"+zeros(2*page))
}

// TestKeptAside: what is kept aside is durable, also where there is nothing to keep.
func TestKeptAside(t *testing.T) {
	broken := errors.New("broken")
	f := func(there, fails bool) {
		t.Helper()
		disk := vfs.NewMem()
		must(disk.MkdirAll("data", 0o700))
		if there {
			must(database.ReplaceFile(disk, "data/1.sst", []byte("abc")))
		}
		s := &Store{dir: "data", fs: errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if fails && op.Kind == errorfs.OpFileSync && op.Path == "aside" {
				return broken
			}
			return nil
		}))}
		err := s.keepAside("aside", "1.sst")
		if fails != errors.Is(err, broken) || !fails && err != nil {
			t.Errorf("there %t, the directory cannot be synced %t: %v", there, fails, err)
		}
		if _, err := disk.Stat("aside/1.sst"); there != (err == nil) {
			t.Errorf("there %t: %v", there, err)
		}
	}

	for _, there := range []bool{false, true} {
		f(there, false)
		f(there, true)
	}
}

// TestOverlay: what is made is in memory and hides what is on the disk, and nothing on
// the disk is changed.
func TestOverlay(t *testing.T) {
	disk := vfs.NewMem()
	put := func(fs vfs.FS, path, content string) {
		t.Helper()
		f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
		must(err)
		_, err = f.Write([]byte(content))
		must(errors.Join(err, f.Close()))
	}
	must(errors.Join(disk.MkdirAll("data", 0o755), disk.MkdirAll("other", 0o755)))
	put(disk, "data/b", "disk")
	put(disk, "data/d", "disk")
	put(disk, "other/x", "disk")
	o, err := newOverlay(disk, "data")
	must(err)
	put(o, "data/c", "memory")
	put(o, "data/new", "memory!")
	must(o.Rename("data/new", "data/d"))

	list := func(dir, want string) {
		t.Helper()
		if names, err := o.List(dir); err != nil || strings.Join(names, " ") != want {
			t.Errorf("%s has %q, %v; want %q", dir, names, err, want)
		}
	}
	list("data", "b c d")
	list("other", "x")
	if names, err := disk.List("data"); err != nil || !slices.Equal(slices.Sorted(slices.Values(names)), []string{"b", "d"}) {
		t.Errorf("the disk has %q, %v; want b and d", names, err)
	}
	if names, err := o.List("none"); err == nil {
		t.Errorf("a directory that is not there has %q", names)
	}

	for path, want := range map[string]string{"data/b": "disk", "data/c": "memory", "data/d": "memory!", "other/x": "disk"} {
		info, err := o.Stat(path)
		must(err)
		f, err := o.Open(path)
		must(err)
		content, err := io.ReadAll(f)
		if must(errors.Join(err, f.Close())); string(content) != want || info.Size() != int64(len(want)) {
			t.Errorf("%s has %q and %d bytes; want %q", path, content, info.Size(), want)
		}
	}
	if o.Unwrap() != vfs.FS(disk) {
		t.Error("below the overlay is not the disk")
	}
}
