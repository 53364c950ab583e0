package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestInWords(t *testing.T) {
	f := func(d time.Duration, want string) {
		t.Helper()
		if got := inWords(d); got != want {
			t.Errorf("inWords(%d) = %s; want %s", d, got, want)
		}
	}

	f(0, "0s")
	f(1_234_567, "1ms")
	f(12_345*time.Millisecond, "12.345s")
	f(time.Minute, "1 minute")
	f(125*time.Second, "2 minutes 5 seconds")
	f(time.Hour, "1 hour")
	f(2*time.Hour+5*time.Minute+time.Second, "2 hours 5 minutes")
	f(49*time.Hour, "2 days 1 hour")
}

// Durations are said in words in both forms of the log, and the level can change
// while the logger is used.
func TestLogger(t *testing.T) {
	for _, isTerminal := range []bool{false, true} {
		var out bytes.Buffer
		var level slog.LevelVar
		log := newLogger(&out, isTerminal, &level)
		log.Debug("hidden")
		log.Info("done", "took", 90*time.Second)
		setLevel(&level, "debug")
		log.Debug("shown")

		if text := out.String(); !strings.Contains(text, "1 minute 30 seconds") ||
			strings.Contains(text, "hidden") || !strings.Contains(text, "shown") {
			t.Errorf("terminal %v: logged %s", isTerminal, text)
		}

		var line map[string]any
		first, _, _ := strings.Cut(out.String(), "\n")
		if err := json.Unmarshal([]byte(first), &line); (err == nil) == isTerminal {
			t.Errorf("terminal %v: JSON is read with %v", isTerminal, err)
		}
	}
}

// A start tells where its configuration comes from and where it listens; what is
// administered is told too, and no key in either.
func TestStartIsLogged(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a node")
	}
	t.Setenv("TIDEMARK_LISTN", "x")
	n := startInstance(t, "--drain", "1ms")
	n.await("the key in the log", func() bool { return strings.Contains(n.logs.String(), "key issued") })

	logs := n.logs.String()
	for _, want := range []string{
		`"msg":"configuration","file":"none"`, "TIDEMARK_SIM_DAYS", "--drain", "--data",
		`"msg":"listening","api":"` + n.url + `","operations":"` + n.ops + `"`,
		"environment TIDEMARK_LISTN is not a setting and has no effect; did you mean TIDEMARK_LISTEN?",
		`"msg":"key issued","key":"key_1","account":"demo"`,
	} {
		if !strings.Contains(logs, want) {
			t.Errorf("the log lacks %s:\n%s", want, logs)
		}
	}
	if strings.Contains(logs, n.key[:12]) {
		t.Errorf("a key is in the log:\n%s", logs)
	}
}
