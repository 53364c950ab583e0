package storage_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors"
	"tidemark/actors/chain"
	"tidemark/actors/feed"
	"tidemark/actors/feed/sim"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// history is the past of a simulated chain, for benchmarks and tests in which a chain
// follows it.
type history struct {
	market sim.Config
	spans  []*market.Span
	events int
}

var manager, stables, wrapped = market.Address{9}, []market.Address{{1}, {2}, {3}}, market.Address{4}

// newHistory returns what ends with a span that no reorganisation reaches.
func newHistory(t testing.TB, positions, pools, days int) *history {
	t.Helper()
	genesis := int64(1_750_000_000 / 3600 * 3600)
	end := time.Unix(genesis, 0).Add(time.Duration(days) * 24 * time.Hour)
	h := &history{market: sim.Config{
		Chain: 1, Seed: 5, Positions: positions, Pools: pools, Days: days, Genesis: genesis,
		StartBlock: 1000, PositionManager: manager, Stables: stables, Wrapped: wrapped,
		Now: func() time.Time { return end },
	}}
	source, err := sim.New(h.market)
	if err != nil {
		t.Fatal(err)
	}

	c := h.open(t, openStore(t, nil), chain.Config{WantsState: true})
	for {
		step, err := source.Next(t.Context(), c.Cursor())
		if err != nil {
			t.Fatal(err)
		}
		if step.Span == nil || !step.Span.Final {
			return h
		}
		h.spans = append(h.spans, step.Span)
		for i := range step.Span.Blocks {
			h.events += len(step.Span.Blocks[i].Logs)
		}
		h.apply(t, c, step.Span)
	}
}

// openStore opens a new store.
func openStore(t testing.TB, tee func(market.ChainID, []byte, []byte) ([]byte, error)) *storage.Store {
	t.Helper()
	s, err := storage.Open(t.TempDir(), storage.Options{
		Logger: slog.New(slog.DiscardHandler), BallastBytes: -1, Tee: tee,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// open opens the chain of the history from a store. It is always far behind its head.
func (h *history) open(t testing.TB, s *storage.Store, cfg chain.Config) *chain.Chain {
	t.Helper()
	cfg.Ledger = ledger.Config{Chain: 1, PositionManager: manager, Start: h.market.StartBlock}
	cfg.Prices = value.DefaultParams()
	cfg.Prices.Stables, cfg.Prices.WrappedNative = stables, wrapped
	cfg.Log, cfg.Metrics = slog.New(slog.DiscardHandler), chain.NewMetrics(metrics.NewSet(), 1)

	c, err := chain.Open(cfg, s, new(rankings.Board))
	if err == nil {
		err = c.Load(func() bool { return false })
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Complete(func() {})
	return c
}

// apply takes a span into the ledger.
func (h *history) apply(t testing.TB, c *chain.Chain, span *market.Span) {
	t.Helper()
	head := h.market.Now()
	step := feed.Step{Span: span, Head: market.Head{Number: span.To + 1, Time: head.Unix() + 1}}
	if err := c.Advance(step, head); err != nil {
		t.Fatal(err)
	}
}

// eventsPerCommit is about as many as the actor of a chain commits at once.
const eventsPerCommit = 7_000

// follow has a chain take the history into an empty store, as it does that catches up.
func (h *history) follow(t testing.TB, s *storage.Store) {
	t.Helper()
	c := h.open(t, s, chain.Config{Background: actors.Background})

	for i, span := range h.spans {
		h.apply(t, c, span)
		if c.Backlog() > eventsPerCommit || i == len(h.spans)-1 {
			if err := c.Refresh(time.Now, func() {}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Settle(); err != nil {
		t.Fatal(err)
	}
}

// batches returns what the store commits of the history.
func (h *history) batches(t testing.TB) (batches [][]byte) {
	t.Helper()
	h.follow(t, openStore(t, func(_ market.ChainID, batch, _ []byte) ([]byte, error) {
		batches = append(batches, slices.Clone(batch))
		return nil, nil
	}))
	return batches
}

// BenchmarkEvents has a chain that catches up apply the mixed events of a simulated
// history and make them durable, a commit every 7,000 or so. of-pebble is its rate over
// that at which Pebble alone commits the same batches, in turns; seconds-% is what the
// seconds of the time in range take of the log.
//
// A market has an event an hour for every four of its pools. In a small one all pools move
// between two commits, and their rows are written once for many events.
func BenchmarkEvents(b *testing.B) {
	h := newHistory(b, 12_000, 320, 90)
	batches := h.batches(b)
	var took, alone []time.Duration
	written := uint64(0)
	for b.Loop() {
		b.StopTimer()
		alone = append(alone, storage.PebbleAlone(b, batches))
		s := openStore(b, nil)
		b.StartTimer()
		started := time.Now()
		h.follow(b, s)
		took = append(took, time.Since(started))
		b.StopTimer()
		written += s.Usage().LogBytes
		b.StartTimer()
	}

	slices.Sort(took)
	slices.Sort(alone)
	half := b.N / 2
	b.ReportMetric(float64(alone[half])/float64(took[half]), "of-pebble")
	b.ReportMetric(float64(h.events)/took[half].Seconds(), "events/s")
	b.ReportMetric(float64(written)/float64(h.events)/float64(b.N), "WAL-B/event")
	b.ReportMetric(100*storage.SecondsShare(batches), "seconds-%")
}
