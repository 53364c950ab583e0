package actors

import (
	"testing"

	"tidemark/rankings"
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
}
