//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/bench/process"
)

// A run of the bench suite removes what it made however it ends: when its terminal is
// closed, and when nobody reads what it writes. One that was started to outlive its
// terminal does.
func TestBenchRemovesItsCopy(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a corpus and measures nodes")
	}
	dir := t.TempDir()
	out, err := exec.Command("tidemark", "bench", "corpus", "--positions", "1000", "--chains", "1", "--days", "2",
		"--out", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	copies := func() []string {
		found, _ := filepath.Glob(filepath.Join(dir, "run-*"))
		return found
	}

	kept := filepath.Join(dir, "run.ndjson")
	// f runs words before the command, does what ends it, and wants the output to end so.
	f := func(length string, before []string, end func(*exec.Cmd), want string) {
		t.Helper()
		words := append(before, "tidemark", "bench", "run", "--corpus", dir, "--only", "hot", "--rounds", "1",
			"--keys", "10", "--length", length, "--out", kept)
		os.Remove(kept)
		var said process.Output
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for limit := time.Now().Add(startTimeout); len(copies()) == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("there is no copy of the corpus: %s", said.String())
			}
		}

		end(cmd)
		cmd.Wait()
		if left := copies(); len(left) > 0 {
			t.Errorf("%q left %q: %s", words, left, said.String())
		}
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q said %q; want %q", words, said.String(), want)
		}
	}
	hangUp := func(cmd *exec.Cmd) { cmd.Process.Signal(syscall.SIGHUP) }

	// The tests may themselves have been started to outlive a terminal.
	f("1m", []string{"env", "--default-signal=HUP"}, hangUp, "context canceled")
	f("300ms", []string{"nohup"}, hangUp, ": difference 0")
	f("300ms", []string{"sh", "-c", `"$@" 2>&1 | head -n 1`, "sh"}, func(*exec.Cmd) {}, "starting a node")
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("what was measured is lost with the reader: %v", err)
	}
}
