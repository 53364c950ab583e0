package ledger

import (
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// BenchmarkSwaps applies swaps that cross no tick, 20 a block and 100 blocks a
// span, in ten pools of which each trades back and forth.
func BenchmarkSwaps(b *testing.B) {
	w := newWorld(1)
	first := market.Span{From: 100, To: 100, Time: 1_700_000_000, Tokens: testTokens(), Final: true}
	block := market.Block{Number: 100, Time: first.Time, Txs: make([]market.Tx, 1)}
	for range 10 {
		for _, e := range w.benchPool(uint32(len(block.Logs) / 2)) {
			block.Logs = append(block.Logs, market.Log{Index: uint32(len(block.Logs)), Event: e})
		}
	}

	first.Blocks = []market.Block{block}
	apply(b, w.Ledger, &first)
	st := w.Freeze()
	var spans []market.Span
	swaps := 0
	for range 20 {
		s := w.benchSwaps()
		apply(b, w.Ledger, &s)
		spans = append(spans, s)
		swaps += 2000
	}

	run(b, w.cfg, st, spans, swaps, 0)
}

// benchTick is a price of 10^8, in the middle of a word and with many bits set.
const benchTick = 184_219

// benchPool makes a pool with liquidity around the price.
func (w *world) benchPool(n uint32) []market.Event {
	p := market.PoolID{byte(n), 7}

	return []market.Event{
		market.Initialize{
			Pool: p, Currency0: market.Address{19: byte(n % 4)}, Currency1: market.Address{19: 4},
			Fee: 3000, TickSpacing: 60,
			Tick: benchTick, SqrtPriceX96: clmath.SqrtPriceAtTick(benchTick),
		},
		market.ModifyLiquidity{
			Pool: p, Sender: w.owner(), TickLower: 120_000, TickUpper: 240_000,
			LiquidityDelta: clmath.I128{Lo: 1 << 62},
		},
	}
}

func (w *world) benchSwaps() market.Span {
	head := w.Head()
	amounts := []clmath.U256{{1 << 36}, {1 << 62}} // about the same price move both ways
	s := market.Span{
		From: head.Number + 1, To: head.Number + 100, Time: head.Time + 1200, Final: true,
	}
	w.beginSpan()
	for n := range uint64(100) {
		blk := market.Block{Number: s.From + n, Time: head.Time + int64(n)*12, Txs: make([]market.Tx, 20)}
		w.advanceClock(blk.Time)
		for k := range uint32(20) {
			e, ok := script.Trade(&w.st, k%10, script.Order{
				Amount: amounts[k/10], Down: k < 10, ExactIn: true,
				Limit: clmath.SqrtPriceAtTick(benchTick + 500 - 1000*bool32(k < 10)),
			})
			if !ok {
				panic("no trade")
			}
			blk.Logs = append(blk.Logs, market.Log{Index: k, Tx: k, Event: e})
			w.at = eventPlace{&blk, &blk.Logs[k], market.NoIndex}
			if err := w.applyEvent(e); err != nil {
				panic(err)
			}
		}

		s.Blocks = append(s.Blocks, blk)
	}

	w.abandonSpan()
	return s
}

// BenchmarkMixed applies random markets: swaps that cross ticks, changes of
// positions, transfers, donations.
func BenchmarkMixed(b *testing.B) { mixed(b, 0) }

// BenchmarkMixedPast is BenchmarkMixed for a chain that catches up, most hours of which
// are too old to be kept. The market goes on for years.
func BenchmarkMixedPast(b *testing.B) { mixed(b, market.NoIndex) }

func mixed(b *testing.B, hoursFrom uint32) {
	b.Helper()
	w := newWorld(3)
	var spans []market.Span
	var st *market.State
	events := 0
	for n := range 3000 {
		s := w.step().span
		apply(b, w.Ledger, &s)
		if n == 300 {
			st = w.Freeze()
			spans, events = nil, 0
		} else {
			s.Final = true
			spans = append(spans, s)
			for i := range s.Blocks {
				events += len(s.Blocks[i].Logs)
			}
		}
	}

	run(b, w.cfg, st, spans, events, hoursFrom)
}

// run puts hours from a day on.
func run(
	b *testing.B, c Config, st *market.State, spans []market.Span, events int, hoursFrom uint32,
) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		l := From(c, st, nil, func() {})
		l.SkipHours(hoursFrom)
		for i := range spans {
			apply(b, l, &spans[i])
			if i%64 == 63 {
				l.Changes()
			}
		}
	}

	each := b.Elapsed().Seconds() / float64(b.N) / float64(events)
	b.ReportMetric(1/each, "events/s")
	b.ReportMetric(1e9*each, "ns/event")
}

func bool32(x bool) int32 {
	if x {
		return 1
	}
	return 0
}
