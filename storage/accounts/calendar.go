package accounts

import "time"

// Clock is the node's clock: the time of the start plus the monotonic time since.
// Steps of the wall clock do not affect it, and so neither quotas nor freshness.
type Clock struct {
	start   time.Time
	startNs int64
}

// NewClock starts the clock at a reading that carries a monotonic time.
func NewClock(start time.Time) Clock { return Clock{start, start.UnixNano()} }

// At converts a reading of time.Now to the quota clock, in Unix nanoseconds.
func (c *Clock) At(t time.Time) int64 { return c.startNs + int64(t.Sub(c.start)) }

// Time converts a reading of time.Now to this clock.
func (c *Clock) Time(t time.Time) time.Time { return time.Unix(0, c.At(t)) }

// ClockState is what is known of the wall clock.
type ClockState struct {
	// Offset is how far the wall clock is ahead of the node's clock, or of a chain's
	// head if that is later than both.
	Offset     time.Duration
	Mistrusted bool
}

// Calendar says which month a request is charged to. It is immutable; metering
// replaces it.
type Calendar struct {
	This, Next Span
	// Turns: Next may begin when This has ended.
	Turns bool
}

// At returns the month of a request admitted at a time of the quota clock.
func (c *Calendar) At(now int64) *Span {
	if now >= c.This.EndNs && c.Turns {
		return &c.Next
	}
	return &c.This
}

// When a new month may begin.
const (
	// clockSlack is how far wall clock and quota clock may differ.
	clockSlack = int64(5 * time.Minute)
	// clockTrust is how long they must have agreed before a month begins.
	clockTrust = int64(10 * time.Minute)
	// turnPause is the minimum time between two turns. A slot is reused two months
	// later, and by then every request of the first month must be settled.
	turnPause = int64(time.Minute)
)

// Turner decides when a new month begins. The month never goes back: it starts at
// the clock's month or the last month with a charge, whichever is later.
type Turner struct {
	month      Month
	turnedAt   int64
	mistrustAt int64 // when the clocks last disagreed
	mistrusted bool
	calendar   *Calendar
}

// NewTurner starts at a time of the quota clock. last is the newest month with a
// charge, or 0.
func NewTurner(now int64, last Month) *Turner {
	return &Turner{month: max(MonthAt(now), last), turnedAt: now - turnPause}
}

// Step compares the clocks and returns the calendar that is valid from now on.
func (t *Turner) Step(now, wall int64) *Calendar {
	if off := wall - now; off > clockSlack || off < -clockSlack {
		t.mistrusted, t.mistrustAt = true, now
	} else if t.mistrusted && now-t.mistrustAt >= clockTrust {
		t.mistrusted = false
	}

	// Advance one month at a time, however far the clock has moved.
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

// Mistrusted reports whether no month may begin because the clocks disagree.
func (t *Turner) Mistrusted() bool { return t.mistrusted }
