package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/rankings/market"
	"tidemark/storage/disktest"
)

// TestCrashKeepsOneWholeCut clones the disk in the middle of many commits, loses
// some of the unsynced data, and opens each clone. Every clone must restore one
// whole cut, not older than the last one acknowledged before the crash.
func TestCrashKeepsOneWholeCut(t *testing.T) {
	crashes, want := 0, disktest.Share(rounds(100), 500, 20_000)
	for seed := uint64(7); crashes < want; seed++ {
		crashes += crashAndRestore(t, seed)
	}
	disktest.Figure(t, "%d crashes inside commits and flushes of the market store: "+
		"0 acknowledged cuts lost, 0 mixed generations", crashes)
}

// crashAndRestore commits to two chains, and restores what each of some crashes left.
func crashAndRestore(t *testing.T, seed uint64) (n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	fs := vfs.NewCrashableMem()
	crashes := &crasher{fs: fs, every: 20}
	s := openTest(t, &disktest.NoReuse{FS: errorfs.Wrap(fs, crashes)})
	one, two := newRig(seed, 1), newRig(seed, 42161)
	history := map[string]*snapshot{}
	for range 10 {
		for _, g := range []*rig{one, two} {
			cut := g.cut(1+int(r.UintN(15)), r.UintN(4) > 0)
			history[place(cut.State)] = g.now.clone()
			if err := s.Commit(cut); err != nil {
				t.Fatal(err)
			}
			crashes.acknowledge(cut.State.Chain, place(cut.State))
		}
	}

	closeTest(t, s)
	for _, c := range crashes.taken {
		s := openTest(t, c.fs)
		for chain, acked := range c.acked {
			survives(t, s, history, chain, acked)
		}
		closeTest(t, s)
	}
	return len(crashes.taken)
}

// survives checks one chain after one crash.
func survives(
	t *testing.T, s *Store, history map[string]*snapshot, chain market.ChainID, acked string,
) {
	t.Helper()
	got, err := s.Restore(chain)
	if err != nil || got == nil {
		t.Fatalf("after a crash chain %d restores %v, %v; %s was acknowledged", chain, got, err, acked)
	}

	if r := s.Rollback(chain); r != nil {
		t.Errorf("after a crash: %s", r)
	}
	want, ok := history[place(got.State)]
	if !ok || got.State.Head.Number < history[acked].st.Head.Number {
		t.Fatalf("chain %d restored %s, which is older than %s", chain, place(got.State), acked)
	}
	holds(t, s, want)
}

func place(st *market.State) string { return fmt.Sprintf("%d@%d", st.Chain, st.Head.Number) }

// crasher clones the disk before every n-th operation.
type crasher struct {
	fs    *vfs.MemFS
	every int64
	n     atomic.Int64
	busy  atomic.Bool
	acked atomic.Pointer[map[market.ChainID]string]
	taken []crash
}

type crash struct {
	fs    *vfs.MemFS
	acked map[market.ChainID]string // acknowledged before the crash
}

func (c *crasher) acknowledge(chain market.ChainID, at string) {
	next := map[market.ChainID]string{chain: at}
	if old := c.acked.Load(); old != nil {
		for k, v := range *old {
			if k != chain {
				next[k] = v
			}
		}
	}
	c.acked.Store(&next)
}

func (c *crasher) String() string { return "crasher" }

func (c *crasher) MaybeError(op errorfs.Op) error {
	n := c.n.Add(1)
	acked := c.acked.Load()
	if n%c.every != 0 || acked == nil || !c.busy.CompareAndSwap(false, true) {
		return nil
	}

	random := rand.New(rand.NewPCG(uint64(n), 1))
	clone := c.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random})

	c.taken = append(c.taken, crash{clone, *acked})
	c.busy.Store(false)
	return nil
}

// TestDamageIsNamed damages and removes records of a cut.
func TestDamageIsNamed(t *testing.T) {
	f := func(what string, damage func(s *Store)) {
		t.Helper()
		s := openTest(t, vfs.NewMem())
		defer closeTest(t, s)
		newRig(9, 1).commit(t, s, 100, true)
		damage(s)
		err := readAll(s, 1)
		var d *Damage
		if !errors.As(err, &d) || !strings.Contains(err.Error(), what) || s.Damaged(1) == nil {
			t.Errorf("damage to %s gave %v, noted %v", what, err, s.Damaged(1))
		}
	}

	set := func(key, value []byte) func(s *Store) {
		return func(s *Store) { must(s.db.Set(key, value, pebble.NoSync)) }
	}
	drop := func(key []byte) func(s *Store) {
		return func(s *Store) { must(s.db.Delete(key, pebble.NoSync)) }
	}
	f("head", set(appendKind(nil, 1, kindHead), []byte("?")))
	f("directory", drop(appendKind(nil, 1, kindDirectory)))
	f("undo of block 99", set(appendNumber(nil, 1, kindUndo, 99), []byte{1}))
	f("table positions: row 77 is missing", drop(rowKey(1, "positions", 77, 0)))
	f("table pools: row 3: bad field id", set(rowKey(1, "pools", 3, 0), []byte{0}))
	f("table stats: row 0 is missing", drop(rowKey(1, "stats", 0, 0)))
	stray := filledPosition(1 << 20)
	f("table positions: row 3 refers to a row that does not exist",
		set(rowKey(1, "positions", 3, 0), encode(nil, &stray, codePosition)))
}

func filledPosition(owner uint32) market.Position {
	return market.Position{Owner: owner, Overflow: market.NoIndex}
}

// readAll restores and loads a chain, and turns the panic of a cold row into an
// error.
func readAll(s *Store, chain market.ChainID) (err error) {
	defer catchDamage(&err)
	r, err := s.Restore(chain)
	if err != nil || r == nil {
		return err
	}
	r.Warm(func() bool { return false })
	_, err = coldUndos(s, chain, nil)
	return err
}
