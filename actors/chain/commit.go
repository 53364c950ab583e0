package chain

import (
	"time"

	"tidemark/storage"
)

// A chain that catches up applies the spans of the next cut while the last one is
// written: the ledger's processor does not wait for the disk, nor the disk for the
// ledger. One cut is under way at a time, so they reach the store whole and in order,
// as without it, and memory holds the changes of two.
//
// The ledger may then be two cuts ahead of the store instead of one. It makes no
// difference to what a failure means: nothing that is ahead of the store is published,
// and the chain is restored from the store. A chain whose cut could not be written
// writes no other, which would leave a hole.

// commit writes a cut and waits for it.
func (c *Chain) commit(cut *storage.Cut, clock func() time.Time) error {
	if c.failed == nil {
		c.failed = c.unkept
	}
	if c.failed != nil {
		return c.failed
	}

	var took time.Duration
	if took, c.failed = c.write(cut, clock); c.failed != nil {
		return c.failed
	}
	c.backlog = 0
	c.waited += took
	return nil
}

// announce tells readers of the store if the cut that is about to be written replaces
// blocks. recall takes that back and is to be called if the cut cannot be written.
func (c *Chain) announce(generation uint64, reverted bool) (recall func()) {
	if !reverted {
		return func() {}
	}
	return c.board.Announce(c.ID(), generation)
}

// commitInBackground starts to write a cut and does not wait for it, if there is a
// Config.Background. awaitCut must have been called since the last one.
func (c *Chain) commitInBackground(cut *storage.Cut, clock func() time.Time) error {
	if c.Background == nil || c.unkept != nil {
		return c.commit(cut, clock)
	}

	c.writing = c.Background(func() error {
		_, err := c.write(cut, clock)
		return err
	})
	c.backlog = 0
	return nil
}

// write makes a cut durable, after what the archive has of it. It reads nothing of the
// chain that changes, so that the chain may go on meanwhile.
func (c *Chain) write(cut *storage.Cut, clock func() time.Time) (took time.Duration, err error) {
	started := clock()
	if c.Archive != nil {
		if err := c.Archive.Sync(); err != nil {
			return 0, err
		}
	}
	if err := c.store.Commit(cut); err != nil {
		return 0, err
	}

	took = clock().Sub(started)
	c.Metrics.commit.Update(took.Seconds())
	return took, nil
}

// awaitCut waits for the cut that is being written and notes how long that took.
func (c *Chain) awaitCut(clock func() time.Time) error {
	c.waited = 0
	if c.writing == nil {
		return c.failed
	}

	started := clock()
	err := c.Settle()
	c.waited = clock().Sub(started)
	return err
}

// Settle waits until no cut is being written. It returns why one could not be, also an
// earlier one: the chain has to be restored then. A chain that is let go must be
// settled before its store is opened again, replaced or closed.
func (c *Chain) Settle() error {
	if c.writing != nil {
		c.failed = <-c.writing
		c.writing = nil
	}
	return c.failed
}

// Failed reports whether a cut could not be written. It does not wait for one that is
// being written. Refresh returns the error.
func (c *Chain) Failed() bool {
	select {
	case c.failed = <-c.writing:
		c.writing = nil
	default: // also if there is none
	}
	return c.failed != nil
}

// Waited returns how long the last refresh waited for cuts to be written.
func (c *Chain) Waited() time.Duration { return c.waited }

// Backlog returns how many events wait to be written. Those of the cut that is being
// written do not count.
func (c *Chain) Backlog() int { return c.backlog }
