package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/storage/disktest"
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
	disktest.Figure(t, "%s", out)
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

const failingCommits = 7

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
	disktest.Figure(t, "%d reads of the market store failed in turn: 0 wrong answers, 0 counted as damage", failed)
}

// readerQuestions are what readers ask of chain 1, by what they ask for.
var readerQuestions = map[string]func(s *Store) (any, error){
	"place":    func(s *Store) (any, error) { return s.Place(1) },
	"chains":   func(s *Store) (any, error) { return s.Chains() },
	"leaf":     func(s *Store) (any, error) { return s.leafBytes(1, 1<<8, nil) },
	"gap":      func(s *Store) (any, error) { return nil, s.findGap(1) },
	"pool day": func(s *Store) (any, error) { d, ok, err := s.PoolDayAt(1, 1, failingDay); return []any{d, ok}, err },
	"pool days": func(s *Store) (any, error) {
		r := s.PoolDaysFrom(1, 1, failingDay, failingDay+5)
		defer r.Close()
		var all []market.PoolDay
		for r.Next() {
			all = append(all, *r.Entry())
		}
		return all, r.Err()
	},
	"pool hours":  func(s *Store) (any, error) { return s.PoolHours(1, 1, failingDay, failingDay+5) },
	"tick hours":  func(s *Store) (any, error) { return s.TickHours(1, 1, -7, failingDay, failingDay+5) },
	"day prices":  func(s *Store) (any, error) { return s.DayPrices(1, 900, failingDay-41, failingDay) },
	"hour prices": func(s *Store) (any, error) { return s.PricesByHour(1, 900, (failingDay-41)*24, failingDay*24) },
	"records": func(s *Store) (any, error) {
		records, bytes, err := s.ReadAll()
		return []int64{records, bytes}, err
	},
	"transactions": func(s *Store) (any, error) {
		r := s.Transactions(1, 1, Place{}, End(100), NewestFirst)
		defer r.Close()
		var all []market.Transaction
		for r.Next() {
			all = append(all, *r.Entry())
		}
		return all, r.Err()
	},
	"export": func(s *Store) (any, error) {
		e, all := s.Export(1), new(bytes.Buffer)
		place, err := e.Place()
		err = errors.Join(err, e.Write(all, func() {}), e.Close())
		return []any{place, all.String()}, err
	},
	"check": func(s *Store) (any, error) {
		findings, err := s.Check()
		if all := strings.Join(findings, "\n"); strings.Contains(all, syscall.EIO.Error()) {
			err = syscall.EIO // told as a finding
		}
		return findings, err
	},
}

const failingDay = 20_000

// Whichever read of an answer fails, the answer is that error or the same as without it:
// what cannot be read is never taken for what is not there.
func TestAnswersOnAFailingDisk(t *testing.T) {
	disk := vfs.NewMem()
	o := testOptions(disk)
	o.Tee = func(market.ChainID, []byte, []byte) ([]byte, error) { return []byte("here"), nil }
	s, err := Open("data", o)
	must(err)
	g := newRig(79, 1)
	cut := g.cut(20, true)
	put := func(op ledger.Op) { cut.Changes.Ops.Add(op) }
	for day := uint32(failingDay); day < failingDay+6; day++ {
		for pool := range uint32(12) {
			for hour := range uint32(market.HoursOfDay) {
				put(ledger.PoolHours.Put(market.PoolHour{Pool: pool, Day: day, Hour: hour, Tick: int32(hour)}))
				put(ledger.TickHours.Put(market.TickHour{Pool: pool, Tick: -7, Day: day, Hour: hour}))
			}
		}
	}
	for hour := uint32(failingDay-40) * market.HoursOfDay; hour < failingDay*market.HoursOfDay; hour++ {
		p := ledger.HourPrice{Token: 900, Usd: float64(hour), OnlyPool: market.NoIndex}
		put(ledger.HourPrices.Put(ledger.HourEntry{HourPrice: p, Hour: hour}))
	}
	must(s.Commit(cut))
	must(s.Compact())
	closeTest(t, s)

	s = openTest(t, disk)
	want := map[string]string{}
	for what, ask := range readerQuestions {
		answer, err := ask(s)
		must(err)
		want[what] = fmt.Sprint(answer)
	}
	closeTest(t, s)

	failed := 0
	for what, ask := range readerQuestions {
		var armed atomic.Bool
		var operations atomic.Int64
		s := openTest(t, disktest.FailingOn(disk, 1, &operations, func(errorfs.Op) bool { return armed.Load() }))

		// At first no read succeeds, and then one more each time: what was read is in the cache.
		reached := true
		for first := int64(1); reached; first = 0 {
			operations.Store(first)
			armed.Store(true)
			answer, err := ask(s)
			armed.Store(false)
			reached = operations.Load() > 1
			if text := fmt.Sprint(answer); err != nil && !errors.Is(err, syscall.EIO) || err == nil && text != want[what] {
				t.Errorf("%s: a read failed: %v, %v; want %v", what, text, err, want[what])
			}
			if err != nil {
				failed++
			}
		}
		closeTest(t, s)
	}
	if failed < len(readerQuestions) {
		t.Errorf("%d reads of %d questions were made to fail; want one of each", failed, len(readerQuestions))
	}
}

const fullOpeningEnv = "TIDEMARK_TEST_FULL_OPENING"

// A start on a disk that has no room for the tables of its log ends: Pebble would try to
// write them for ever.
func TestOpeningWithoutRoom(t *testing.T) {
	if os.Getenv(fullOpeningEnv) != "" {
		openWithoutRoom()
		return
	}

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), fullOpeningEnv+"=1")
	if out, err := child.CombinedOutput(); child.ProcessState.ExitCode() != victimExit {
		t.Errorf("the start gave %v\n%.2000s", err, out)
	}
}

// openWithoutRoom opens a store after a crash, when no table can be written.
func openWithoutRoom() {
	disk := vfs.NewCrashableMem()
	s, err := Open("data", testOptions(disk))
	must(err)
	must(s.Commit(newRig(77, 1).cut(2, true)))

	o := testOptions(errorfs.Wrap(disk.CrashClone(vfs.CrashCloneCfg{}), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasSuffix(op.Path, ".sst") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	})))
	o.Exit = func() { os.Exit(victimExit) }
	_, err = Open("data", o)
	fmt.Println("opened with", err)
	os.Exit(0)
}
