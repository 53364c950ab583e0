package storage_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/actors"
	"tidemark/actors/chain"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/storage"
	"tidemark/storage/disktest"
)

// catchUp is a chain that catches up beside the writing of its cuts, and what is known of
// these.
type catchUp struct {
	*history
	store *storage.Store

	mu     sync.Mutex
	begun  []market.Head // of every cut that was given to be written
	stored int           // how many of them were acknowledged
}

// written returns how many cuts were acknowledged.
func (c *catchUp) written() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stored
}

// heads returns the heads of the cuts that were begun.
func (c *catchUp) heads() []market.Head {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.begun)
}

const spansPerCut = 8

// run takes the history from where the store is, a cut every few spans.
func (c *catchUp) run(t testing.TB) error {
	var at market.Head // of the cut that is next
	on := c.open(t, c.store, chain.Config{WantsState: true, Background: func(do func() error) <-chan error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.begun = append(c.begun, at)
		return actors.Background(func() error {
			err := do()
			if err == nil {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.stored++
			}
			return err
		})
	}})

	from := on.Cursor().Anchors[0].Number
	for i, span := range c.spans {
		if span.From <= from {
			continue
		}
		c.apply(t, on, span)
		at = span.Head()
		if i%spansPerCut == 0 {
			if err := on.Refresh(time.Now, func() {}); err != nil {
				return err
			}
		}
	}
	if at == (market.Head{}) {
		return nil // the store has everything
	}
	return errors.Join(on.Refresh(time.Now, func() {}), on.Settle())
}

// state returns what the store has of the chain, and how far it is.
func state(s *storage.Store) (bytes string, at market.Head, err error) {
	r, err := s.Restore(1)
	if r == nil {
		return "", at, err
	}
	r.Warm(func() bool { return false })
	return string(storage.StateBytes(r.State)), r.State.Head, nil
}

// survives opens a disk after a crash. The chain has one of the cuts that were begun, and
// no older one than was acknowledged, and goes on from it to the same end.
func (c *catchUp) survives(t testing.TB, fs vfs.FS, stored int, heads []market.Head, want string) error {
	s, err := storage.Open("data", storage.OptionsOn(fs))
	if err != nil {
		return err
	}
	defer s.Close()
	if r := s.Rollback(1); r != nil {
		return fmt.Errorf("rollback: %s", r)
	}

	_, at, err := state(s)
	has := slices.Index(heads, at) + 1
	if err != nil || has < stored || has == 0 && at.Number != 0 {
		return fmt.Errorf("the store is at %+v, %w, cut %d of %d; %d were acknowledged", at, err, has, len(heads), stored)
	}
	again := &catchUp{history: c.history, store: s}
	if err := again.run(t); err != nil {
		return err
	}
	findings, err := s.Check()
	if err != nil || len(findings) > 0 {
		return fmt.Errorf("%d findings, %w, the first: %.1v", len(findings), err, findings)
	}
	if got, _, err := state(s); err != nil || got != want {
		return fmt.Errorf("gone on from cut %d, %d bytes of state differ from %d, %w", has, len(got), len(want), err)
	}
	return nil
}

// newCatchUp follows the first hours of a market, one a span, and returns what the store
// has of them.
func newCatchUp(t testing.TB, hours int) (c *catchUp, want string) {
	t.Helper()
	c = &catchUp{history: newHistory(t, 60, 8, 8)}
	var pieces []*market.Span
	at := int64(0)
	for _, span := range c.spans {
		for _, piece := range ledger.CutHours(span, at) {
			pieces = append(pieces, &piece)
			at = piece.Time
		}
	}
	c.spans = pieces[:hours]

	c.store = openStore(t, nil)
	if err := c.run(t); err != nil {
		t.Fatal(err)
	}
	want, _, err := state(c.store)
	if n := c.written(); err != nil || n < 4 || n != len(c.begun) {
		t.Fatalf("%d of %d cuts are written, %v; this is no test", n, len(c.begun), err)
	}
	return c, want
}

// A chain that catches up is killed at any moment, while a cut is written and the spans of
// the next are applied. It starts again with whole cuts, in order, and none that was
// acknowledged is lost.
func TestKilledWhileCatchingUp(t *testing.T) {
	first, want := newCatchUp(t, 150)
	crashes, all := 0, disktest.Share(20, 200, 5000)
	for seed := uint64(1); crashes < all; seed++ {
		type crash struct {
			fs     *vfs.MemFS
			stored int
			heads  []market.Head
		}
		var taken []crash
		var mu sync.Mutex
		disk, random := vfs.NewCrashableMem(), rand.New(rand.NewPCG(seed, 3))
		c := &catchUp{history: first.history}
		fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(errorfs.Op) error {
			mu.Lock()
			defer mu.Unlock()
			if random.IntN(25) > 0 {
				return nil
			}
			stored := c.written() // before the clone, which may have more
			clone := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random})
			taken = append(taken, crash{clone, stored, c.heads()})
			return nil
		}))

		var err error
		if c.store, err = storage.Open("data", storage.OptionsOn(storage.CloneableFS(fs))); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.run(t), c.store.Close()); err != nil {
			t.Fatal(err)
		}
		for _, k := range taken {
			if err := c.survives(t, k.fs, k.stored, k.heads, want); err != nil {
				t.Errorf("seed %d, after %d cuts: %v", seed, k.stored, err)
			}
			crashes++
		}
	}
	t.Logf("figure: %d kills of a chain that catches up: 0 acknowledged cuts lost, 0 gaps", crashes)
}

const failingCatchUpEnv = "TIDEMARK_TEST_FAILING_CATCH_UP"

// Whichever file operation fails while a chain catches up, it stops before the next cut or
// the process ends, and the next start goes on without a gap. A store that ends its process
// leaves goroutines behind, so the test runs in a process of its own.
func TestFailingDiskWhileCatchingUp(t *testing.T) {
	if os.Getenv(failingCatchUpEnv) != "" {
		os.Exit(failOperationsOfCatchUp(t))
	}
	child := exec.Command(os.Args[0], "-test.run=^TestFailingDiskWhileCatchingUp$")
	child.Env = append(os.Environ(), failingCatchUpEnv+"=1", "TMPDIR="+t.TempDir()) // an exit leaves what it made
	out, err := child.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
		return
	}
	t.Logf("figure: %s", out)
}

func failOperationsOfCatchUp(t testing.TB) (code int) {
	first, want := newCatchUp(t, 40)
	failed, ended := 0, 0
	for n := int64(0); ; n++ {
		disk := vfs.NewCrashableMem()
		c, exited, reached := failWhileCatchingUp(t, first.history, disk, n)
		if !reached {
			break
		}
		failed++
		if exited {
			ended++
		}
		stored := c.written()
		if err := c.survives(t, disk.CrashClone(vfs.CrashCloneCfg{}), stored, c.heads(), want); err != nil {
			fmt.Fprintf(os.Stderr, "operation %d failed, then: %v\n", n, err)
			code = 1
		}
	}

	if failed < 50 || t.Failed() {
		fmt.Fprintf(os.Stderr, "%d operations were made to fail; want 50 and more, without a message before\n", failed)
		code = 1
	}
	fmt.Printf("%d file operations failed in turn while a chain caught up, %d of them ended the process: "+
		"0 acknowledged cuts lost, 0 gaps", failed, ended)
	return code
}

// failWhileCatchingUp catches up on a disk whose operation n fails, until the process
// would have ended. What it writes must fit into a memtable: if a log cannot be rotated,
// Pebble ends the process by a panic that cannot be recovered.
func failWhileCatchingUp(
	t testing.TB, h *history, disk vfs.FS, n int64,
) (c *catchUp, exited, reached bool) {
	var operations atomic.Int64
	o := storage.OptionsOn(errorfs.Wrap(disk, errorfs.InjectorFunc(func(errorfs.Op) error {
		if operations.Add(1)-1 == n {
			return syscall.EIO
		}
		return nil
	})))
	ended := make(chan bool, 1)
	o.Exit = func() {
		ended <- true
		select {} // nothing of the process goes on
	}

	c = &catchUp{history: h}
	go func() {
		defer func() { ended <- recover() != nil }()
		var err error
		if c.store, err = storage.Open("data", o); err != nil {
			return
		}
		if c.run(t) == nil && c.written() != len(c.heads()) {
			t.Errorf("operation %d: %d of %d cuts are written, and it is no error", n, c.written(), len(c.heads()))
		}
	}()
	exited = <-ended
	return c, exited, operations.Load() > n
}
