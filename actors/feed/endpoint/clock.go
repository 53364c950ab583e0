package endpoint

import (
	"context"
	"time"
)

// Clock is where time comes from. Fields that are nil are the system's.
type Clock struct {
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error // ends early with ctx's error
}

// OrSystem returns the clock with the system's functions where it has none.
func (c Clock) OrSystem() Clock {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	return c
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(max(d, 0))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
