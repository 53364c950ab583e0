package main

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/lmittmann/tint"
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
