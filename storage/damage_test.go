package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/rankings/market"
	"tidemark/storage/disktest"
)

// marketDisk is the disk of a market store with two chains, and every cut of each.
type marketDisk struct {
	fs      vfs.FS
	history map[string]*snapshot
	last    map[market.ChainID]string // the newest cut
	files   map[string][]string       // by kind
}

// newMarketDisk commits cuts of two chains: some of them are compacted into tables,
// some are flushed, and some are only in the log. The store is closed, or else killed.
func newMarketDisk(t *testing.T, closed, flushed bool) *marketDisk {
	t.Helper()
	fs := vfs.NewCrashableMem()
	d := &marketDisk{
		fs: fs, history: map[string]*snapshot{}, last: map[market.ChainID]string{},
		files: map[string][]string{},
	}
	s := openTest(t, fs)
	rigs := []*rig{newRig(31, 1), newRig(32, 42161)}
	for round := range 11 {
		rows := 12
		if round > 5 {
			rows = 1 // few enough to stay in the log
		}
		for _, g := range rigs {
			p := g.commit(t, s, rows, round%3 > 0)
			d.last[p.st.Chain] = place(p.st)
			d.history[place(p.st)] = p
		}
		if round == 5 {
			must(s.Compact())
		}
		if flushed && (round == 1 || round == 9) {
			must(s.db.Flush())
		}
	}

	if !closed {
		t.Cleanup(func() { closeTest(t, s) })
		d.fs = fs.CrashClone(vfs.CrashCloneCfg{})
	} else {
		closeTest(t, s)
	}

	names, err := d.fs.List("data")
	must(err)
	for _, name := range names {
		kind, _, _ := strings.Cut(name, "-")
		if at := strings.LastIndexByte(name, '.'); at >= 0 && !strings.HasPrefix(name, "marker") {
			kind = name[at:]
		}
		if info, err := d.fs.Stat("data/" + name); err == nil && info.Size() > 0 {
			d.files[kind] = append(d.files[kind], "data/"+name)
		}
	}
	d.files["heads"] = []string{"data.heads"}
	return d
}

// TestMarketFlips flips a bit in every kind of file of a market store. The store opens,
// and has everything, or reports the commits that it lost, or names the chains that are
// damaged and can rebuild them while the others are whole. A flip never ends the
// process.
func TestMarketFlips(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	outcomes, byKind := map[string]int{}, map[string]int{}
	flips := disktest.Share(rounds(60), 200, 1000)
	disks := []*marketDisk{
		newMarketDisk(t, false, false), newMarketDisk(t, true, false), newMarketDisk(t, false, true),
	}
	for i := range flips {
		disk := disks[i%len(disks)]
		kinds := sortedKeys(disk.files)
		kind := kinds[i/len(disks)%len(kinds)]
		files := disk.files[kind]
		path := files[random.IntN(len(files))]

		fs := vfs.NewMem()
		if _, err := vfs.Clone(disk.fs, fs, "", ""); err != nil {
			t.Fatal(err)
		}
		at := disktest.FlipBit(t, fs, path, random)
		outcome, err := disk.openFlipped(t, fs)
		if err != nil {
			t.Errorf("disk %d, %s, byte %d: %v", i%len(disks), path, at, err)
		}
		outcomes[outcome]++
		byKind[kind+" "+outcome]++
	}

	disktest.Figure(t, "%d bits flipped in files of the market store: %v; 0 unnoticed, 0 process ends",
		flips, outcomes)
	t.Logf("by kind of file: %v", byKind)
	for _, want := range []string{"harmless", "damaged"} {
		if outcomes[want] == 0 && !testing.Short() {
			t.Errorf("outcomes: %v; want some %s", outcomes, want)
		}
	}
}

func sortedKeys[T any](m map[string]T) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// openFlipped opens a damaged store, reads it, and rebuilds what is damaged. An error
// is an outcome that must not happen.
func (d *marketDisk) openFlipped(t *testing.T, fs vfs.FS) (outcome string, err error) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()

	s, err := Open("data", testOptions(fs))
	if err != nil {
		return "refused", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()

	outcome = "harmless"
	var damaged []market.ChainID
	for _, chain := range []market.ChainID{1, 42161} {
		found := readAll(s, chain)
		if found == nil {
			found = readSeries(s, chain)
		}
		if s.Damaged(chain) != nil {
			damaged = append(damaged, chain)
			continue
		}
		if found != nil {
			return outcome, fmt.Errorf("chain %d: an error that is no damage: %w", chain, found)
		}

		r, err := s.Restore(chain)
		if err != nil {
			return outcome, err
		}
		rollback := s.Rollback(chain)
		if r == nil || place(r.State) != d.last[chain] {
			if rollback == nil {
				return outcome, fmt.Errorf("chain %d lost commits and does not say so", chain)
			}
			outcome = "rolled back"
		} else if rollback != nil {
			return outcome, fmt.Errorf("chain %d has lost nothing and says %s", chain, rollback)
		}
		if r != nil {
			holds(t, s, d.history[place(r.State)])
		}
	}

	if len(damaged) > 0 {
		outcome = "damaged"
		err = d.rebuild(t, s, damaged)
	}
	return outcome, err
}

// rebuild builds damaged chains again, and those that had keys in the same block. The
// others stay whole.
func (d *marketDisk) rebuild(t *testing.T, s *Store, damaged []market.ChainID) error {
	t.Helper()
	all := []market.ChainID{1, 42161}
	again := map[market.ChainID]*snapshot{}
	for len(damaged) > 0 {
		chain := damaged[0]
		damaged = damaged[1:]
		if again[chain] != nil {
			return fmt.Errorf("chain %d is damaged after it was rebuilt: %w", chain, s.Damaged(chain))
		}
		if err := s.DropChain(chain); err != nil {
			return fmt.Errorf("it cannot be rebuilt: %w", err)
		}
		g := newRig(40, chain)
		for range 3 {
			again[chain] = g.commit(t, s, 12, true)
		}
		for _, other := range all {
			if s.Damaged(other) != nil && !slices.Contains(damaged, other) {
				damaged = append(damaged, other)
			}
		}
	}

	must(s.db.Flush())
	for _, chain := range all {
		if again[chain] != nil {
			holds(t, s, again[chain])
		} else if r, err := s.Restore(chain); err != nil || r == nil && s.Rollback(chain) == nil {
			return fmt.Errorf("chain %d is %v after the other was rebuilt: %w", chain, r, err)
		} else if r != nil {
			holds(t, s, d.history[place(r.State)])
		}
	}
	return nil
}

// readSeries reads the leaves and series of a chain, as a scan of its keys.
func readSeries(s *Store, chain market.ChainID) error {
	err := s.readRange(chain, appendChain(nil, chain), appendChainEnd(nil, chain))
	if err != nil {
		return s.reportDamage(chain, "keys", err)
	}
	return nil
}

// lastOwner returns bytes in the middle of a chain's data, far from the block with
// the store's format.
func lastOwner(t *testing.T, s *Store, chain market.ChainID) []byte {
	t.Helper()
	r, err := s.Restore(chain)
	must(err)
	owner := *r.State.Owners.At(r.State.Owners.Len() - 1)
	return owner[8:]
}

// corruptTable flips a bit of some bytes in a table file of a closed store: a compaction of an
// open one may write the table again.
func corruptTable(t *testing.T, fs vfs.FS, want []byte) (path string) {
	t.Helper()
	names, err := fs.List("data")
	must(err)

	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		path = "data/" + name
		f, err := fs.Open(path)
		must(err)
		content, err := io.ReadAll(f)
		must(errors.Join(err, f.Close()))
		if at := bytes.Index(content, want); at >= 0 {
			w, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
			must(err)
			_, err = w.WriteAt([]byte{content[at] ^ 1}, int64(at))
			must(errors.Join(err, w.Close()))
			return path
		}
	}
	t.Fatal("no table has the row")
	return ""
}

// TestDamagedChainIsRebuilt corrupts a block of one chain. The other chain is whole,
// also while the first is dropped and committed again.
func TestDamagedChainIsRebuilt(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	one, two := newRig(8, 1), newRig(9, 2)
	one.commit(t, s, 300, true)
	other := two.commit(t, s, 300, true)
	must(s.Compact())
	owner := lastOwner(t, s, 1)
	closeTest(t, s)
	corruptTable(t, fs, owner)

	s = openTest(t, fs)
	defer func() { closeTest(t, s) }()
	if d := s.Damaged(1); d != nil {
		t.Fatalf("damage is known before anything was read: %v", d)
	}
	err := readAll(s, 1)
	var damage *Damage
	if !errors.As(err, &damage) || !damage.Lasts() || damage.Chain != 1 || s.Damaged(1) == nil {
		t.Fatalf("reading damaged rows gave %v", err)
	}
	if s.Damaged(2) != nil {
		t.Errorf("chain 2 counts as damaged: %v", s.Damaged(2))
	}

	holds(t, s, other)
	if err := s.DropChain(1); err != nil {
		t.Fatal(err)
	}
	if s.Damaged(1) != nil {
		t.Errorf("a dropped chain is damaged: %v", s.Damaged(1))
	}
	holds(t, s, other)

	again := newRig(10, 1).commit(t, s, 300, true)
	must(s.Compact())
	holds(t, s, again)
	holds(t, s, other)
}

// Check names the damaged file, its keys and the way out.
func TestCheckNamesDamagedFile(t *testing.T) {
	fs, s := lifeStore(t)
	entry, ok, err := readFirst(s.Transactions(1, 30, Place{}, End(1<<63), OldestFirst))
	if err != nil || !ok {
		t.Fatalf("position 30 has no transaction: %v", err)
	}
	closeTest(t, s)
	path := corruptTable(t, fs, entry.TxHash[8:])

	s = openTest(t, fs)
	defer closeTest(t, s)
	findings, err := s.Check()
	must(err)
	line := strings.Join(findings, "\n")
	for _, want := range []string{"chain 1: file " + path, "keys ", "`tidemark chains resync 1`"} {
		if !strings.Contains(line, want) {
			t.Errorf("findings are %q; want %q in them", findings, want)
		}
	}
}

// TestRolledBackHeadIsNoticed flips bits near the end of the log of a killed store.
// Pebble then opens an older cut without an error; the store says how much is missing,
// goes on from there, and never numbers a generation twice.
func TestRolledBackHeadIsNoticed(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	disk := newMarketDisk(t, false, false)
	path, end := disk.findInLog(t, disk.history[disk.last[42161]].st.Head.Hash)
	noticed, flips := 0, disktest.Share(rounds(15), 30, 300)
	for range flips {
		fs := vfs.NewMem()
		if _, err := vfs.Clone(disk.fs, fs, "", ""); err != nil {
			t.Fatal(err)
		}
		f, err := fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
		must(err)
		at := end - random.Int64N(min(end, 8<<10))
		b := make([]byte, 1)
		_, err = f.ReadAt(b, at)
		must(err)
		b[0] ^= 1 << random.IntN(8)
		_, err = f.WriteAt(b, at)
		must(errors.Join(err, f.Close()))

		outcome, err := disk.openFlipped(t, fs)
		if err != nil {
			t.Errorf("%s, byte %d of %d: %v", path, at, end, err)
		}
		if outcome == "rolled back" {
			noticed++
			disk.goesOn(t, fs)
		}
	}

	disktest.Figure(t, "%d bits flipped near the end of the log: %d rollbacks, all noticed", flips, noticed)
	if noticed == 0 {
		t.Error("no flip rolled the store back")
	}
}

// findInLog returns the log that has a block hash, and where it ends there. A recycled
// log has older records behind the newest.
func (d *marketDisk) findInLog(t *testing.T, hash market.Hash) (path string, end int64) {
	t.Helper()
	for _, path := range d.files[".log"] {
		f, err := d.fs.Open(path)
		must(err)
		content, err := io.ReadAll(f)
		must(errors.Join(err, f.Close()))
		if at := bytes.LastIndex(content, hash[:]); at >= 0 {
			return path, int64(at + len(hash))
		}
	}
	t.Fatal("the last cut is in no log")
	return "", 0
}

// goesOn commits after a rollback: the loss is then no longer reported.
func (d *marketDisk) goesOn(t *testing.T, fs vfs.FS) {
	t.Helper()
	s := openTest(t, fs)
	before := maps.Clone(s.heads.last)
	for chain, last := range d.last {
		generation := d.history[last].generation
		if s.Rollback(chain) == nil {
			continue
		}
		if got := s.LastGeneration(chain); got != generation {
			t.Errorf("the last generation is %d; want %d", got, generation)
		}
		findings := fmt.Sprint(s.Rollback(chain))
		if !strings.Contains(findings, "missing") || !strings.Contains(findings, "was committed") {
			t.Errorf("the rollback is %q", findings)
		}

		g := newRig(50, chain)
		cut := g.cut(3, true)
		cut.Publication.Generation = generation + 1
		if err := s.Commit(cut); err != nil {
			t.Fatal(err)
		}
		before := before[chain]
		d := s.heads.last[chain]
		if d.generation != generation+1 || d.block != cut.State.Head.Number ||
			d.sequence != before.sequence+1 {
			t.Errorf("after the commit %+v is recorded", d)
		}
	}
	closeTest(t, s)

	s = openTest(t, fs)
	for chain := range d.last {
		if r := s.Rollback(chain); r != nil {
			t.Errorf("after another commit: %s", r)
		}
		if d := s.Damaged(chain); d != nil {
			t.Errorf("after another commit: %s", d)
		}
	}
	closeTest(t, s)
}

// An error of the operating system may pass, so it must not make a chain be dropped.
// A file that is gone does not come back.
func TestDamageLasts(t *testing.T) {
	f := func(err error, want bool) {
		t.Helper()
		d := &Damage{Chain: 1, What: "table pools", Err: fmt.Errorf("row 3: %w", err)}
		if got := d.Lasts(); got != want {
			t.Errorf("%v: lasts %v; want %v", err, got, want)
		}
	}

	f(errors.New("bad field id"), true)
	f(syscall.EIO, false)
	f(syscall.EMFILE, false)
	f(syscall.ENOENT, true)
}

// Damage that a compaction reports is found in the chain whose keys it holds, by the
// range of the file's keys, and in no other.
func TestDamageOfCompactionIsFound(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	newRig(8, 1).commit(t, s, 300, true)
	newRig(9, 2).commit(t, s, 300, true)
	must(s.Compact())
	owner := lastOwner(t, s, 1)
	closeTest(t, s)
	path := corruptTable(t, fs, owner)

	s = openTest(t, fs)
	defer closeTest(t, s)
	found := pebble.DataCorruptionInfo{Path: path, Details: errors.New("checksum")}
	found.Bounds.Start, found.Bounds.End.Key = appendChain(nil, 1), appendKind(nil, 2, 0xf0)
	s.noteCorruption(found)
	if d := s.Damaged(2); d != nil {
		t.Errorf("chain 2 counts as damaged: %v", d)
	}
	if d := s.Damaged(1); d == nil || !d.Lasts() || !strings.Contains(d.Error(), path) {
		t.Errorf("the damage of chain 1 is %v", d)
	}
}

// A file that could not be searched, because of an error that passes, is searched again: Pebble's
// report of it is not repeated.
func TestDamageIsSearchedAgain(t *testing.T) {
	fs := vfs.NewMem()
	s := openTest(t, fs)
	newRig(8, 1).commit(t, s, 300, true)
	must(s.Compact())
	owner := lastOwner(t, s, 1)
	closeTest(t, s)
	path := corruptTable(t, fs, owner)

	var failing atomic.Bool
	s = openTest(t, errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if failing.Load() && op.Path == path {
			return syscall.EIO
		}
		return nil
	})))
	defer closeTest(t, s)
	found := pebble.DataCorruptionInfo{Path: path, Details: errors.New("checksum")}
	found.Bounds.Start, found.Bounds.End.Key = appendChain(nil, 1), appendKind(nil, 1, 0xf0)
	s.noteCorruption(found)
	failing.Store(true)
	if d := s.Damaged(1); d != nil {
		t.Errorf("a file that cannot be read counts as damage: %v", d)
	}
	failing.Store(false)
	if d := s.Damaged(1); d == nil || !d.Lasts() || !strings.Contains(d.Error(), path) {
		t.Errorf("the damage is %v", d)
	}
}

// Damage that lasts counts more than an earlier error that may pass.
func TestLastingDamageCounts(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	f := func(err error, lasts bool) {
		t.Helper()
		s.reportDamage(1, "table pools", err)
		if d := s.Damaged(1); (d != nil) != lasts {
			t.Errorf("after %v the damage is %v", err, d)
		}
	}

	f(syscall.EIO, false)
	f(errors.New("bad field id"), true)
	f(syscall.EIO, true)
	f(errors.New("bad field fee"), true)
	if d := s.Damaged(1); !strings.Contains(d.Error(), "bad field id") {
		t.Errorf("the damage is %v; want the first that lasts", d)
	}
}

// TestReadRange: the keys of one chain are read from the first of a range to its last, and
// no others: a table behind them that cannot be read is not found, nor another chain's.
func TestReadRange(t *testing.T) {
	mem, _, _ := splitMarket(t)
	var broken atomic.Value // the name of a file, read by the store's own goroutines too
	broken.Store("")
	s := openTest(t, errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if name := broken.Load().(string); name != "" && op.Path == "data/"+name {
			return syscall.EIO
		}
		return nil
	})))
	defer closeTest(t, s)
	levels, err := s.db.SSTables()
	must(err)
	var tables []pebble.SSTableInfo
	for _, level := range levels {
		tables = append(tables, level...)
	}

	read := 0
	for name, touched := range tablesOf(t, s, 1, 42161) {
		i := slices.IndexFunc(tables, func(t pebble.SSTableInfo) bool {
			return name == (&standIn{number: uint64(t.BackingSSTNum)}).name()
		})
		if len(touched) != 1 || i < 0 {
			continue
		}
		lower, upper := tables[i].Smallest.UserKey, tables[i].Largest.UserKey
		broken.Store(name)
		f := func(what string, chain market.ChainID, lower, upper []byte, fails bool) {
			t.Helper()
			if err := s.readRange(chain, lower, upper); errors.Is(err, syscall.EIO) != fails || err != nil && !fails {
				t.Errorf("%s of chain %d, %s: %v; want an error: %t", name, chain, what, err, fails)
			}
		}

		chain := touched[0]
		other := 1 + 42161 - chain
		first, all := appendChain(nil, chain), []byte{0xff}
		if s.readRange(chain, nil, all) == nil {
			continue // it is in memory
		}
		f("its keys", chain, lower, upper, true)
		f("its keys of the other chain", other, lower, upper, false)
		f("all keys of the other chain", other, nil, all, false)
		f("keys before it", chain, nil, first[:1], false)
		f("from its last key back", chain, upper, lower, bytes.Equal(upper, lower))
		f("of no chain", 1<<40, nil, all, false)
		read++
	}

	broken.Store("")
	if read == 0 {
		t.Error("no table is of one chain alone")
	}
}
