package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/rankings"
	"tidemark/storage"
	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

const (
	// watchEvery is the interval at which disk and clocks are checked. A node writes a
	// few megabytes in that time, far less than the guard keeps free, and recovers
	// within two intervals when there is space again.
	watchEvery = time.Second
	// clockTolerance is how far the wall clock may be off before it is reported: more
	// than time synchronisation leaves, and too little to make old data look fresh.
	clockTolerance = time.Minute
)

// Watchdog checks the free disk space and the clocks. It turns the market store
// read-only before the disk is full, and logs every change.
type Watchdog struct {
	guard    *storage.Guard
	accounts *accountstore.Store
	metering *Metering
	board    *rankings.Board
	clock    accounts.Clock
	log      *slog.Logger

	disk  atomic.Pointer[storage.Disk]
	state atomic.Pointer[accounts.ClockState]
}

// NewWatchdog makes the watchdog of a node and checks once.
func NewWatchdog(market *storage.Store, books *accountstore.Store, m *Metering, board *rankings.Board,
	set *metrics.Set, log *slog.Logger,
) *Watchdog {
	w := &Watchdog{
		guard: market.Guard(), accounts: books, metering: m, board: board,
		clock: m.meter.clock, log: log,
	}
	w.disk.Store(&storage.Disk{Status: storage.DiskOK})
	w.state.Store(&accounts.ClockState{})
	w.checkAll(time.Now())

	set.NewGauge("tidemark_disk_free_bytes", func() float64 { return float64(w.Disk().FreeBytes) })
	for _, status := range storage.DiskStatuses {
		set.NewGauge(fmt.Sprintf("tidemark_disk_status{status=%q}", status), func() float64 {
			return oneIf(w.Disk().Status == status)
		})
	}
	set.NewGauge("tidemark_clock_offset_seconds", func() float64 { return w.Clock().Offset.Seconds() })
	set.NewGauge("tidemark_clock_mistrusted", func() float64 { return oneIf(w.Clock().Mistrusted) })
	return w
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Disk returns the result of the last check of the disk.
func (w *Watchdog) Disk() storage.Disk { return *w.disk.Load() }

// Clock returns the result of the last check of the wall clock.
func (w *Watchdog) Clock() accounts.ClockState { return *w.state.Load() }

// Run checks every second until ctx ends.
func (w *Watchdog) Run(ctx context.Context) {
	for {
		select {
		case now := <-time.After(watchEvery):
			w.checkAll(now)
		case <-ctx.Done():
			return
		}
	}
}

func (w *Watchdog) checkAll(now time.Time) {
	disk, was := w.measureDisk(now), w.Disk()
	w.disk.Store(&disk)
	if disk.Status != was.Status {
		w.log.Warn("disk status changed", "status", disk.Status, "was", was.Status,
			"freeBytes", disk.FreeBytes)
	}

	clock, before := w.compareClocks(now, w.clock.Time(now)), w.Clock()
	w.state.Store(&clock)
	if clock.Mistrusted != before.Mistrusted {
		w.log.Warn("wall clock compared with the node's clock",
			"mistrusted", clock.Mistrusted, "offset", clock.Offset.Round(time.Second).String())
	}
}

func (w *Watchdog) measureDisk(now time.Time) storage.Disk {
	free, err := w.guard.Check()
	if err != nil {
		w.log.Error("cannot measure the disk", "error", err)
	}
	if free == 0 && err != nil {
		free = w.Disk().FreeBytes // as it was measured last
	}

	disk := storage.Disk{Status: storage.DiskOK, FreeBytes: free}
	switch {
	case errors.Is(w.accounts.CheckSpace(), accountstore.ErrNoSpace):
		disk.Status = storage.DiskFull
	case w.guard.ReadOnly(): // as the last check found it that could measure
		disk.Status = storage.DiskReadOnly
	case w.metering.slow(w.clock.At(now)):
		disk.Status = storage.DiskSlow
	}
	return disk
}

// compareClocks finds how far the wall clock is off. Comparing it with the node's
// clock shows steps since the start. A wall clock that is behind, also since before
// the start, is found by a chain's head, which cannot be in the future. One that was
// ahead cannot be told from a chain that lags.
func (w *Watchdog) compareClocks(wall, steady time.Time) accounts.ClockState {
	offset := wall.Sub(steady) // of wall times: steady has no monotonic reading
	for _, c := range w.board.Load().Chains {
		ahead := time.Unix(c.Status.ChainHead.Time, 0).Sub(wall)
		if ahead > clockTolerance {
			offset = min(offset, -ahead)
		}
	}

	return accounts.ClockState{
		Offset:     offset,
		Mistrusted: offset.Abs() > clockTolerance || w.metering.mistrusted.Load(),
	}
}
