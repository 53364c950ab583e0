package rpc

import (
	"context"
	"time"
)

// Clock is where a Feed takes time from. Fields that are nil are the system's.
type Clock struct {
	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error // ends early with ctx's error
}

func (c Clock) orSystem() Clock {
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

// Pauses after failures: the first is about a quarter of a second, so that a
// single lost answer costs little; the longest keeps a dead node cheap and
// still lets a healed one be noticed within a minute.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = time.Minute
)

// pause returns how long to wait after so many failures in a row: doubled each
// time, of which between half and all, by rand in [0, 1).
func pause(failures int, rand float64) time.Duration {
	d := longestPause
	if n := max(failures-1, 0); n < 8 {
		d = min(firstPause<<n, longestPause)
	}
	return d/2 + time.Duration(rand*float64(d/2))
}
