package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// newLogger writes coloured text to a terminal and JSON to anything else. The
// level may change while the logger is used.
func newLogger(w io.Writer, isTerminal bool, level *slog.LevelVar) *slog.Logger {
	var handler slog.Handler
	if isTerminal {
		handler = tint.NewTextHandler(w, &tint.Options{
			Level: level, TimeFormat: time.TimeOnly, ReplaceAttr: sayDuration,
		})
	} else {
		handler = slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: sayDuration})
	}
	return slog.New(collapsing{handler, &repeats{now: time.Now, lines: map[string]*repeat{}}, ""})
}

// setLevel makes a level that the configuration allows the one in use.
func setLevel(level *slog.LevelVar, name string) {
	if err := level.UnmarshalText([]byte(name)); err != nil {
		panic("BUG: " + err.Error())
	}
}

// sayDuration has durations read as 1.5s or 2 hours 5 minutes, never as a number
// of nanoseconds.
func sayDuration(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(inWords(a.Value.Duration()))
	}
	return a
}

// inWords says a duration: to the millisecond below a minute, in two units from
// there on.
func inWords(d time.Duration) string {
	count := func(n int64, unit string) string {
		if n == 1 {
			return "1 " + unit
		}
		return fmt.Sprintf("%d %ss", n, unit)
	}
	units := []struct {
		name   string
		length time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}}

	for i, u := range units[:3] {
		if d < u.length {
			continue
		}
		text, below := count(int64(d/u.length), u.name), units[i+1]
		if rest := int64(d % u.length / below.length); rest > 0 {
			text += " " + count(rest, below.name)
		}
		return text
	}
	return d.Round(time.Millisecond).String()
}

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

// screen is standard error with a line of progress at its end, when it is a
// terminal. Log lines go above it.
type screen struct {
	file       *os.File
	isTerminal bool

	mu   sync.Mutex
	line string
}

func newScreen(f *os.File) *screen {
	return &screen{file: f, isTerminal: term.IsTerminal(int(f.Fd()))}
}

// clearLine moves to the start of the line and erases it.
const clearLine = "\r\x1b[K"

// Write writes log lines above the line of progress.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" {
		return s.file.Write(p)
	}
	if _, err := fmt.Fprintf(s.file, "%s%s%s", clearLine, p, s.line); err != nil {
		return 0, err
	}
	return len(p), nil
}

// show replaces the line of progress; an empty one removes it.
func (s *screen) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isTerminal && line != s.line {
		s.line = line
		fmt.Fprint(s.file, clearLine, line) // a terminal that is gone shows nothing
	}
}
