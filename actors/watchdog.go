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
)

const (
	// watchEvery is how often disk and clocks are looked at: a node writes a few
	// megabytes in that time, far less than the guard keeps free, and goes on
	// within two of them when there is room again.
	watchEvery = time.Second
	// clockTolerance is how far the wall clock may be off before it is told of:
	// more than time synchronisation leaves and less than makes data look fresh.
	clockTolerance = time.Minute
)

// Watchdog looks at what a node stands on: the room on its disk, and its
// clocks. It keeps the market's store away from a full disk, and says so when
// something changes.
type Watchdog struct {
	guard    *storage.Guard
	accounts *storage.Accounts
	metering *Metering
	board    *rankings.Board
	clock    accounts.Clock
	log      *slog.Logger

	disk  atomic.Pointer[storage.Disk]
	state atomic.Pointer[accounts.ClockState]
}

// NewWatchdog makes the watchdog of a node and measures once.
func NewWatchdog(market *storage.Store, books *storage.Accounts, m *Metering, board *rankings.Board,
	set *metrics.Set, log *slog.Logger,
) *Watchdog {
	w := &Watchdog{
		guard: market.Guard(), accounts: books, metering: m, board: board,
		clock: m.meter.clock, log: log,
	}
	w.disk.Store(&storage.Disk{Status: storage.DiskOK})
	w.state.Store(&accounts.ClockState{})
	w.look(time.Now())

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

// Disk is the disk as it was last measured.
func (w *Watchdog) Disk() storage.Disk { return *w.disk.Load() }

// Clock is the wall clock as it was last compared.
func (w *Watchdog) Clock() accounts.ClockState { return *w.state.Load() }

// Run looks every second until ctx ends.
func (w *Watchdog) Run(ctx context.Context) {
	for {
		select {
		case now := <-time.After(watchEvery):
			w.look(now)
		case <-ctx.Done():
			return
		}
	}
}

func (w *Watchdog) look(now time.Time) {
	disk, was := w.measure(now), w.Disk()
	w.disk.Store(&disk)
	if disk.Status != was.Status {
		w.log.Warn("the disk has changed", "status", disk.Status, "was", was.Status,
			"freeBytes", disk.FreeBytes)
	}

	clock, before := w.compare(now), w.Clock()
	w.state.Store(&clock)
	if clock.Mistrusted != before.Mistrusted {
		w.log.Warn("the wall clock against the node's own, which counts from the start",
			"mistrusted", clock.Mistrusted, "offset", clock.Offset.Round(time.Second).String())
	}
}

func (w *Watchdog) measure(now time.Time) storage.Disk {
	space, err := w.guard.Check()
	if err != nil {
		w.log.Error("cannot measure the disk", "error", err)
	}

	disk := storage.Disk{Status: storage.DiskOK, FreeBytes: space.FreeBytes}
	switch {
	case errors.Is(w.accounts.CheckSpace(), storage.ErrNoSpace):
		disk.Status = storage.DiskFull
	case space.ReadOnly:
		disk.Status = storage.DiskReadOnly
	case w.metering.slow(w.clock.At(now)):
		disk.Status = storage.DiskSlow
	}
	return disk
}

// compare finds how far the wall clock is off. Within the process the node's
// own clock tells of steps. One that was behind at the start already is told by
// a chain's head, which cannot be in the future; one that was ahead cannot be
// told from a chain that lags.
func (w *Watchdog) compare(now time.Time) accounts.ClockState {
	steady := w.clock.Time(now)
	// Round strips the monotonic reading, so that walls are compared.
	offset := now.Round(0).Sub(steady)
	for _, c := range w.board.Load().Chains {
		ahead := time.Unix(c.Status.ChainHead.Time, 0).Sub(steady)
		if ahead > clockTolerance {
			offset = min(offset, -ahead)
		}
	}

	return accounts.ClockState{
		Offset:     offset,
		Mistrusted: offset.Abs() > clockTolerance || w.metering.mistrusted.Load(),
	}
}
