package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// repeatEvery is how often a warning that goes on is logged.
const repeatEvery = 10 * time.Second

// maxRepeats bounds how many different warnings are told apart.
const maxRepeats = 1000

// varying attributes do not make a warning another one.
var varying = []string{"took", "request", "failures", "in_a_row", "since", "rest", "stack", "freeBytes"}

// changedFrom is the attribute of a line that tells a change. None of these is left out, or the
// last line would not tell the present status.
const changedFrom = "was"

// collapsing is a handler that logs a warning or error once, and when it comes
// again within repeatEvery only counts it: the next line says how often.
type collapsing struct {
	slog.Handler
	*repeats
	bound string // attributes of With
}

// repeats are the warnings of late.
type repeats struct {
	now   func() time.Time
	mu    sync.Mutex
	lines map[string]*repeat
}

type repeat struct {
	logged time.Time
	hidden int // since then
}

// Handle logs a record, or counts it.
func (c collapsing) Handle(ctx context.Context, r slog.Record) error {
	if r.Level < slog.LevelWarn {
		return c.Handler.Handle(ctx, r)
	}

	var key strings.Builder
	isChange := false
	fmt.Fprint(&key, c.bound, r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		isChange = isChange || a.Key == changedFrom
		if !slices.Contains(varying, a.Key) {
			fmt.Fprint(&key, " ", a.Key, "=", a.Value)
		}
		return true
	})
	if isChange {
		return c.Handler.Handle(ctx, r)
	}

	hidden, log := c.admit(key.String())
	if !log {
		return nil
	}
	if hidden > 0 {
		r = r.Clone()
		r.AddAttrs(slog.Int("repeated", hidden))
	}
	return c.Handler.Handle(ctx, r)
}

// admit reports whether a line is to be logged now, and how many like it were
// not since the last one.
func (c *repeats) admit(key string) (hidden int, log bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, last := c.now(), c.lines[key]
	if last != nil && now.Sub(last.logged) < repeatEvery {
		last.hidden++
		return 0, false
	}
	if last != nil {
		hidden = last.hidden
	}

	if len(c.lines) >= maxRepeats {
		clear(c.lines)
	}
	c.lines[key] = &repeat{logged: now}
	return hidden, true
}

// WithAttrs returns a handler whose lines have attributes.
func (c collapsing) WithAttrs(attrs []slog.Attr) slog.Handler {
	return collapsing{c.Handler.WithAttrs(attrs), c.repeats, c.bound + fmt.Sprint(attrs)}
}

// WithGroup returns a handler whose attributes are in a group.
func (c collapsing) WithGroup(name string) slog.Handler {
	return collapsing{c.Handler.WithGroup(name), c.repeats, c.bound + name}
}
