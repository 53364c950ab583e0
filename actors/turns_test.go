package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/chain"
	"tidemark/actors/cluster"
	"tidemark/actors/cluster/natstest"
	"tidemark/actors/feed"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// A refresh is followed by a pause of at least five times its length.
func TestPauseAfterRefresh(t *testing.T) {
	f := func(every, took, want time.Duration) {
		t.Helper()
		if got := pauseAfter(every, took); got != want {
			t.Errorf("a refresh of %s, every %s: pause %s; want %s", took, every, got, want)
		}
	}

	f(time.Second, 0, time.Second)
	f(time.Second, 200*time.Millisecond, time.Second)
	f(time.Second, 201*time.Millisecond, 1005*time.Millisecond)
	f(time.Second, time.Minute, 5*time.Minute)
}

// The pause before a restore doubles from a second to a minute.
func TestPauseGrows(t *testing.T) {
	pause := time.Duration(0)
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		if pause = nextPause(pause); pause != want*time.Second {
			t.Errorf("the pause is %s; want %d s", pause, want)
		}
	}
}

// A chain that fails again and again waits longer each time.
func TestFailingChainWaitsLonger(t *testing.T) {
	th := newTestNode(t, plain)
	th.await(1, "served", served)
	a := th.node.chains[1]
	pauses := make(chan time.Duration, 1)

	for _, want := range []time.Duration{time.Second, 2 * time.Second} {
		reply := make(chan error, 1)
		a.send(command{func(a *chainActor) error {
			a.restoreLater()
			pauses <- a.pause
			return nil
		}, reply})
		if got := <-pauses; got != want {
			t.Errorf("the pause is %s; want %s", got, want)
		}
	}
}

// Only one chain refreshes at a time, and it holds its turn until what it made is
// committed.
func TestOneRefreshAtATime(t *testing.T) {
	var slot atomic.Pointer[chan struct{}]
	var inside, commits atomic.Int32
	gate := make(chan struct{})
	quiet := slog.New(slog.DiscardHandler)
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: quiet,
		Tee: func(id market.ChainID, _, _ []byte) ([]byte, error) {
			if commits.Add(1); inside.Add(1) > 1 {
				t.Errorf("chain %d commits beside another one", id)
			}
			time.Sleep(50 * time.Millisecond) // for the other chain to come in
			if len(*slot.Load()) == 0 {
				t.Errorf("chain %d gave its turn away before its commit", id)
			}
			inside.Add(-1)
			return nil, nil
		}})
	if err != nil {
		t.Fatal(err)
	}

	th := startTestNode(t, store, func(f feed.Feed) feed.Feed { return gatedFeed{f, gate} })
	turn := th.node.chains[1].slot
	if turn != th.node.chains[2].slot || cap(turn) != 1 {
		t.Fatal("the chains do not share one slot")
	}
	slot.Store(&turn)
	turn <- struct{}{} // as a chain that refreshes
	close(gate)
	time.Sleep(300 * time.Millisecond)
	for _, c := range th.board.Load().Chains {
		if c.View != nil {
			t.Errorf("chain %d was refreshed beside another one", c.ID)
		}
	}

	<-turn
	th.await(1, "served", served)
	th.await(2, "served", served)
	turn <- struct{}{} // every refresh has left it
	<-turn
	if commits.Load() < 2 {
		t.Errorf("%d commits were seen; want one of each chain", commits.Load())
	}
}

// A message of an earlier epoch is about a chain that has been opened again since,
// so it is dropped.
func TestEarlierEpochs(t *testing.T) {
	th := newTestNode(t, plain)
	th.await(1, "served", served)
	a := th.node.chains[1]
	state := func() (epoch, ticks uint64, opened *chain.Chain, stopped bool) {
		reply := make(chan error, 1)
		a.send(command{func(a *chainActor) error {
			epoch, ticks, opened, stopped = a.epoch, a.ticks, a.chain, a.chain.Status().Stopped
			return nil
		}, reply})
		<-reply
		return epoch, ticks, opened, stopped
	}
	if err := th.node.Resync(1); err != nil {
		t.Fatal(err)
	}
	th.await(1, "served", served)

	broken := errors.New("of an earlier epoch")
	for _, message := range []any{
		open{0}, loaded{0, broken}, fetched{0, feed.Step{}, fmt.Errorf("%w: %w", feed.ErrTooDeep, broken)},
	} {
		epoch, _, opened, _ := state()
		a.send(message)
		if e, _, c, stopped := state(); e != epoch || c != opened || stopped {
			t.Errorf("%T: epoch %d became %d, the chain is another: %t; stopped: %t", message, epoch, e,
				c != opened, stopped)
		}
	}

	for range 100 { // a tick of the present epoch may come between
		epoch, ticks, _, _ := state()
		a.send(refresh{epoch - 1, ticks})
		if _, now, _, _ := state(); now == ticks {
			return
		}
	}
	t.Error("a refresh of an earlier epoch was done")
}

// After a refresh the next one waits five times as long as it took, unless the disk hung.
func TestPaceFollowsTheWork(t *testing.T) {
	var slow atomic.Int64 // a commit
	store, err := storage.Open(t.TempDir(), storage.Options{
		Logger: slog.New(slog.DiscardHandler),
		Tee: func(market.ChainID, []byte, []byte) ([]byte, error) {
			time.Sleep(time.Duration(slow.Load()))
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	th := startTestNode(t, store, plain)
	head := th.await(1, "served", served).View.State.Head
	f := func(commit, counted time.Duration) {
		t.Helper()
		slow.Store(int64(commit))
		err := th.node.command(1, func(a *chainActor) error {
			if err := shorten(a); err != nil {
				return err
			}
			began := time.Now()
			a.handleTick()
			took := time.Since(began)

			// On a busy machine all else may take long, and its disk may hang.
			if a.chain.Waited() > hungCommit {
				counted = 0
			}
			rest, least := a.refreshAt.Sub(began), commit+pauseAfter(a.Every, counted)
			if most := took + pauseAfter(a.Every, took-commit+counted); rest < least || rest > most {
				t.Errorf("after a commit of %s the next refresh is %s after the last began; want %s to %s",
					commit, rest, least, most)
			}
			slow.Store(0)
			return a.resync()
		})
		if err != nil {
			t.Fatal(err)
		}
		th.await(1, "served", func(c *rankings.Chain) bool { return served(c) && c.View.State.Head == head })
	}

	f(100*time.Millisecond, 100*time.Millisecond)
	f(hungCommit+10*time.Millisecond, 0)
}

// Whatever a chain does, its next tick is set, once.
func TestTicksGoOn(t *testing.T) {
	th := newTestNode(t, plain)
	head := th.await(1, "served", served).View.State.Head
	err := th.node.command(1, func(a *chainActor) error {
		f := func(what string, do func()) {
			t.Helper()
			before := a.ticks
			if do(); a.ticks != before+1 {
				t.Errorf("%s: %d ticks are set; want 1", what, a.ticks-before)
			}
		}

		f("a tick", a.handleTick)
		a.readOnly = func() bool { return true }
		f("a tick on a full disk", a.handleTick)
		a.readOnly = func() bool { return false }
		f("blocks that are read again", func() { a.mend(head.Number, head.Number) })
		f("a resync", func() {
			if err := a.resync(); err != nil {
				t.Error(err)
			}
		})
		f("a chain that is loaded", func() { a.finishLoading(nil) })
		return a.resync()
	})
	if err != nil {
		t.Fatal(err)
	}
	th.await(1, "served again", served)
}

// A chain that has not reached its head yet commits now and then only, and at once when it
// has.
func TestCommitsWhileWaiting(t *testing.T) {
	var commits atomic.Int32
	store, err := storage.Open(t.TempDir(), storage.Options{
		Logger: slog.New(slog.DiscardHandler),
		Tee: func(id market.ChainID, _, _ []byte) ([]byte, error) {
			if id == 1 {
				commits.Add(1)
			}
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	th := startTestNode(t, store, plain)
	th.await(1, "served", served)

	err = th.node.command(1, func(a *chainActor) error {
		if err := a.resync(); err != nil {
			return err
		}
		f := func(what string, head market.Head, want int32) {
			t.Helper()
			before := commits.Load()
			a.handleStep(feed.Step{Head: head}, nil)
			if got := commits.Load() - before; got != want || a.chain.Waiting() != (want == 0) {
				t.Errorf("%s: %d commits, it waits: %t; want %d", what, got, a.chain.Waiting(), want)
			}
		}
		f("far from the head", market.Head{Number: 1 << 30, Time: time.Now().Unix()}, 0)
		f("nearer", market.Head{Number: 1 << 30, Time: time.Now().Unix() - market.Day}, 0)
		f("no head is told", market.Head{}, 0)
		f("one block behind", market.Head{Number: 1}, 1)
		return a.resync()
	})
	if err != nil {
		t.Fatal(err)
	}
	th.await(1, "served again", served)
}

// contextFeed keeps the contexts of its calls.
type contextFeed struct {
	feed.Feed
	mu   sync.Mutex
	list []context.Context
}

func (f *contextFeed) Next(ctx context.Context, c feed.Cursor) (feed.Step, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, ctx)
	return f.Feed.Next(ctx, c)
}

// What a call of a feed has begun ends with the call, whatever comes of it.
func TestCallsOfAFeedEnd(t *testing.T) {
	var feeds []*contextFeed
	th := newTestNode(t, func(f feed.Feed) feed.Feed {
		feeds = append(feeds, &contextFeed{Feed: f})
		return feeds[len(feeds)-1]
	})
	th.await(1, "served", served)
	open := func() (n, all int) {
		feeds[0].mu.Lock()
		defer feeds[0].mu.Unlock()
		for _, ctx := range feeds[0].list {
			if ctx.Err() == nil {
				n++
			}
		}
		return n, len(feeds[0].list)
	}

	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		n, all := open()
		if all > 2 && n <= 1 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("of %d calls %d have not ended", all, n)
		}
	}
}

// A command for the writer of a chain names the node that writes it, or says that none does.
func TestCommandsForTheWriter(t *testing.T) {
	servers := natstest.Start(t, 1, false)
	c, err := cluster.Open(t.Context(), cluster.Config{
		Servers: servers.URLs(), Name: "a", Insecure: true, Metrics: metrics.NewSet(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)

	a := &chainActor{ctx: t.Context()}
	a.chainConfig.Ledger.Chain = 7
	if a.member, err = c.Chain(7, false, nil); err != nil {
		t.Fatal(err)
	}
	f := func(want string) {
		t.Helper()
		want = "this node follows chain 7; run the command on the node that writes it: " + want
		if err := a.errFollows(); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}

	f("none at the moment")
	lead(t, servers.URLs()[0], "7", "b")
	f("b")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	a.ctx = ended // no answer comes
	f("none at the moment")
}

// lead notes at the servers that a node writes a chain.
func lead(t *testing.T, url, chain, node string) {
	t.Helper()
	leaders, err := natstest.JetStream(t, url).KeyValue(t.Context(), "TIDEMARK_LEADERS")
	if err == nil {
		_, err = leaders.PutString(t.Context(), chain, node)
	}
	if err != nil {
		t.Fatal(err)
	}
}
