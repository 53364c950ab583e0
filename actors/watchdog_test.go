package actors

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// newTestWatchdog watches a market store on the real disk and accounts on another.
func newTestWatchdog(t *testing.T, disk vfs.FS, board *rankings.Board) (*Watchdog, *Metering) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: quiet, MinFreeBytes: 1, BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })

	r := newRigOn(t, disk, time.Now())
	t.Cleanup(func() { r.store.Close() })
	m := &Metering{meter: r.meter}
	return NewWatchdog(store, r.store, m, board, metrics.NewSet(), quiet), m
}

// The watchdog checks again and again: a disk that fills up and gets space again is
// reported within two seconds each.
func TestWatchdogChecksAgain(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.setFree(1 << 40)
	w, _ := newTestWatchdog(t, disk, &rankings.Board{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()

	f := func(free uint64, want storage.DiskStatus) {
		t.Helper()
		disk.setFree(free)
		for end := time.Now().Add(10 * watchEvery); w.Disk().Status != want; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("with %d bytes free the disk is %s; want %s", free, w.Disk().Status, want)
			}
		}
	}

	f(1<<40, storage.DiskOK)
	f(0, storage.DiskFull)
	f(1<<40, storage.DiskOK)
	cancel()
	<-done
}

// A disk with too little space for the market is read-only, also while it cannot be measured,
// and a full one is that first.
func TestWatchdogReadOnlyDisk(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	f := func(minFree, freeForAccounts uint64, status storage.DiskStatus) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "market")
		store, err := storage.Open(dir, storage.Options{Logger: quiet, MinFreeBytes: minFree, BallastBytes: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		disk := &smallDisk{FS: vfs.NewMem()}
		disk.setFree(1 << 40)
		r := newRigOn(t, disk, time.Now())
		defer r.store.Close()
		disk.setFree(freeForAccounts)

		w := NewWatchdog(store, r.store, &Metering{meter: r.meter}, &rankings.Board{}, metrics.NewSet(), quiet)
		measured := w.Disk()
		if measured.Status != status || measured.FreeBytes == 0 {
			t.Errorf("with %d bytes to keep free: %+v; want %s", minFree, measured, status)
		}
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Fatal(err)
		}
		got := w.measureDisk(time.Now())
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
		if got != measured {
			t.Errorf("with %d bytes to keep free, not measured: %+v; want %+v as before", minFree, got, measured)
		}
	}

	f(1, 1<<40, storage.DiskOK)
	f(1<<60, 1<<40, storage.DiskReadOnly)
	f(1<<60, 0, storage.DiskFull)
}

// A drain that takes more than two seconds makes the disk slow, while it runs and
// until a shorter one.
func TestWatchdogSlowDisk(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.setFree(1 << 40)
	w, m := newTestWatchdog(t, disk, &rankings.Board{})
	now := time.Now()
	f := func(what string, since, took time.Duration, want storage.DiskStatus) {
		t.Helper()
		m.draining.Store(0)
		if since != 0 {
			m.draining.Store(w.clock.At(now.Add(-since)))
		}
		m.took.Store(int64(took))
		if got := w.measureDisk(now).Status; got != want {
			t.Errorf("%s: the disk is %s; want %s", what, got, want)
		}
	}

	f("idle", 0, time.Millisecond, storage.DiskOK)
	f("the last drain took long", 0, 2*time.Second+1, storage.DiskSlow)
	f("the last drain took 2 s", 0, 2*time.Second, storage.DiskOK)
	f("a drain hangs", 2*time.Second+1, time.Millisecond, storage.DiskSlow)
	f("a drain runs", time.Second, time.Millisecond, storage.DiskOK)
}

// A wall clock that steps, or that is behind the head of a chain, is mistrusted.
func TestWatchdogClock(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.setFree(1 << 40)
	board := &rankings.Board{}
	w, m := newTestWatchdog(t, disk, board)
	now := time.Now()
	step := time.Duration(0) // of the wall clock since the start
	f := func(what string, ahead, offset time.Duration, mistrusted bool) {
		t.Helper()
		steady := w.clock.Time(now)
		head := market.Head{Number: 1, Time: steady.Add(ahead).Unix()}
		board.SetStatus(1, rankings.ChainStatus{ChainHead: head})
		got := w.compareClocks(steady.Add(step), steady)
		if (got.Offset-offset).Abs() > 2*time.Second || got.Mistrusted != mistrusted {
			t.Errorf("%s: %+v; want an offset of %s, mistrusted %v", what, got, offset, mistrusted)
		}
	}

	f("a head in the past", -time.Hour, 0, false)
	f("a head slightly ahead", 30*time.Second, 0, false)
	whole := w.clock.Time(now).Truncate(time.Second).Sub(w.clock.Time(now)) // a head's time has no fraction
	now = now.Add(whole)
	f("a head a minute ahead", time.Minute, 0, false)
	f("a head slightly more ahead", time.Minute+time.Second, -time.Minute-time.Second, true)
	f("a head an hour ahead", time.Hour, -time.Hour, true)

	step = time.Hour
	f("set forward", 0, time.Hour, true)
	f("set right by the head", time.Hour, time.Hour, true)
	f("set forward, and behind the head", 3*time.Hour, -2*time.Hour, true)
	step = -time.Hour
	f("set back", -time.Minute, -time.Hour, true)
	f("set back, and behind the head", time.Hour, -2*time.Hour, true)
	step = 0
	m.mistrusted.Store(true)
	f("metering mistrusts it", 0, 0, true)
}
