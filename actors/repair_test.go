package actors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/chain"
	"tidemark/actors/cluster"
	"tidemark/actors/feed"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// runNode serves both chains from a directory, calls do, and stops.
func runNode(t *testing.T, dir string, wrap func(feed.Feed) feed.Feed, do func(*testNode)) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store, err := storage.Open(dir, storage.Options{Logger: quiet, Exit: func() { panic("the store ended the process") }})
	if err != nil {
		t.Fatal(err)
	}

	th := &testNode{t: t, store: store, set: metrics.NewSet()}
	specs := []ChainSpec{
		frozenChain(t, 1, th.set, quiet, wrap), frozenChain(t, 2, th.set, quiet, plain),
	}
	th.node, err = Start(Config{
		Store: store, Board: &th.board, Every: 20 * time.Millisecond,
		Clock: accounts.NewClock(time.Now()), Metrics: th.set, Log: quiet,
	}, specs)
	if err != nil {
		t.Fatal(err)
	}
	do(th)
	if err := errors.Join(th.node.Stop(t.Context()), store.Close()); err != nil {
		t.Fatal(err)
	}
}

// corrupt compacts the store and flips a bit of chain 1 in a table file: of what
// find returns, the first bytes that a file has.
func corrupt(t *testing.T, dir string, find func(*storage.Store, *market.State) [][]byte) {
	t.Helper()
	store, err := storage.Open(dir, storage.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Restore(1)
	if err != nil {
		t.Fatal(err)
	}
	wanted := find(store, r.State)
	if err := errors.Join(store.Compact(), store.Close()); err != nil {
		t.Fatal(err)
	}

	names, _ := filepath.Glob(filepath.Join(dir, "*.sst")) // some may be obsolete
	for _, want := range wanted {
		found := false
		for _, name := range names {
			found = flipBit(t, name, want) || found
		}
		if found {
			return
		}
	}
	t.Fatal("no table has any of the bytes")
}

// flipBit flips a bit of the last place in a file that has some bytes.
func flipBit(t *testing.T, name string, want []byte) (found bool) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	at := bytes.LastIndex(content, want)
	if at < 0 {
		return false
	}
	content[at] ^= 1
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return true
}

// positionFees returns the stored fee growths of positions, the last position first.
func positionFees(_ *storage.Store, st *market.State) (all [][]byte) {
	for i := st.Positions.Len(); i > 0; i-- {
		growth := st.Positions.At(i - 1).FeeGrowthInside0LastX128
		if growth[1] != 0 {
			b := binary.LittleEndian.AppendUint64(nil, growth[0])
			all = append(all, binary.LittleEndian.AppendUint64(b, growth[1])[:12])
		}
	}
	return all
}

// mints returns hash and time of the first transactions of positions, which only the
// series has.
func mints(store *storage.Store, st *market.State) (all [][]byte) {
	for i := st.Positions.Len() / 2; i < st.Positions.Len(); i++ {
		it := store.Transactions(1, i, storage.Place{}, storage.End(1<<63), storage.OldestFirst)
		if it.Next() {
			hash := it.Entry().TxHash
			all = append(all, append(hash[8:], byte(it.Entry().Time<<1)|0x80)) // and its time
		}
		it.Close()
	}
	return all
}

// A chain whose stored data is damaged is built again from its feed. Meanwhile it says
// why it is unavailable, and the other chain serves. Its generations go on counting.
func TestDamagedChainIsRebuilt(t *testing.T) {
	dir := t.TempDir()
	var before, other *rankings.View
	runNode(t, dir, plain, func(n *testNode) {
		before, other = n.await(1, "served", served).View, n.await(2, "served", served).View
	})
	corrupt(t, dir, positionFees)

	gate := make(chan struct{})
	wait := func(f feed.Feed) feed.Feed { return gatedFeed{f, gate} }
	runNode(t, dir, wait, func(n *testNode) {
		c := n.await(1, "rebuilding", func(c *rankings.Chain) bool { return c.Status.Repair != "" })
		if c.View != nil || !strings.Contains(c.Status.Repair, ".sst, keys ") {
			t.Errorf("a damaged chain is %+v", c)
		}
		if got := n.await(2, "served", served).View; got.Generation != other.Generation {
			t.Errorf("the other chain serves generation %d; want %d", got.Generation, other.Generation)
		}

		close(gate)
		after := n.await(1, "served again", func(c *rankings.Chain) bool {
			return served(c) && c.Status.Repair == ""
		}).View
		if after.Generation <= before.Generation || after.State.Head != before.State.Head {
			t.Errorf("generation %d of %+v was built again as %d of %+v", before.Generation,
				before.State.Head, after.Generation, after.State.Head)
		}
		if d := n.store.Damaged(1); d != nil {
			t.Errorf("after it was rebuilt the chain is damaged: %v", d)
		}
	})
}

func readTransactions(store *storage.Store, st *market.State) (err error) {
	for i := range st.Positions.Len() {
		it := store.Transactions(1, i, storage.Place{}, storage.End(1<<63), storage.OldestFirst)
		for it.Next() {
		}
		err = errors.Join(err, it.Err())
		it.Close()
	}
	return err
}

// Damage that a request meets while the chain serves is repaired too.
func TestDamageMetByARequest(t *testing.T) {
	dir := t.TempDir()
	runNode(t, dir, plain, func(n *testNode) {
		n.await(1, "served", served)
		n.await(2, "served", served)
	})
	corrupt(t, dir, mints)

	runNode(t, dir, plain, func(n *testNode) {
		before := n.await(1, "served", served).View
		if readTransactions(n.store, before.State) == nil {
			t.Fatal("the damaged record was read")
		}

		after := n.await(1, "served again", func(c *rankings.Chain) bool {
			return served(c) && c.View.Generation > before.Generation && c.Status.Repair == ""
		}).View
		if after.State.Head != before.State.Head {
			t.Errorf("it was built again at %+v; want %+v", after.State.Head, before.State.Head)
		}
	})
}

// After a refresh that the disk refused, the chain is restored soon, as it is not at fault;
// after any other the pause grows.
func TestPauseAfterRefusedCommits(t *testing.T) {
	const before = 10 * time.Second
	cases := []struct {
		cause error
		want  time.Duration
	}{
		{storage.ErrReadOnly, firstPause},
		{fmt.Errorf("cannot commit: %w", storage.ErrReadOnly), firstPause},
		{errors.New("broken"), 2 * before},
		{fmt.Errorf("cannot append a cut: %w", cluster.ErrOutdated), before}, // it follows at once
	}

	for _, c := range cases {
		t.Run(c.cause.Error(), func(t *testing.T) {
			if got := pauseAfterRefusal(t, c.cause, before); got != c.want {
				t.Errorf("the next restore comes in %s; want %s", got, c.want)
			}
		})
	}
}

// pauseAfterRefusal returns the pause after a commit that fails for a cause.
func pauseAfterRefusal(t *testing.T, cause error, before time.Duration) (pause time.Duration) {
	var refuse atomic.Bool
	store, err := storage.Open(t.TempDir(), storage.Options{
		Logger: slog.New(slog.DiscardHandler),
		Tee: func(id market.ChainID, _, _ []byte) ([]byte, error) {
			if refuse.Load() && id == 1 {
				return nil, cause
			}
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	n := startTestNode(t, store, plain)
	n.await(1, "served", served)
	err = n.node.command(1, func(x *chainActor) error {
		x.pause = before
		if err := shorten(x); err != nil {
			return err
		}
		refuse.Store(true)
		epoch := x.epoch
		if x.publish() || x.epoch == epoch {
			return fmt.Errorf("epoch %d after %d: the chain is not restored", x.epoch, epoch)
		}
		pause = x.pause
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pause
}

// Only damage that lasts takes the pages of a chain away. An error of the operating system
// may pass, and the chain is restored with what it has.
func TestPassingDamageIsServed(t *testing.T) {
	n := newTestNode(t, plain)
	n.await(1, "served", served)
	f := func(cause error, want bool) {
		t.Helper()
		_ = n.node.command(1, func(x *chainActor) error {
			epoch := x.epoch
			x.recoverFrom(&storage.Damage{Chain: 1, What: "a row", Err: cause})
			after, _ := x.Board.Load().Chain(1)
			if (after.View != nil) != want || x.epoch == epoch {
				t.Errorf("%v: the chain is served: %v, restored: %v; want %v, true", cause, after.View != nil, x.epoch != epoch, want)
			}
			return nil
		})
	}

	f(syscall.EMFILE, true)
	f(errors.New("checksum"), false)
}

// A command that cannot drop the chain's data says so, and the chain is restored.
func TestFailedResync(t *testing.T) {
	n := newTestNode(t, plain)
	n.await(1, "served", served)
	broken := errors.New("broken")

	err := n.node.command(1, func(x *chainActor) error {
		epoch := x.epoch
		err := x.restart(func(*chain.Chain) error { return broken })
		if x.epoch == epoch || x.pause != firstPause {
			t.Errorf("after a failed drop the chain is restored in %s; want %s", x.pause, firstPause)
		}
		return err
	})
	if !errors.Is(err, broken) {
		t.Errorf("the command was answered %v; want %v", err, broken)
	}
}

// A feed's times are converted to the node's clock; what was not confirmed stays so.
func TestFeedTimes(t *testing.T) {
	now := time.Now()
	a := &chainActor{Config: Config{Clock: accounts.NewClock(now)}}
	if got := a.onClock(time.Time{}); !got.IsZero() {
		t.Errorf("no time became %s", got)
	}
	later := now.Add(time.Minute)
	if got := a.onClock(later); !got.Equal(a.Clock.Time(later)) || got.IsZero() {
		t.Errorf("%s became %s", later, got)
	}
}

// A feed that goes on failing is told of once in a while, with how often it failed.
func TestFeedWarnings(t *testing.T) {
	var log bytes.Buffer
	a := &chainActor{Config: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	for range 3 {
		a.warnFeedFailed(errors.New("gone"))
	}
	a.warned = a.warned.Add(-warnEvery)
	a.warnFeedFailed(errors.New("gone"))
	if got := log.String(); strings.Count(got, "feed failed") != 2 || !strings.Contains(got, "failures=1") ||
		!strings.Contains(got, "failures=3") {
		t.Errorf("the log has\n%s", got)
	}
}

// A feed that fails is told of, in the status and in the log, and asked again.
func TestFailureOfAFeed(t *testing.T) {
	th := newTestNode(t, plain)
	th.await(1, "served", served)
	err := th.node.command(1, func(a *chainActor) error {
		var log bytes.Buffer
		quiet := a.Log
		a.Log, a.warned = slog.New(slog.NewTextHandler(&log, nil)).With("chain", 1), time.Time{}
		defer func() { a.Log = quiet }()

		a.beginEpoch()
		a.cancelFetch = nil
		a.handleStep(feed.Step{}, errors.New("gone"))
		if got := log.String(); !strings.Contains(got, `msg="feed failed; retrying" chain=1 error=gone failures=1`) {
			t.Errorf("the log has %q", got)
		}
		if s := a.chain.Status(); s.FailingSince == 0 || s.FeedError != "gone" || a.cancelFetch == nil {
			t.Errorf("it fails since %d, %q, and is asked again: %t", s.FailingSince, s.FeedError, a.cancelFetch != nil)
		}
		return a.resync()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestGuarded: a panic of work outside the actors is its error, and damage stays what it is.
func TestGuarded(t *testing.T) {
	if err := guarded(func() error { panic("the sky falls") }); err == nil || !strings.Contains(err.Error(), "panic: the sky falls\n") {
		t.Errorf("a panic became %v", err)
	}

	damage := &storage.Damage{Chain: 7}
	if err := guarded(func() error { panic(damage) }); err != error(damage) {
		t.Errorf("damage became %v", err)
	}
	if err := guarded(func() error { return damage }); err != error(damage) {
		t.Errorf("an error became %v", err)
	}
	if err := guarded(func() error { return nil }); err != nil {
		t.Errorf("success became %v", err)
	}
}
