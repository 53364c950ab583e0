package chain

import "time"

// writerClock tells times of the writer's clock by this node's. Both count steadily from the
// start of their process, so one is ahead of the other by the same time for as long as both
// run, however wrong either is. A message takes time: the fastest one tells how far.
type writerClock struct {
	id       int64 // names the clock: when the writer opened the chain, by it; 0: none is known
	behindMs int64 // how far it is behind this node's clock; negative: ahead
}

// driftMs is how far two clocks may drift apart from one beat to the next. Beats come every
// few seconds at most, and clocks drift less than 200 µs a second.
const driftMs = 1

// hear learns from a message that was sent at a time of the writer's clock.
func (w *writerClock) hear(id, sent int64, now time.Time) {
	behind := now.UnixMilli() - sent
	if id == w.id {
		behind = min(behind, w.behindMs+driftMs)
	}
	*w = writerClock{id, behind}
}

// onOwnClock converts a time of the writer with a clock to this node's. Zero stays zero, and
// of a writer that names no clock it is taken as it is. While the clock is not known, a time
// that is yet to come is not believed.
func (c *Chain) onOwnClock(id, milli int64, now time.Time) int64 {
	switch {
	case milli == 0 || id == 0:
		return milli
	case id == c.writer.id:
		return min(milli+c.writer.behindMs, now.UnixMilli())
	}
	return c.believe(milli, now)
}
