package actors

import (
	"errors"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// A difference is mended in steps: what can be taken back is read again, then
// everything is, and then nothing more is tried until a comparison finds none.
func TestMending(t *testing.T) {
	th := newTestNode(t, plain)
	first := th.await(1, "served", served).View
	tell := func(different int) (now mending) {
		t.Helper()
		result := &rankings.Verification{Block: first.State.Head.Number, Different: different}
		if different > 0 {
			result.Differences = []rankings.Difference{{What: "pool", FromBlock: 1}}
		}
		err := th.node.command(1, func(a *chainActor) error {
			a.handleVerification(result)
			now = a.mended
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return now
	}

	if got := tell(0); got != notMended {
		t.Errorf("a comparison without a difference leads to step %d", got)
	}
	for got := tell(1); got != resynced; got = tell(1) {
		if got != reread {
			t.Fatalf("a difference leads to step %d", got)
		}
	}
	again := th.await(1, "indexed anew", func(c *rankings.Chain) bool {
		return served(c) && c.View.Generation > first.Generation
	}).View
	if again.State.Head != first.State.Head {
		t.Errorf("indexed anew up to %+v; want %+v", again.State.Head, first.State.Head)
	}

	// It still differs: the chain goes on serving, and is not indexed for ever.
	if got := tell(1); got != resynced {
		t.Errorf("the third difference leads to step %d", got)
	}
	c := th.await(1, "served", served)
	if c.View.Generation != again.Generation || c.Status.Verified.Different != 1 {
		t.Errorf("generation %d with %+v", c.View.Generation, c.Status.Verified)
	}
	if got := tell(0); got != notMended {
		t.Errorf("a comparison without a difference leads to step %d", got)
	}

	// Where nothing can be taken back, a small chain is indexed anew at once.
	err := th.node.command(1, func(a *chainActor) error {
		err := a.resync()
		if a.mend(1, 1); a.mended != resynced {
			t.Errorf("a chain that has only begun leads to step %d", a.mended)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A span that the ledger refuses is read again. If that is of no use, a small chain is
// resynced, once, and then the chain stops; it stops at once if its feed computes what
// happens, or if the error is another one.
func TestRefusedSpans(t *testing.T) {
	th := newTestNode(t, plain)
	th.await(1, "served", served)
	refused, broken := error(&ledger.Mismatch{}), errors.New("out of order")
	f := func(what string, err error, simulated bool, mended mending, goesOn, stopped bool, after mending) {
		t.Helper()
		problem := th.node.command(1, func(a *chainActor) error {
			if err := a.resync(); err != nil {
				return err
			}
			a.chainConfig.WantsState, a.mended = simulated, mended
			a.chain.WantsState = !goesOn
			got := a.handleRefused(feed.Step{Span: &market.Span{To: 1}}, err)
			if got != goesOn || a.chain.Status().Stopped != stopped || a.mended != after {
				t.Errorf("%s: goes on %t, stopped %t, step %d; want %t, %t, %d",
					what, got, a.chain.Status().Stopped, a.mended, goesOn, stopped, after)
			}
			a.chainConfig.WantsState, a.chain.WantsState = true, true
			return nil
		})
		if problem != nil {
			t.Fatal(problem)
		}
	}

	f("it can be read again", refused, false, notMended, true, false, notMended)
	f("it cannot", refused, false, notMended, false, false, resynced)
	f("after other blocks were read again", refused, false, reread, false, false, resynced)
	f("the chain was resynced", refused, false, resynced, false, true, resynced)
	f("a simulated market", refused, true, notMended, false, true, notMended)
	f("another error", broken, false, notMended, false, true, notMended)
}

// A chain that stopped is tried again, later each time, and goes on once its feed says what
// can follow.
func TestStoppedChainIsTriedAgain(t *testing.T) {
	th := newTestNode(t, plain)
	th.await(1, "served", served)
	err := th.node.command(1, func(a *chainActor) error {
		a.chainConfig.WantsState, a.mended = false, resynced
		f := func(want time.Duration) {
			t.Helper()
			a.handleRefused(feed.Step{}, &ledger.Mismatch{})
			if got := a.patience; got != want || !a.chain.Status().Stopped {
				t.Errorf("stopped is %t, tried again in %s; want %s", a.chain.Status().Stopped, got, want)
			}
		}
		f(time.Minute)
		a.mended = notMended // a comparison found no difference: it is not resynced once more
		f(2 * time.Minute)
		a.mended = resynced
		f(4 * time.Minute)
		a.patience = 50 * time.Minute
		f(time.Hour)

		if err := a.chain.Advance(feed.Step{Head: a.chain.Status().ChainHead}, a.now()); err != nil {
			return err
		}
		f(time.Minute)
		a.beginEpoch()
		a.tryAgain()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	th.await(1, "going on", func(c *rankings.Chain) bool { return !c.Status.Stopped })
}

// shorten takes the newest blocks of a chain away for good, so that it has something to
// publish.
func shorten(a *chainActor) error {
	to := a.chain.Cursor().Anchors[1]
	return a.chain.Advance(feed.Step{RevertTo: &to, Head: to}, time.Now())
}

// A block is published without waiting for the tick if it is the head, there is room on
// the disk, and the last refresh was long enough ago.
func TestPublishesNow(t *testing.T) {
	th := newTestNode(t, plain)
	head := th.await(1, "served", served).View.State.Head
	err := th.node.command(1, func(a *chainActor) error {
		f := func(what string, want bool) {
			t.Helper()
			if got := a.publishesNow(); got != want {
				t.Errorf("%s: publishes at once: %t; want %t", what, got, want)
			}
		}

		a.refreshAt = time.Time{}
		f("nothing is new", false)
		if err := shorten(a); err != nil {
			return err
		}
		f("blocks were taken back", true)
		a.refreshAt = time.Now().Add(time.Hour)
		f("the last refresh was just now", false)
		a.refreshAt = time.Time{}
		a.readOnly = func() bool { return true }
		f("the disk is full", false)
		a.readOnly = func() bool { return false }
		f("there is room again", true)
		ahead := market.Head{Number: head.Number + 1, Time: head.Time}
		if err := a.chain.Advance(feed.Step{Head: ahead}, time.Now()); err != nil {
			return err
		}
		f("the head is ahead", false)
		err := a.resync()
		f("the head is not known", false)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
