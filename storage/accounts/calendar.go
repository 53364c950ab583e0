package accounts

import "time"

// Clock is the node's clock: the time of the start plus what the monotonic
// clock has counted since, so that steps of the wall clock move no quota and
// make no data fresh.
type Clock struct {
	start   time.Time
	startNs int64
}

// NewClock starts the clock at a reading that carries a monotonic time.
func NewClock(start time.Time) Clock { return Clock{start, start.UnixNano()} }

// At is the quota clock, in Unix nanoseconds, when the reading was taken.
func (c *Clock) At(t time.Time) int64 { return c.startNs + int64(t.Sub(c.start)) }

// Time is the reading as this clock has it.
func (c *Clock) Time(t time.Time) time.Time { return time.Unix(0, c.At(t)) }

// ClockState is what is known of the wall clock.
type ClockState struct {
	// Offset is how far the wall clock is ahead of the node's clock or, when a
	// chain's head is later than both, of that head.
	Offset     time.Duration
	Mistrusted bool
}

// Calendar is the month that admissions are charged to. It is immutable; the
// metering side replaces it.
type Calendar struct {
	This, Next Span
	// Turns tells whether Next may begin when This has ended.
	Turns bool
}

// At is the month of an admission at a time on the quota clock.
func (c *Calendar) At(now int64) *Span {
	if now >= c.This.EndNs && c.Turns {
		return &c.Next
	}
	return &c.This
}

// Rules of the month's turn.
const (
	// clockSlack is how far wall and quota clock may be apart.
	clockSlack = int64(5 * time.Minute)
	// clockTrust is how long they must have agreed before a month turns.
	clockTrust = int64(10 * time.Minute)
	// turnPause is the shortest month: the slot of a month is used again two
	// months later, and by then no request of it may be unsettled.
	turnPause = int64(time.Minute)
)

// Turner decides when months turn. The month never goes back: it starts at
// the later of what the clock says and what was charged before.
type Turner struct {
	month      Month
	turnedAt   int64
	mistrustAt int64 // when the clocks last disagreed
	mistrusted bool
	calendar   *Calendar
}

// NewTurner starts at a time of the quota clock. last is the newest month
// that anything was charged to, or 0.
func NewTurner(now int64, last Month) *Turner {
	return &Turner{month: max(MonthAt(now), last), turnedAt: now - turnPause}
}

// Step looks at both clocks and returns the calendar from now on.
func (t *Turner) Step(now, wall int64) *Calendar {
	if off := wall - now; off > clockSlack || off < -clockSlack {
		t.mistrusted, t.mistrustAt = true, now
	} else if t.mistrusted && now-t.mistrustAt >= clockTrust {
		t.mistrusted = false
	}

	// A month turns one at a time, however far the clock has gone meanwhile.
	ready := !t.mistrusted && now-t.turnedAt >= turnPause
	if ready && MonthAt(now) > t.month {
		t.month++
		t.turnedAt = now
		ready = false
	}

	if c := t.calendar; c == nil || c.This.Month != t.month || c.Turns != ready {
		t.calendar = &Calendar{This: SpanOf(t.month), Next: SpanOf(t.month + 1), Turns: ready}
	}
	return t.calendar
}

// Mistrusted tells whether the wall clock keeps the month from turning.
func (t *Turner) Mistrusted() bool { return t.mistrusted }
