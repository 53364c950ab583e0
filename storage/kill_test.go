package storage

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/storage/disktest"
)

// These environment variables make this test binary the process that is killed:
// the directory, the rig's seed, and the number of writes after which every write
// fails (0: never).
const (
	victimDirEnv  = "TIDEMARK_TEST_VICTIM_STORE"
	victimSeedEnv = "TIDEMARK_TEST_VICTIM_SEED"
	victimFailEnv = "TIDEMARK_TEST_VICTIM_FAIL"
)

// victimExit is the exit code of a process whose store failed.
const victimExit = 7

// TestKilledProcessKeepsItsLastCut ends another process in the middle of its
// commits, by kill -9 or by a disk whose writes begin to fail. The store must then
// have the last acknowledged cut, or the one that was being committed.
func TestKilledProcessKeepsItsLastCut(t *testing.T) {
	if dir := os.Getenv(victimDirEnv); dir != "" {
		victim(dir)
	}

	fails := []int{0, 25, 0, 0, 40, 77, 120}
	kills := disktest.Share(max(rounds(len(fails)), 2), 20, 200)
	for i := range kills {
		fail := fails[i%len(fails)]
		dir, seed := t.TempDir(), uint64(1000+fail)
		acked := runVictim(t, dir, seed, fail)
		s, err := Open(dir, testOptions(nil))
		if err != nil {
			t.Fatal(err)
		}

		g := newRig(seed, 1)
		for range acked {
			g.cut(20, true)
		}

		got, err := s.Restore(1)
		if err != nil || got == nil && acked > 0 {
			t.Fatalf("after %d commits: restored %v, %v", acked, got, err)
		}

		if got != nil && (acked == 0 || got.State.Head.Number > g.now.st.Head.Number) {
			g.cut(20, true) // the one that was being committed
		}

		if got != nil {
			holds(t, s, &g.now)
		}

		closeTest(t, s)
	}
	disktest.Figure(t, "%d processes killed or stopped by their disk while committing: "+
		"0 acknowledged cuts lost", kills)
}

// runVictim returns how many commits the process acknowledged. One that cannot even end by
// itself, since its runtime stands still, is killed.
func runVictim(t *testing.T, dir string, seed uint64, fail int) (acked int) {
	t.Helper()
	p := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	p.Env = append(os.Environ(), victimDirEnv+"="+dir,
		victimSeedEnv+"="+strconv.FormatUint(seed, 10), victimFailEnv+"="+strconv.Itoa(fail))
	out, err := p.StdoutPipe()
	must(err)
	_, err = p.StdinPipe() // open for as long as this process lives
	must(err)
	must(p.Start())
	patience := time.AfterFunc(4*victimLife, func() { p.Process.Kill() })
	lines := bufio.NewScanner(out)
	for lines.Scan() && strings.HasPrefix(lines.Text(), "acked ") {
		acked++
		if fail == 0 && acked == 15 {
			must(p.Process.Kill())
		}
	}

	var ended *exec.ExitError
	err = p.Wait()
	hung := !patience.Stop()
	// 2 is the exit code of a panic: Pebble panics if it cannot create a new log.
	if !errors.As(err, &ended) ||
		fail > 0 && !hung && ended.ExitCode() != victimExit && ended.ExitCode() != 2 {
		t.Fatalf("failing after %d writes the process ended with %v", fail, err)
	}

	return acked
}

// victimLife ends a victim whose disk failed where Pebble retries for ever: no
// commit returns any more.
const victimLife = 5 * time.Second

// victim commits until it is killed or its parent process ends.
func victim(dir string) {
	time.AfterFunc(victimLife, func() { os.Exit(victimExit) })
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(victimExit)
	}()

	seed, err := strconv.ParseUint(os.Getenv(victimSeedEnv), 10, 64)
	must(err)
	fail, err := strconv.ParseInt(os.Getenv(victimFailEnv), 10, 64)
	must(err)
	var writes atomic.Int64
	opts := testOptions(errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && writes.Add(1) > fail && fail > 0 {
			return errorfs.ErrInjected
		}
		return nil
	})))

	opts.Exit = func() { os.Exit(victimExit) }
	s, err := Open(dir, opts)
	if err != nil {
		os.Exit(victimExit)
	}

	g := newRig(seed, 1)
	for {
		if err := s.Commit(g.cut(20, true)); err != nil {
			os.Exit(victimExit)
		}
		fmt.Println("acked", g.now.st.Head.Number)
	}
}
