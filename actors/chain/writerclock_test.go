package chain

import (
	"testing"
	"time"
)

// A follower tells how old data is by its own clock, however far that of the writer is off.
func TestClocksOfNodesDiffer(t *testing.T) {
	f := func(ahead time.Duration) {
		t.Helper()
		s, writer, follower := newShared(t)
		follower.now = writer.now.Add(-ahead)
		clock := func(on *stage) func() time.Time { return func() time.Time { return on.now } }
		turn := func(after, late time.Duration) {
			t.Helper()
			writer.now = writer.now.Add(after)
			writer.follow()
			if err := writer.chain.Refresh(clock(writer), func() {}); err != nil {
				t.Fatal(err)
			}
			beat, err := writer.chain.Beat(writer.now)
			if err != nil {
				t.Fatal(err)
			}

			follower.now = follower.now.Add(after + late)
			cut := s.cuts[len(s.cuts)-1]
			if err := follower.chain.Take(cut.batch, cut.note, cut.place, clock(follower), func() {}); err != nil {
				t.Fatal(err)
			}
			if err := follower.chain.Hear(beat, follower.now); err != nil {
				t.Fatal(err)
			}
			follower.now = follower.now.Add(-late)
		}
		check := func(what string, age time.Duration) {
			t.Helper()
			c, _ := follower.board.Load().Chain(1)
			if got := follower.now.Sub(time.UnixMilli(c.View.Confirmed())); (got - age).Abs() > 10*time.Millisecond {
				t.Errorf("a writer %s ahead: %s, data is %s old; want %s", ahead, what, got, age)
			}
			indexed, told := time.UnixMilli(c.Status.LastIndexedAt), time.UnixMilli(c.View.Changes.At)
			if max(follower.now.Sub(indexed)-age, follower.now.Sub(told)-age).Abs() > 10*time.Millisecond {
				t.Errorf("a writer %s ahead: %s, at %s it was indexed at %s, and told of at %s",
					ahead, what, follower.now, indexed, told)
			}
		}

		turn(time.Minute, 0)
		turn(time.Minute, 0)
		check("after a beat", 0)
		turn(time.Minute, 30*time.Second)
		check("after a beat that came late", 0)
		follower.now = follower.now.Add(50 * time.Second)
		check("without a beat", 50*time.Second)
	}

	for _, ahead := range []time.Duration{0, time.Second, -time.Second, 10 * time.Minute, -10 * time.Minute} {
		f(ahead)
	}
}

// Until the writer's clock is known, no time is believed that is yet to come. A writer of an
// earlier build, which names no clock, is believed as it is.
func TestTimesOfTheWriter(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	c := &Chain{Config: Config{UnavailableAfter: 10 * time.Second}}
	f := func(id, milli, want int64) {
		t.Helper()
		if got := c.onOwnClock(id, milli, now); got != want {
			t.Errorf("%d by clock %d is %d; want %d", milli, id, got, want)
		}
	}

	f(0, 1_800_000_000_001, 1_800_000_000_001)
	f(7, 0, 0)
	f(7, 5, 5)
	f(7, 1_800_000_000_001, 1_799_999_995_000)

	// The fastest message tells how far a clock is off, until there is another clock. Clocks
	// drift.
	c.writer.hear(7, 1_800_000_003_000, now)
	f(7, 1_800_000_002_000, 1_799_999_999_000)
	c.writer.hear(7, 1_800_000_003_000, now.Add(time.Second))
	f(7, 1_800_000_002_000, 1_799_999_999_001)
	f(7, 1_800_000_009_000, 1_800_000_000_000)
	c.writer.hear(8, 1_799_999_000_000, now)
	f(8, 1_799_999_000_000, 1_800_000_000_000)
}
