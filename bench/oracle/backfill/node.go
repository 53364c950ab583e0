package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors"
	"tidemark/actors/chain"
	"tidemark/actors/feed"
	"tidemark/bench/process"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// taken is how a node took a history, counted from its first blocks on to its last.
type taken struct {
	first    time.Duration // until its first blocks were there
	began    time.Time     // when they were
	took     time.Duration // from then on
	events   int           // meanwhile
	cpu      time.Duration // of this process meanwhile
	provider time.Duration // CPU time of the provider's process meanwhile
	others   time.Duration // CPU time of the rest of the machine meanwhile
	waited   time.Duration // the ledger for spans
	state    string        // digest of what it holds
}

func (t *taken) rate() float64 { return float64(t.events) / t.took.Seconds() }

// watched is a feed of which is known how long a ledger waits for it. That it can be
// asked for the contracts' storage, which the mock does not have, is hidden.
type watched struct {
	feed.Feed
	waited atomic.Int64 // nanoseconds
}

// Next implements feed.Feed.
func (w *watched) Next(ctx context.Context, c feed.Cursor) (feed.Step, error) {
	began := time.Now()
	defer func() { w.waited.Add(int64(time.Since(began))) }()
	return w.Feed.Next(ctx, c)
}

// take has a node with an empty store take a history from a feed. The feed's provider
// may be a process of its own; nil: none.
func take(r *recording, from feed.Feed, provider *process.Child) (*taken, error) {
	dir, err := os.MkdirTemp("", "backfill")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	quiet, set := slog.New(slog.DiscardHandler), metrics.NewSet()
	store, err := storage.Open(filepath.Join(dir, "market"), storage.Options{Logger: quiet})
	if err != nil {
		return nil, err
	}
	defer store.Close()

	runtime.GC() // what was before is not this turn's
	source := &watched{Feed: from}
	var board rankings.Board
	opened := time.Now()
	node, err := actors.Start(actors.Config{
		Store: store, Board: &board, Every: 2 * time.Second, Clock: accounts.NewClock(time.Now()),
		Metrics: set, Log: quiet,
	}, []actors.ChainSpec{spec(source, set, quiet)})
	if err != nil {
		return nil, err
	}
	defer stop(node)

	begun := func(c *rankings.Chain) bool { return c.Status.LastIndexed.Number > 0 }
	c, err := await(&board, begun)
	if err != nil {
		return nil, err
	}
	t := &taken{first: time.Since(opened), events: r.eventsAfter(c.Status.LastIndexed.Number)}
	meter := startMeter(source, provider)
	indexed := func(c *rankings.Chain) bool { return c.Status.LastIndexed.Number >= r.head.Number }
	if _, err := await(&board, indexed); err != nil {
		return nil, err
	}
	meter.stop(t)

	shown := func(c *rankings.Chain) bool {
		return c.View != nil && c.View.State.Head.Number >= r.head.Number
	}
	if c, err = await(&board, shown); err != nil {
		return nil, err
	}
	t.state = digest(c.View.State)
	return t, nil
}

// meter reads what a turn takes.
type meter struct {
	source   *watched
	provider *process.Child
	began    time.Time
	before   readings
}

type readings struct{ own, provider, machine, waited time.Duration }

func startMeter(source *watched, provider *process.Child) *meter {
	m := &meter{source: source, provider: provider, began: time.Now()}
	m.before = m.read()
	return m
}

func (m *meter) read() readings {
	return readings{
		own: process.Own(), provider: m.provider.CPU(), machine: process.ReadMachine().Busy,
		waited: time.Duration(m.source.waited.Load()),
	}
}

func (m *meter) stop(t *taken) {
	t.began, t.took = m.began, time.Since(m.began)
	now := m.read()
	t.cpu, t.provider = now.own-m.before.own, now.provider-m.before.provider
	t.waited = now.waited - m.before.waited
	t.others = max(now.machine-m.before.machine-t.cpu-t.provider, 0)
}

func spec(source feed.Feed, set *metrics.Set, log *slog.Logger) actors.ChainSpec {
	params := value.DefaultParams()
	params.Stables, params.WrappedNative = stables, wrapped
	return actors.ChainSpec{Feed: source, Config: chain.Config{
		Ledger: ledger.Config{Chain: 1, PositionManager: positions, Start: 1},
		Prices: params, UnavailableAfter: 10 * time.Minute, Log: log,
		Metrics: chain.NewMetrics(set, 1),
	}}
}

func stop(node *actors.Node) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := node.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cannot stop a node:", err)
	}
}

// measureLimit bounds one history.
const measureLimit = 90 * time.Second

// await waits until the chain satisfies a condition.
func await(board *rankings.Board, ok func(*rankings.Chain) bool) (*rankings.Chain, error) {
	for end := time.Now().Add(measureLimit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if c, found := board.Load().Chain(1); found && ok(c) {
			return c, nil
		}
	}
	if c, found := board.Load().Chain(1); found {
		return nil, fmt.Errorf("the chain is not where it should be after %s: %+v", measureLimit, c.Status)
	}
	return nil, fmt.Errorf("the chain did not start within %s", measureLimit)
}

// digest identifies the pools, ticks and positions of a state.
func digest(s *market.State) string {
	h := fnv.New128a()
	for i := range s.Pools.Len() {
		fmt.Fprintf(h, "%+v\n", *s.Pools.At(i))
	}
	for i := range s.Ticks.Len() {
		fmt.Fprintf(h, "%+v\n", *s.Ticks.At(i))
	}
	for i := range s.Positions.Len() {
		fmt.Fprintf(h, "%+v\n", *s.Positions.At(i))
	}
	return fmt.Sprintf("%x of %d pools, %d ticks, %d positions", h.Sum(nil)[:6], s.Pools.Len(),
		s.Ticks.Len(), s.Positions.Len())
}
