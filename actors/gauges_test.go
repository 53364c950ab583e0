package actors

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// hasLines checks that the metrics of a set have these lines, whole.
func hasLines(t *testing.T, what string, set *metrics.Set, want ...string) {
	t.Helper()
	var out bytes.Buffer
	set.WritePrometheus(&out)
	for _, line := range want {
		if !strings.Contains("\n"+out.String(), "\n"+line+"\n") {
			t.Errorf("%s: no line %q in\n%s", what, line, &out)
		}
	}
}

// What is not known of a chain is NaN in its metrics: 0 would say that all is well.
func TestChainGauges(t *testing.T) {
	set, board := metrics.NewSet(), &rankings.Board{}
	now := time.UnixMilli(1_700_000_012_500)
	newGauges(set, board, 1, func() time.Time { return now })
	hasLines(t, "no chain", set, `tidemark_chain_lag_blocks{chain="1"} NaN`, `tidemark_chain_lag_seconds{chain="1"} NaN`,
		`tidemark_chain_generation{chain="1"} NaN`, `tidemark_chain_generation_age_seconds{chain="1"} NaN`)

	board.SetStatus(1, rankings.ChainStatus{})
	hasLines(t, "nothing published", set, `tidemark_chain_lag_blocks{chain="1"} NaN`,
		`tidemark_chain_lag_seconds{chain="1"} NaN`, `tidemark_chain_generation{chain="1"} 0`,
		`tidemark_chain_generation_age_seconds{chain="1"} NaN`)

	indexed := market.Head{Number: 100, Time: 1_700_000_000}
	board.SetStatus(1, rankings.ChainStatus{
		LastIndexed: indexed, ChainHead: market.Head{Number: 105, Time: 1_700_000_060},
	})
	view, _ := rankings.Build(nil, &market.State{Chain: 1, Head: indexed}, 7)
	view.Confirm(1_700_000_010_000)
	board.Publish(view)
	hasLines(t, "behind", set, `tidemark_chain_lag_blocks{chain="1"} 5`, `tidemark_chain_lag_seconds{chain="1"} 60`,
		`tidemark_chain_generation{chain="1"} 7`, `tidemark_chain_generation_age_seconds{chain="1"} 2.5`)
}

// A node has the metrics of each of its chains.
func TestNodeHasGauges(t *testing.T) {
	th := newTestNode(t, plain)
	th.await(1, "served", served)
	th.await(2, "served", served)
	hasLines(t, "both served", th.set, `tidemark_chain_lag_blocks{chain="1"} 0`, `tidemark_chain_lag_blocks{chain="2"} 0`)
}

// The watchdog's figures are in the metrics, and change with what it finds.
func TestWatchdogGauges(t *testing.T) {
	disk := &smallDisk{FS: vfs.NewMem()}
	disk.setFree(1 << 40)
	quiet := slog.New(slog.DiscardHandler)
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: quiet, MinFreeBytes: 1, BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	r := newRigOn(t, disk, time.Now())
	t.Cleanup(func() { r.store.Close() })
	set := metrics.NewSet()
	w := NewWatchdog(store, r.store, &Metering{meter: r.meter}, &rankings.Board{}, set, quiet)

	const status = `tidemark_disk_status{status="`
	hasLines(t, "at the start", set, status+`ok"} 1`, status+`full"} 0`, `tidemark_clock_mistrusted 0`)
	if w.Disk().FreeBytes == 0 {
		t.Error("the disk has no space")
	}
	w.disk.Store(&storage.Disk{Status: storage.DiskFull, FreeBytes: 7})
	state := w.Clock()
	state.Offset, state.Mistrusted = -90*time.Second, true
	w.state.Store(&state)
	hasLines(t, "on a full disk", set, `tidemark_disk_free_bytes 7`, status+`ok"} 0`, status+`full"} 1`,
		`tidemark_clock_offset_seconds -90`, `tidemark_clock_mistrusted 1`)
}

// A chain whose disk was full goes on when there is room: what waited is published, and
// the feed is asked for more.
func TestParkedChainGoesOn(t *testing.T) {
	th := newTestNode(t, plain)
	th.await(1, "served", served)
	a := th.node.chains[1]
	do := func(f func(a *chainActor)) {
		t.Helper()
		reply := make(chan error, 1)
		a.send(command{func(a *chainActor) error { f(a); return nil }, reply})
		if err := <-reply; err != nil {
			t.Fatal(err)
		}
	}

	full := true
	do(func(a *chainActor) { a.readOnly = func() bool { return full } })
	// The next step is parked as it would be at the end of catching up.
	do(func(a *chainActor) {
		a.beginEpoch()
		a.parked = true
		a.scheduleTick(a.Every)
	})
	confirmed := func() int64 {
		c, _ := th.board.Load().Chain(1)
		return c.View.Confirmed()
	}
	time.Sleep(100 * time.Millisecond)
	before := confirmed()
	time.Sleep(200 * time.Millisecond)
	if after := confirmed(); after != before {
		t.Error("a parked chain asks its feed")
	}

	do(func(*chainActor) { full = false })
	th.await(1, "confirmed again", func(c *rankings.Chain) bool { return c.View.Confirmed() > before })
	do(func(a *chainActor) {
		if a.parked {
			t.Error("the chain is still parked")
		}
	})
}
