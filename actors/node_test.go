package actors

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/chain"
	"tidemark/actors/feed"
	"tidemark/actors/feed/archive"
	"tidemark/actors/feed/sim"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// testNode runs chains 1 and 2 on frozen simulated markets.
type testNode struct {
	t     *testing.T
	store *storage.Store
	board rankings.Board
	node  *Node
	set   *metrics.Set
}

func newTestNode(t *testing.T, wrap func(feed.Feed) feed.Feed) *testNode {
	t.Helper()
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return startTestNode(t, store, wrap)
}

// startTestNode runs both chains over a store, and closes it at the end.
func startTestNode(t *testing.T, store *storage.Store, wrap func(feed.Feed) feed.Feed) *testNode {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	th := &testNode{t: t, store: store, set: metrics.NewSet()}
	var specs []ChainSpec
	for _, id := range []market.ChainID{1, 2} {
		specs = append(specs, frozenChain(t, id, th.set, quiet, wrap))
	}

	var err error
	if th.node, err = Start(Config{
		Store: store, Board: &th.board, Every: 20 * time.Millisecond,
		Clock: accounts.NewClock(time.Now()), Metrics: th.set, Log: quiet,
	}, specs); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := th.node.Stop(ctx); err != nil {
			t.Errorf("cannot stop: %s", err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})

	return th
}

func frozenChain(t *testing.T, id market.ChainID, set *metrics.Set, log *slog.Logger,
	wrap func(feed.Feed) feed.Feed,
) ChainSpec {
	t.Helper()
	manager := market.Address{0xaa}
	params := value.DefaultParams()
	params.Stables, params.WrappedNative = []market.Address{{1, 1}, {1, 2}, {1, 3}}, market.Address{2}

	source, err := sim.New(sim.Config{
		Chain: id, Seed: 1, Positions: 120, Pools: 20, Days: 2, Genesis: 1_767_312_000, StartBlock: 1,
		PositionManager: manager, Stables: params.Stables, Wrapped: params.WrappedNative,
		Frozen: true, Every: 10 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}

	return ChainSpec{Feed: wrap(source), Config: chain.Config{
		Ledger: ledger.Config{Chain: id, PositionManager: manager, Start: 1},
		Prices: params, WantsState: true, UnavailableAfter: 10 * time.Minute,
		Log: log, Metrics: chain.NewMetrics(set, id),
	}}
}

func plain(f feed.Feed) feed.Feed { return f }

// patience is longer than the pause of a chain that could not be restored five times.
const patience = 45 * time.Second

// await waits until a chain of the board satisfies a condition.
func (th *testNode) await(id market.ChainID, what string, ok func(*rankings.Chain) bool) *rankings.Chain {
	th.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if c, found := th.board.Load().Chain(id); found && ok(c) {
			return c
		}
	}
	c, _ := th.board.Load().Chain(id)
	th.t.Fatalf("chain %d was never %s; it is %+v", id, what, c)
	return nil
}

func served(c *rankings.Chain) bool { return c.View != nil && c.View.Warm() }

// A node that is stopped while it loads no longer uses the store after Stop.
func TestStopWhileLoading(t *testing.T) {
	quiet, dir := slog.New(slog.DiscardHandler), t.TempDir()
	run := func(until func(*rankings.Board)) {
		store, err := storage.Open(dir, storage.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		var board rankings.Board
		set := metrics.NewSet()
		spec := frozenChain(t, 1, set, quiet, plain)
		node, err := Start(Config{
			Store: store, Board: &board, Every: time.Millisecond,
			Clock: accounts.NewClock(time.Now()), Metrics: set, Log: quiet,
		}, []ChainSpec{spec})
		if err != nil {
			t.Fatal(err)
		}
		until(&board)
		if err := errors.Join(node.Stop(t.Context()), store.Close()); err != nil {
			t.Fatal(err)
		}
	}

	run(func(b *rankings.Board) {
		for c, ok := b.Load().Chain(1); !ok || !served(c); c, ok = b.Load().Chain(1) {
			time.Sleep(time.Millisecond)
		}
	})

	for n := range 20 {
		run(func(*rankings.Board) { time.Sleep(time.Duration(n) * 100 * time.Microsecond) })
	}
}

// silentFeed is a frozen feed that never answers.
type silentFeed struct{ *sim.Feed }

func (silentFeed) Next(ctx context.Context, _ feed.Cursor) (feed.Step, error) {
	<-ctx.Done()
	return feed.Step{}, ctx.Err()
}

// The stored generation of a frozen market is confirmed when it is opened, so
// that a node is not stale in its first seconds after a pause.
func TestFrozenIsConfirmedAtOpen(t *testing.T) {
	quiet, dir := slog.New(slog.DiscardHandler), t.TempDir()
	run := func(wrap func(feed.Feed) feed.Feed, serves func(*rankings.Chain) bool) (confirmed int64) {
		store, err := storage.Open(dir, storage.Options{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		th := &testNode{t: t, store: store, set: metrics.NewSet()}
		spec := frozenChain(t, 1, th.set, quiet, wrap)
		node, err := Start(Config{
			Store: store, Board: &th.board, Every: time.Millisecond,
			Clock: accounts.NewClock(time.Now()), Metrics: th.set, Log: quiet,
		}, []ChainSpec{spec})
		if err != nil {
			t.Fatal(err)
		}
		confirmed = th.await(1, "served", serves).View.Confirmed()
		if err := errors.Join(node.Stop(t.Context()), store.Close()); err != nil {
			t.Fatal(err)
		}
		return confirmed
	}

	run(plain, served)
	stopped := time.Now().UnixMilli()
	time.Sleep(2 * time.Millisecond)
	silent := func(f feed.Feed) feed.Feed { return silentFeed{f.(*sim.Feed)} }
	if got := run(silent, served); got <= stopped {
		t.Errorf("confirmed %d ms before the restart", stopped-got)
	}
}

// shareOfPanics is how often TestPanicIsMended panics: once in the tests.
func shareOfPanics() int {
	switch os.Getenv("TIDEMARK_TORTURE") {
	case "quick":
		return 3
	case "full":
		return 100
	}
	return 1
}

// After a panic in one chain's actor the other chain serves, and the first is restored from
// the store: the same generation stands again, and the chain goes on.
func TestPanicIsMended(t *testing.T) {
	th := newTestNode(t, plain)
	before := th.await(1, "served", served).View
	th.await(2, "served", served)

	panics := shareOfPanics()
	after := before
	for range panics {
		err, last := make(chan error, 1), after
		th.node.chains[1].send(command{func(*chainActor) error { panic("a fault") }, err})
		after = th.await(1, "restored", func(c *rankings.Chain) bool { return served(c) && c.View != last }).View
		if after.Generation < last.Generation || after.State.Head.Number < last.State.Head.Number {
			t.Fatalf("generation %d at %+v became %d at %+v",
				last.Generation, last.State.Head, after.Generation, after.State.Head)
		}
		if c := th.await(2, "served", served); c.Status.Stopped {
			t.Fatalf("the other chain is %+v", c.Status)
		}
		confirmed := after.Confirmed()
		th.await(1, "confirmed again", func(c *rankings.Chain) bool { return c.View.Confirmed() > confirmed })
		if panics > 1 { // a refresh later a panic is the first one again, with the shortest pause
			time.Sleep(300 * time.Millisecond)
		}
	}
	if got := th.set.GetOrCreateCounter("tidemark_actor_panics_total").Get(); got != uint64(panics) {
		t.Errorf("%d panics were counted; want %d", got, panics)
	}
	t.Logf("figure: %d panics of a chain: each restored without going back, the other chain served", panics)
}

// failingFeed fails, panics, and then works.
type failingFeed struct {
	feed.Feed
	calls int
}

func (f *failingFeed) Next(ctx context.Context, c feed.Cursor) (feed.Step, error) {
	switch f.calls++; f.calls {
	case 1:
		return feed.Step{}, errors.New("the node is down")
	case 2:
		panic("a fault in the feed")
	}
	return f.Feed.Next(ctx, c)
}

func TestFeedThatFailsIsAskedAgain(t *testing.T) {
	th := newTestNode(t, func(f feed.Feed) feed.Feed { return &failingFeed{Feed: f} })
	th.await(1, "served", served)
	th.await(2, "served", served)
}

// panickingFeed panics whenever it is asked.
type panickingFeed struct {
	feed.Feed
	calls *atomic.Int64
}

func (f panickingFeed) Next(context.Context, feed.Cursor) (feed.Step, error) {
	f.calls.Add(1)
	panic("a fault in the feed")
}

// TestFeedThatPanics: a feed that panics is asked again after a pause, as a chain that
// panics is restored after one. Both are counted.
func TestFeedThatPanics(t *testing.T) {
	var calls atomic.Int64
	th := newTestNode(t, func(f feed.Feed) feed.Feed { return panickingFeed{f, &calls} })
	panics := th.set.GetOrCreateCounter("tidemark_actor_panics_total")
	began := time.Now()
	for panics.Get() < 2 && time.Since(began) < 10*time.Second {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(firstPause / 4)

	most := 2 + 2*int64(time.Since(began)/firstPause) // of two chains, each after a pause
	if n := calls.Load(); panics.Get() < 2 || n > most {
		t.Errorf("in %s the feeds panicked %d times, and %d were counted; want at most %d, counted",
			time.Since(began), n, panics.Get(), most)
	}
}

// downFeed fails while fails is set.
type downFeed struct {
	feed.Feed
	fails *atomic.Bool
}

func (f downFeed) Next(ctx context.Context, c feed.Cursor) (feed.Step, error) {
	if f.fails.Load() {
		time.Sleep(time.Millisecond)
		return feed.Step{}, errors.New("the node is down")
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond) // a frozen market says nothing new
	defer cancel()
	step, err := f.Feed.Next(ctx, c)
	if errors.Is(err, context.DeadlineExceeded) {
		return feed.Step{}, nil
	}
	return step, err
}

// A chain whose feed fails is known to, since its first failure in a row, and
// until it answers again.
func TestFailingFeedIsKnown(t *testing.T) {
	var fails atomic.Bool
	th := newTestNode(t, func(f feed.Feed) feed.Feed { return downFeed{f, &fails} })
	works := func(c *rankings.Chain) bool { return served(c) && c.Status.FailingSince == 0 }
	th.await(1, "working", works)

	from := time.Now().UnixMilli()
	fails.Store(true)
	failing := func(c *rankings.Chain) bool { return c.Status.FailingSince != 0 }
	first := th.await(1, "failing", failing).Status.FailingSince
	if first < from || first > time.Now().UnixMilli() {
		t.Errorf("fails since %d; was told to at %d", first, from)
	}
	time.Sleep(20 * time.Millisecond)
	if again := th.await(1, "failing", failing).Status.FailingSince; again != first {
		t.Errorf("fails since %d and then since %d", first, again)
	}

	fails.Store(false)
	th.await(1, "working again", works)
}

// heldFeed tells of every call, which lasts until it is cancelled.
type heldFeed struct {
	feed.Feed
	calls chan struct{}
}

func (f heldFeed) Next(ctx context.Context, _ feed.Cursor) (feed.Step, error) {
	f.calls <- struct{}{}
	<-ctx.Done()
	return feed.Step{}, ctx.Err()
}

// A chain that begins again ends the call of its feed that is under way: the feed is asked
// from the new beginning.
func TestResyncEndsTheCallOfAFeed(t *testing.T) {
	held := map[market.ChainID]heldFeed{}
	th := newTestNode(t, func(f feed.Feed) feed.Feed {
		h := heldFeed{f, make(chan struct{}, 100)}
		held[market.ChainID(len(held)+1)] = h
		return h
	})

	for n := range 3 {
		select {
		case <-held[1].calls:
		case <-time.After(15 * time.Second):
			t.Fatalf("after %d resyncs the feed is not asked", n)
		}
		if err := th.node.Resync(1); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(held[2].calls); n > 1 {
		t.Errorf("the feed of another chain was asked %d times; want once", n)
	}
}

type tooDeepFeed struct{ feed.Feed }

func (tooDeepFeed) Next(context.Context, feed.Cursor) (feed.Step, error) {
	return feed.Step{}, feed.ErrTooDeep
}

func TestTooDeepStops(t *testing.T) {
	th := newTestNode(t, func(f feed.Feed) feed.Feed { return tooDeepFeed{f} })
	c := th.await(1, "stopped", func(c *rankings.Chain) bool { return c.Status.Stopped })
	if c.Status.StopReason != feed.ErrTooDeep.Error() {
		t.Errorf("it stopped because of %q", c.Status.StopReason)
	}
}

func TestOperatorsOrders(t *testing.T) {
	th := newTestNode(t, plain)
	first := th.await(1, "served", served).View
	if err := th.node.SetOffline(1, true); err != nil {
		t.Fatal(err)
	}
	th.await(1, "offline", func(c *rankings.Chain) bool { return c.Status.Offline })
	if err := th.node.SetOffline(1, false); err != nil {
		t.Fatal(err)
	}

	if err := th.node.Resync(1); err != nil {
		t.Fatal(err)
	}
	again := th.await(1, "resynchronised", func(c *rankings.Chain) bool { return served(c) && c.View != first }).View
	if again.Generation <= first.Generation || again.State.Head != first.State.Head {
		t.Errorf("after a resync generation %d is of %+v; want one after %d, of %+v",
			again.Generation, again.State.Head, first.Generation, first.State.Head)
	}

	if err := th.node.SetOffline(9, true); err == nil {
		t.Error("chain 9 was switched")
	}
}

// TestCommandsAreAnswered checks that an operator is answered where a chain is not open, and
// where a command panics.
func TestCommandsAreAnswered(t *testing.T) {
	a := new(chainActor)
	a.chainConfig.Ledger.Chain = 7
	f := func(do func(*chainActor) error, want string) {
		t.Helper()
		reply := make(chan error, 1)
		func() {
			defer func() { _ = recover() }() // as the actor's middleware does
			command{do, reply}.run(a)
		}()
		if err := <-reply; err == nil || err.Error() != want {
			t.Errorf("answered %v; want %s", err, want)
		}
	}

	notOpen := "chain 7 is not open; the log says what it waits for"
	f(func(a *chainActor) error { return a.setOffline(true) }, notOpen)
	f((*chainActor).resync, notOpen)
	f(func(*chainActor) error { panic("lost") }, "the command failed, and its chain is opened again; the log says why")
}

// A chain is rebuilt from its archive, if it has one, and only once it is loaded.
func TestRebuild(t *testing.T) {
	th := newTestNode(t, plain)
	first := th.await(1, "served", served).View
	f := func(what, want string, change func(a *chainActor) (back func())) {
		t.Helper()
		err := th.node.command(1, func(a *chainActor) error {
			defer change(a)()
			return a.rebuild()
		})
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v; want %q", what, err, want)
		}
	}
	kept := new(archive.Archive)

	f("without an archive", "chain 1 has no archive of spans; `tidemark chains resync 1` indexes it from its feed",
		func(*chainActor) func() { return func() {} })
	f("before it is opened", "chain 1 is not open; the log says what it waits for", func(a *chainActor) func() {
		opened := a.chain
		a.chain, a.chainConfig.Archive = nil, kept
		return func() { a.chain, a.chainConfig.Archive = opened, nil }
	})
	f("while it loads", "the chain's records are still loading; try again in a few seconds", func(a *chainActor) func() {
		opened := a.chain
		a.chain, a.chainConfig.Archive = new(chain.Chain), kept
		return func() { a.chain, a.chainConfig.Archive = opened, nil }
	})
	f("from its archive", "", func(a *chainActor) func() {
		a.chainConfig.Archive = kept
		return func() { a.chainConfig.Archive = nil }
	})
	again := th.await(1, "rebuilt", func(c *rankings.Chain) bool { return served(c) && c.View != first }).View
	if again.Generation <= first.Generation || again.State.Head != first.State.Head {
		t.Errorf("generation %d of %+v is rebuilt as %d of %+v", first.Generation, first.State.Head, again.Generation,
			again.State.Head)
	}
	if err := th.node.Rebuild(9); err == nil || err.Error() != "chain 9 is not enabled on this node" {
		t.Errorf("a chain that is not there: %v", err)
	}
}

// gatedFeed does not answer before the gate is opened.
type gatedFeed struct {
	feed.Feed
	gate chan struct{}
}

func (g gatedFeed) Next(ctx context.Context, c feed.Cursor) (feed.Step, error) {
	select {
	case <-g.gate:
		return g.Feed.Next(ctx, c)
	case <-ctx.Done():
		return feed.Step{}, ctx.Err()
	}
}

// While the store takes no writes a chain waits, and it goes on within 2 s of
// the moment at which there is room again, however long that took.
func TestReadOnlySpell(t *testing.T) {
	gate := make(chan struct{})
	th := newTestNode(t, func(f feed.Feed) feed.Feed { return gatedFeed{f, gate} })
	var full atomic.Bool
	full.Store(true)
	found := make(map[market.ChainID]*atomic.Int64) // when a chain saw that there is room
	for id := range th.node.chains {
		at := new(atomic.Int64)
		found[id] = at
		err := th.node.command(id, func(a *chainActor) error {
			a.readOnly = func() bool {
				if full.Load() {
					return true
				}
				at.CompareAndSwap(0, time.Now().UnixNano())
				return false
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	close(gate)
	time.Sleep(1500 * time.Millisecond) // the market is read, and waits to be committed
	for id := range th.node.chains {
		if c, ok := th.board.Load().Chain(id); !ok || c.View != nil || c.Status.Stopped {
			t.Fatalf("chain %d is %+v; want one that waits", id, c)
		}
	}

	began := time.Now()
	full.Store(false)
	for id, at := range found {
		th.await(id, "served", served) // at once then, but not on a busy machine
		if took := time.Unix(0, at.Load()).Sub(began); took > 2*time.Second {
			t.Errorf("chain %d goes on %s after there was room; want 2 s at most", id, took)
		}
	}
}

// A tick that was replaced by another one starts no ticks of its own.
func TestReplacedTicks(t *testing.T) {
	const replaced = 200
	th := newTestNode(t, plain)
	th.await(1, "served", served)

	var before uint64
	_ = th.node.command(1, func(x *chainActor) error {
		before = x.ticks
		for range replaced {
			x.send(refresh{x.epoch, before - 1})
		}
		return nil
	})
	_ = th.node.command(1, func(x *chainActor) error {
		if set := x.ticks - before; set >= replaced {
			t.Errorf("%d replaced ticks set %d new ones", replaced, set)
		}
		return nil
	})
}

// A block at the chain's head is published when it comes, if the last refresh is long
// enough ago, and does not wait for the tick.
func TestBlocksArePublishedAtOnce(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	th := &testNode{t: t, store: store, set: metrics.NewSet()}
	f := &fleet{t: t, now: time.Unix(1_767_312_000+2*market.Day, 0)}
	spec := f.spec(th.set, quiet)
	spec.Config.Shared = false
	th.node, err = Start(Config{
		Store: store, Board: &th.board, Every: time.Hour,
		Clock: accounts.NewClock(time.Now()), Metrics: th.set, Log: quiet,
	}, []ChainSpec{spec})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(th.node.Stop(context.Background()), store.Close()); err != nil {
			t.Error(err)
		}
	})

	first := th.await(1, "served", served).View
	f.advance(time.Minute)
	second := th.await(1, "published anew", func(c *rankings.Chain) bool { return served(c) && c.View != first }).View
	f.advance(time.Minute)
	next := th.await(1, "ahead of its view", func(c *rankings.Chain) bool {
		return c.Status.LastIndexed.Number > second.State.Head.Number
	})
	if next.View != second {
		t.Errorf("generation %d was published with the last refresh less than an hour ago", next.View.Generation)
	}
}
