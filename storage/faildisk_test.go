package storage

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

const failingMarketEnv = "TIDEMARK_TEST_FAILING_MARKET"

// Whichever file operation fails, the store opens afterwards at the last acknowledged
// cut or the one that was being committed, reports no rollback, and the failed
// operation does not count as damage. A store that ends its process leaves goroutines
// behind, so the test runs in a process of its own.
func TestMarketFailingDisk(t *testing.T) {
	if os.Getenv(failingMarketEnv) != "" {
		os.Exit(failMarketOperations())
	}
	child := exec.Command(os.Args[0], "-test.run=^TestMarketFailingDisk$")
	child.Env = append(os.Environ(), failingMarketEnv+"=1")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
		return
	}
	figure(t, "%s", out)
}

func failMarketOperations() (code int) {
	failed, ended := 0, 0
	for n := int64(0); ; n++ {
		disk := vfs.NewCrashableMem()
		run := commitToFailingDisk(disk, n)
		if !run.reached {
			break // the run has no operation with that number
		}
		failed++
		if run.exited {
			ended++
		}
		if err := checkAfterFailure(disk.CrashClone(vfs.CrashCloneCfg{}), run); err != nil {
			fmt.Fprintf(os.Stderr, "operation %d failed, then: %v\n", n, err)
			code = 1
		}
	}

	if failed < 50 {
		fmt.Fprintf(os.Stderr, "only %d operations were made to fail\n", failed)
		code = 1
	}
	fmt.Printf("%d file operations of the market store failed in turn, %d of them ended the process: "+
		"0 acknowledged cuts lost", failed, ended)
	return code
}

// failingRun is what became of a process whose disk failed once.
type failingRun struct {
	acknowledged    atomic.Int64 // commits
	reached, exited bool
	damage          error
}

const failingCommits = 8

// commitToFailingDisk commits until the process would have ended. It commits less than
// a memtable holds: if a log cannot be rotated, Pebble ends the process by a panic
// that cannot be recovered. TestKilledProcessKeepsItsLastCut has that case.
func commitToFailingDisk(disk vfs.FS, n int64) *failingRun {
	run := &failingRun{}
	var operations atomic.Int64
	o := testOptions(errorfs.Wrap(disk, errorfs.InjectorFunc(func(errorfs.Op) error {
		if operations.Add(1)-1 == n {
			return syscall.EIO
		}
		return nil
	})))
	ended := make(chan bool)
	o.Exit = func() {
		ended <- true
		select {} // nothing of the process goes on
	}

	go func() {
		defer func() { ended <- recover() != nil }()
		s, err := Open("data", o)
		if err != nil {
			return
		}
		g := newRig(77, 1)
		for range failingCommits {
			if s.Commit(g.cut(2, true)) != nil {
				break // a chain's actor would restore it
			}
			run.acknowledged.Add(1)
		}
		if d := s.Damaged(1); d != nil {
			run.damage = d
		}
		// It is not closed: Pebble ends the process if a log cannot be rotated.
	}()

	run.exited = <-ended
	run.reached = operations.Load() > n
	return run
}

// checkAfterFailure opens the disk without errors and compares it with what was
// acknowledged.
func checkAfterFailure(disk vfs.FS, run *failingRun) error {
	if run.damage != nil {
		return fmt.Errorf("an error of the disk counts as damage: %w", run.damage)
	}
	s, err := Open("data", testOptions(disk))
	if err != nil {
		return err
	}
	defer s.Close()
	if r := s.Rollback(1); r != nil {
		return fmt.Errorf("rollback: %s", r)
	}

	g := newRig(77, 1)
	acknowledged := run.acknowledged.Load()
	for range acknowledged {
		g.cut(2, true)
	}
	got, err := s.Restore(1)
	switch {
	case err != nil:
		return err
	case got == nil && acknowledged == 0:
		return nil
	case got == nil:
		return fmt.Errorf("nothing is stored; %d commits were acknowledged", acknowledged)
	}
	if acknowledged == 0 || place(got.State) != place(g.now.st) {
		g.cut(2, true) // the one that was being committed
	}
	if place(got.State) != place(g.now.st) || string(got.Directory) != g.now.directory {
		return fmt.Errorf("the store has %s; %d commits were acknowledged", place(got.State), acknowledged)
	}
	for number, want := range g.now.leaves {
		if leaf, err := s.leafBytes(1, number, nil); err != nil || string(leaf) != want {
			return fmt.Errorf("leaf %d is %x, %w", number, leaf, err)
		}
	}
	return readAll(s, 1)
}

// Whichever read fails after the start, it is an error and not a wrong answer, it does
// not count as damage, and the next try has the data.
func TestMarketFailingReads(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk)
	g := newRig(78, 1)
	g.commit(t, s, 30, true)
	want := g.commit(t, s, 30, true)
	must(s.Compact())
	closeTest(t, s)

	failed := 0
	for n := int64(0); ; n++ {
		var armed atomic.Bool
		var operations atomic.Int64
		o := testOptions(errorfs.Wrap(disk, errorfs.InjectorFunc(func(errorfs.Op) error {
			if armed.Load() && operations.Add(1)-1 == n {
				return syscall.EIO
			}
			return nil
		})))
		s, err := Open("data", o)
		if err != nil {
			t.Fatal(err)
		}
		armed.Store(true)
		err = errors.Join(readAll(s, 1), readSeries(s, 1))
		armed.Store(false)
		reached := operations.Load() > n
		if d := s.Damaged(1); d != nil || reached && err != nil && !errors.Is(err, syscall.EIO) {
			t.Errorf("read %d failed: %v, damage %v", n, err, d)
		}
		holds(t, s, want)
		closeTest(t, s)
		if !reached {
			break
		}
		failed++
	}
	if failed < 10 {
		t.Errorf("only %d reads were made to fail", failed)
	}
	figure(t, "%d reads of the market store failed in turn: 0 wrong answers, 0 counted as damage", failed)
}
