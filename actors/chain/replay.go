package chain

import (
	"cmp"
	"context"
	"errors"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/archive"
)

// replayBacklog is how many events a replay applies between two commits: enough that
// a commit costs little for each of them, in some megabytes of memory.
const replayBacklog = 50_000

// Replay takes the chain to the end of an archive, commits it and publishes its
// generation. told is called with the last step whenever a commit has begun; clock tells
// the time.
func (c *Chain) Replay(
	ctx context.Context, source feed.Feed, clock func() time.Time, told func(feed.Step),
) (err error) {
	defer func() { err = cmp.Or(err, c.Settle()) }()
	for {
		step, err := source.Next(ctx, c.Cursor())
		if errors.Is(err, archive.ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		if err := c.Advance(step, clock()); err != nil {
			return err
		}
		if c.backlog > replayBacklog {
			if err := c.Refresh(clock, func() {}); err != nil {
				return err
			}
			told(step)
		}
	}

	// A reader of the archive's end sees the chain as it was then.
	c.status.Syncing = false
	return c.Refresh(clock, func() {})
}
