package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/chain"
	"tidemark/actors/feed"
	"tidemark/actors/feed/sim"
	"tidemark/bench/report"
	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// runLedger measures events by themselves: the simplest ones into memory, and
// all kinds of them into a store, as a chain does that catches up.
func runLedger(ctx context.Context, s *suite, out *report.Scenario) error {
	out.Connections = 0
	swaps, err := s.swapsInMemory(ctx)
	if err != nil {
		return err
	}
	mixed, err := s.mixedDurably(ctx)
	if err != nil {
		return err
	}
	out.Values = append(out.Values,
		report.Value{Name: "swaps in memory", Value: swaps.perSecond(), Unit: "events/s"},
		report.Value{Name: "mixed events durably", Value: mixed.perSecond(), Unit: "events/s"})
	return nil
}

// A market for swaps that cross no tick: ten pools of one wide position, each
// traded back and forth, 20 swaps a block and 100 blocks a span.
const (
	swapPools  = 10
	swapBlocks = 100
	swapSpans  = 20
	swapTick   = 184_219 // a price of 10^8, in the middle of a word
)

var partLedger = ledger.Config{Chain: 1, PositionManager: market.Address{9}, Start: 1}

// swapsInMemory applies spans of swaps to a ledger again and again.
func (s *suite) swapsInMemory(ctx context.Context) (pace, error) {
	l := ledger.New(partLedger)
	if _, err := l.Apply(swapGenesis()); err != nil {
		return pace{}, err
	}
	first := l.Freeze()
	var spans []market.Span
	for range swapSpans {
		span, err := swapSpan(l)
		if err != nil {
			return pace{}, err
		}
		spans = append(spans, span)
	}
	return s.timed(ctx, func() (int, error) {
		l := ledger.From(partLedger, first, nil)
		for i := range spans {
			if _, err := l.Apply(&spans[i]); err != nil {
				return 0, err
			}
		}
		return swapSpans * swapBlocks * 2 * swapPools, nil
	})
}

func swapGenesis() *market.Span {
	s := &market.Span{From: 1, To: 1, Time: 1_700_000_000, Final: true}
	b := market.Block{Number: 1, Time: s.Time, Txs: make([]market.Tx, 1)}
	for i := range swapPools + 1 {
		s.Tokens = append(s.Tokens, market.TokenMeta{Address: market.Address{19: byte(i)}, Decimals: 18})
	}
	for i := range swapPools {
		id := market.PoolID{byte(i), 7}
		for _, e := range []market.Event{
			market.Initialize{
				Pool: id, Currency0: s.Tokens[i].Address, Currency1: s.Tokens[swapPools].Address,
				Fee: 3000, TickSpacing: 60, Tick: swapTick, SqrtPriceX96: clmath.SqrtPriceAtTick(swapTick),
			},
			market.ModifyLiquidity{
				Pool: id, Sender: market.Address{1}, TickLower: 120_000, TickUpper: 240_000,
				LiquidityDelta: clmath.I128{Lo: 1 << 62},
			},
		} {
			b.Logs = append(b.Logs, market.Log{Index: uint32(len(b.Logs)), Event: e})
		}
	}
	s.Blocks = []market.Block{b}
	return s
}

// swapSpan makes the next span and leaves the ledger behind it.
func swapSpan(l *ledger.Ledger) (all market.Span, err error) {
	amounts := []clmath.U256{{1 << 36}, {1 << 62}} // about as far up as down
	head := l.Head()
	all = market.Span{From: head.Number + 1, Final: true}
	for range swapBlocks {
		head = l.Head()
		b := market.Block{
			Number: head.Number + 1, Time: head.Time + 12, Txs: make([]market.Tx, 2*swapPools),
		}
		for half, down := range []bool{true, false} {
			st := l.Freeze()
			piece := market.Block{Number: b.Number + uint64(half), Time: b.Time, Txs: b.Txs}
			for pool := range uint32(swapPools) {
				limit := clmath.SqrtPriceAtTick(swapTick + 500 - 1000*int32(1-half))
				e, ok := script.Trade(st, pool, script.Order{
					Amount: amounts[half], Down: down, ExactIn: true, Limit: limit,
				})
				if !ok {
					panic("BUG: a pool of the bench cannot be traded")
				}
				n := uint32(len(b.Logs))
				b.Logs = append(b.Logs, market.Log{Index: n, Tx: n, Event: e})
				piece.Logs = append(piece.Logs, b.Logs[n])
			}
			// Each half is a block of its own here: a state is between them.
			_, err = l.Apply(&market.Span{
				From: piece.Number, To: piece.Number, Time: piece.Time, Final: true,
				Blocks: []market.Block{piece},
			})
			if err != nil {
				return all, err
			}
		}
		b.Number = head.Number + 2
		all.Blocks = append(all.Blocks, b)
		all.To, all.Time = b.Number, b.Time
	}
	return all, nil
}

// A history of the built-in market's kind and size.
const (
	mixedPositions = 3000
	mixedPools     = 80
	mixedDays      = 90
	// mixedBacklog is how many events a chain lets wait for a commit.
	mixedBacklog = 20_000
)

// mixedDurably has a chain catch up with a history that was recorded before:
// hourly prices, the ledger, and a store on the disk of the corpus.
func (s *suite) mixedDurably(ctx context.Context) (pace, error) {
	cfg := sim.Config{
		Chain: 1, Seed: s.Seed, Positions: mixedPositions, Pools: mixedPools, Days: mixedDays,
		Genesis: 1_700_006_400, StartBlock: 1, PositionManager: partLedger.PositionManager,
		Stables: []market.Address{{1}, {2}, {3}}, Wrapped: market.Address{4}, Frozen: true,
	}
	steps, events, err := recorded(ctx, cfg)
	if err != nil {
		return pace{}, err
	}
	run := 0
	return s.timed(ctx, func() (int, error) {
		run++
		dir := filepath.Join(s.workDir(), fmt.Sprintf("ledger-%d", run))
		if err := catchUp(dir, cfg, steps); err != nil {
			return 0, err
		}
		return events, os.RemoveAll(dir)
	})
}

// recorded plays a history and keeps what the feed said.
func recorded(ctx context.Context, cfg sim.Config) (steps []feed.Step, events int, err error) {
	source, err := sim.New(cfg)
	if err != nil {
		return nil, 0, err
	}
	l := ledger.New(partLedger)
	for {
		step, err := source.Next(ctx, feed.Cursor{Anchors: l.Anchors(), State: l.Freeze()})
		if err != nil {
			return nil, 0, err
		}
		if !step.Span.Final { // what is near the head is published, not only kept
			return steps, events, nil
		}
		if _, err := l.Apply(step.Span); err != nil {
			return nil, 0, err
		}
		for i := range step.Span.Blocks {
			events += len(step.Span.Blocks[i].Logs)
		}
		steps = append(steps, step)
	}
}

// catchUp takes the steps into a new store.
func catchUp(dir string, cfg sim.Config, steps []feed.Step) (err error) {
	quiet := slog.New(slog.DiscardHandler)
	store, err := storage.Open(dir, storage.Options{Logger: quiet, BallastBytes: -1})
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := store.Close(); err == nil {
			err = closeErr
		}
	}()
	prices := value.DefaultParams()
	prices.Stables, prices.WrappedNative = cfg.Stables, cfg.Wrapped
	c, err := chain.Open(chain.Config{
		Ledger: partLedger, Prices: prices, WantsState: true, UnavailableAfter: time.Minute,
		Log: quiet, Metrics: chain.NewMetrics(metrics.NewSet(), partLedger.Chain),
	}, store, new(rankings.Board))
	if err != nil {
		return err
	}
	for i := range steps {
		if err := c.Advance(steps[i], time.Now()); err != nil {
			return err
		}
		if c.Backlog() > mixedBacklog || i == len(steps)-1 {
			if err := c.Refresh(time.Now, func() {}); err != nil {
				return err
			}
		}
	}
	return nil
}
