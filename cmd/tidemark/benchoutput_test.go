//go:build linux

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tidemark/bench/report"
)

// A shell reads the command line in a report as it was given, but for the key.
func TestOwnCommand(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		got := ownCommand(args)
		if want != "" && got != want {
			t.Errorf("%q is %s; want %s", args, got, want)
		}
		read, err := exec.Command("sh", "-c", `printf '%s\0' `+got).Output()
		if words := strings.Split(string(read), "\x00"); err != nil || !slices.Equal(words[:len(words)-1], args) {
			t.Errorf("a shell reads %s as %q, %v; want %q", got, words, err, args)
		}
	}

	f(`tidemark bench run --only hot,zipf --out a/b.ndjson --fail-if 'p99>20ms'`,
		"tidemark", "bench", "run", "--only", "hot,zipf", "--out", "a/b.ndjson", "--fail-if", "p99>20ms")
	f(`--out 'it'\''s one' ''`, "--out", "it's one", "")
	f("", "$HOME", "~", "*", "a\nb", `\`, `"`, "#", "&", "!", "(", "ä", "-", "a=b", "`true`")
	for _, args := range [][]string{{"--key", "e x"}, {"--key=e x"}} {
		if got := ownCommand(append([]string{"bench"}, args...)); strings.ReplaceAll(got, "=", " ") != "bench --key KEY" {
			t.Errorf("%q is %s", args, got)
		}
	}
}

// A run that is worse by more than is wanted fails, and names the bound as it was given.
func TestFailOverNamesBound(t *testing.T) {
	f := func(given, want string) {
		t.Helper()
		bound, err := parsePercent(given)
		if err != nil {
			t.Fatal(err)
		}
		run := func(micros int64) *report.Run {
			return &report.Run{Scenarios: []report.Scenario{{Name: "own", Node: report.Measure{
				Requests: 9, Latency: []report.Percentile{{Percent: 50, Micros: micros}},
			}}}}
		}
		err = compareRuns(run(1000), run(2000), bound)
		if err == nil || !strings.HasSuffix(err.Error(), "worse by more than "+want+" %") {
			t.Errorf("--fail-over %s: %v", given, err)
		}
	}

	f("10%", "10")
	f("0.5%", "0.5")
	f("7", "7")
}
