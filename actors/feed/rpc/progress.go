package rpc

import (
	"fmt"
	"time"

	"tidemark/actors/feed"
)

const (
	// linesEvery is how often progress is logged.
	linesEvery = 10 * time.Second
	// newest is how much the last window weighs in a smoothed speed.
	newest = 0.2
	// speedWindow is over how long a speed is measured at least: spans that were read
	// ahead come in bursts.
	speedWindow = time.Second
)

// speed is how fast a feed catches up, smoothed over windows.
type speed struct {
	from   uint64 // the block after which it began; 0: it does not catch up
	events uint64 // when it began

	begun                    time.Time // of the window
	sent, toEvents, toBlock  uint64    // by then
	blocks, perSec, requests float64   // a second
	line                     time.Time
}

// addProgress adds to a step how catching up goes.
func (f *Feed) addProgress(step *feed.Step) {
	p, s := &f.pace, step.Span
	if s == nil {
		return
	}
	head, now := step.Head.Number, f.cfg.Clock.Now()
	if head < s.To+nearGap {
		*p = speed{}
		return
	}
	if p.from == 0 {
		p.from, p.events = s.From, f.m.events.Get()-uint64(countEvents(s))
		p.beginWindow(now, f, s.To)
	}
	if took := now.Sub(p.begun); took >= speedWindow && s.To > p.toBlock {
		smooth(&p.blocks, float64(s.To-p.toBlock)/took.Seconds())
		smooth(&p.perSec, float64(f.m.events.Get()-p.toEvents)/took.Seconds())
		smooth(&p.requests, float64(f.m.requestsSent()-p.sent)/took.Seconds())
		p.beginWindow(now, f, s.To)
	}

	f.m.rate.Set(p.perSec)
	step.Progress = &feed.Progress{
		From: p.from, To: head, At: s.To, Events: f.m.events.Get() - p.events,
		RequestsPerSecond: p.requests, EventsPerSecond: p.perSec,
	}
	if p.blocks > 0 {
		step.Progress.ETA = time.Duration(float64(head-s.To) / p.blocks * float64(time.Second))
		f.logProgress(step.Progress, now)
	}
}

func (p *speed) beginWindow(now time.Time, f *Feed, block uint64) {
	p.begun, p.sent, p.toEvents, p.toBlock = now, f.m.requestsSent(), f.m.events.Get(), block
}

func smooth(old *float64, value float64) {
	if *old == 0 {
		*old = value
	}
	*old += newest * (value - *old)
}

func (f *Feed) logProgress(p *feed.Progress, now time.Time) {
	if now.Sub(f.pace.line) < linesEvery {
		return
	}
	f.pace.line = now
	done := 100 * float64(p.At-p.From) / float64(max(p.To-p.From, 1))
	f.cfg.Log.Info("catching up", "chain", f.cfg.Chain, "block", p.At, "head", p.To,
		"done", fmt.Sprintf("%.1f %%", done), "events", p.Events,
		"events_per_second", int(p.EventsPerSecond),
		"requests_per_second", fmt.Sprintf("%.1f", p.RequestsPerSecond), "left", inWords(p.ETA))
}

// inWords says a duration as people do: about 3 hours.
func inWords(d time.Duration) string {
	count := func(n float64, unit string) string {
		if k := int(n + 0.5); k != 1 {
			return fmt.Sprintf("about %d %ss", k, unit)
		}
		return "about 1 " + unit
	}

	switch {
	case d <= 0:
		return "unknown"
	case d < time.Minute:
		return "less than a minute"
	case d < 90*time.Minute:
		return count(d.Minutes(), "minute")
	case d < 48*time.Hour:
		return count(d.Hours(), "hour")
	}

	return count(d.Hours()/24, "day")
}
