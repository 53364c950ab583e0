package actors

import (
	"context"
	"errors"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings"
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

// Only one chain refreshes at a time.
func TestOneRefreshAtATime(t *testing.T) {
	gate := make(chan struct{})
	th := newTestNode(t, func(f feed.Feed) feed.Feed { return gatedFeed{f, gate} })
	slot := th.node.chains[1].slot
	if slot != th.node.chains[2].slot || cap(slot) != 1 {
		t.Fatal("the chains do not share one slot")
	}

	slot <- struct{}{} // as a chain that refreshes
	close(gate)
	time.Sleep(300 * time.Millisecond)
	for _, c := range th.board.Load().Chains {
		if c.View != nil {
			t.Errorf("chain %d was refreshed beside another one", c.ID)
		}
	}

	<-slot
	th.await(1, "served", served)
	th.await(2, "served", served)
	slot <- struct{}{} // every refresh has left it
	<-slot
}

// brokenFeed never answers without an error.
type brokenFeed struct{ feed.Feed }

func (brokenFeed) Next(ctx context.Context, _ feed.Cursor) (feed.Step, error) {
	select {
	case <-time.After(time.Millisecond):
	case <-ctx.Done():
	}
	return feed.Step{}, errors.New("the node is down")
}

// The status says since when a feed has failed, and the first failure counts.
func TestFailingSince(t *testing.T) {
	began := time.Now().UnixMilli()
	th := newTestNode(t, func(f feed.Feed) feed.Feed { return brokenFeed{f} })
	failing := func(c *rankings.Chain) bool { return c.Status.FailingSince != 0 }
	since := th.await(1, "failing", failing).Status.FailingSince
	time.Sleep(50 * time.Millisecond)
	if again := th.await(1, "failing", failing).Status.FailingSince; again != since || since < began {
		t.Errorf("failing since %d, later since %d; want one time after %d", since, again, began)
	}
}
