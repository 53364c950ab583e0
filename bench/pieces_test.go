package bench

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2"

	"tidemark/actors/chain"
	"tidemark/actors/feed"
	"tidemark/actors/feed/sim"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
	"tidemark/rankings/value"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// BenchmarkPieces measures pieces of the node, each with its yardstick: the
// table of goals has their ratios. An operation is one swap, one event, one
// request, one row.
func BenchmarkPieces(b *testing.B) {
	b.Run("Swap", benchmarkSwap)
	b.Run("SwapYardstick", func(b *testing.B) {
		price, target := clmath.SqrtPriceAtTick(swapTick), clmath.SqrtPriceAtTick(swapTick-500)
		left := clmath.U256{1 << 36}
		for b.Loop() {
			clmath.SwapStep(&price, &target, clmath.U128{Lo: 1 << 62}, &left, true, 3000)
		}
	})

	h := record(b)
	b.Run("Events", func(b *testing.B) { benchmarkEvents(b, h) })
	b.Run("EventsYardstick", func(b *testing.B) { benchmarkCommits(b, h) })

	b.Run("Admit", benchmarkAdmit)
	b.Run("AdmitYardstick", func(b *testing.B) {
		key := bytes.Repeat([]byte{'k'}, accounts.KeyLen)
		for b.Loop() {
			sha256.Sum256(key)
		}
	})
	benchmarkRows(b, h)
}

// each reports the time of one of so many operations that a loop has.
func each(b *testing.B, operations int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(operations), "ns/op")
}

// A market for swaps that cross no tick: ten pools of one wide position, each
// traded back and forth, 20 swaps a block and 100 blocks a span.
const (
	swapPools  = 10
	swapBlocks = 100
	swapSpans  = 20
	swapTick   = 184_219 // a price of 10^8, in the middle of a word
)

var pieceLedger = ledger.Config{Chain: 1, PositionManager: market.Address{9}, Start: 1}

func benchmarkSwap(b *testing.B) {
	l := ledger.New(pieceLedger)
	if err := l.Apply(swapGenesis()); err != nil {
		b.Fatal(err)
	}
	first := l.Freeze()
	var spans []market.Span
	for range swapSpans {
		spans = append(spans, swapSpan(b, l))
	}

	for b.Loop() {
		l := ledger.From(pieceLedger, first, nil)
		for i := range spans {
			if err := l.Apply(&spans[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
	each(b, swapSpans*swapBlocks*2*swapPools)
}

func swapGenesis() *market.Span {
	s := &market.Span{From: 1, To: 1, Time: 1_700_000_000, Final: true}
	for i := range swapPools + 1 {
		s.Tokens = append(s.Tokens, market.TokenMeta{Address: market.Address{19: byte(i)}, Decimals: 18})
	}

	block := market.Block{Number: 1, Time: s.Time, Txs: make([]market.Tx, 1)}
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
			block.Logs = append(block.Logs, market.Log{Index: uint32(len(block.Logs)), Event: e})
		}
	}
	s.Blocks = []market.Block{block}
	return s
}

// swapSpan makes the next span and leaves the ledger behind it. Every block has
// a swap down and one up in each pool; the ledger takes the two halves as two
// blocks, since a swap needs the state after the one before.
func swapSpan(b *testing.B, l *ledger.Ledger) (all market.Span) {
	amounts := []clmath.U256{{1 << 36}, {1 << 62}} // about as far down as up
	all = market.Span{From: l.Head().Number + 1, Final: true}
	for range swapBlocks {
		head := l.Head()
		block := market.Block{
			Number: head.Number + 2, Time: head.Time + 12, Txs: make([]market.Tx, 2*swapPools),
		}
		for half, down := range []bool{true, false} {
			st, number := l.Freeze(), head.Number+1+uint64(half)
			from := len(block.Logs)
			for pool := range uint32(swapPools) {
				e, ok := script.Trade(st, pool, script.Order{
					Amount: amounts[half], Down: down, ExactIn: true,
					Limit: clmath.SqrtPriceAtTick(swapTick + 500 - 1000*int32(1-half)),
				})
				if !ok {
					b.Fatal("a pool of the benchmark cannot be traded")
				}
				n := uint32(len(block.Logs))
				block.Logs = append(block.Logs, market.Log{Index: n, Tx: n, Event: e})
			}

			piece := market.Block{Number: number, Time: block.Time, Txs: block.Txs, Logs: block.Logs[from:]}
			if err := l.Apply(&market.Span{
				From: number, To: number, Time: piece.Time, Final: true, Blocks: []market.Block{piece},
			}); err != nil {
				b.Fatal(err)
			}
		}
		all.Blocks = append(all.Blocks, block)
		all.To, all.Time = block.Number, block.Time
	}
	return all
}

// history is the recorded history of a market of the built-in kind and size,
// and what a store took for it.
type history struct {
	cfg      sim.Config
	steps    []feed.Step // the last is near the head, and is published
	events   int         // of all steps but the last
	commits  int
	logBytes uint64
}

// backlog is how many events a chain lets wait for a commit.
const backlog = 20_000

func record(b *testing.B) *history {
	h := &history{cfg: sim.Config{
		Chain: 1, Seed: 1, Positions: 3000, Pools: 80, Days: 90, Genesis: 1_700_006_400, StartBlock: 1,
		PositionManager: pieceLedger.PositionManager, Stables: []market.Address{{1}, {2}, {3}},
		Wrapped: market.Address{4}, Frozen: true,
	}}
	source, err := sim.New(h.cfg)
	if err != nil {
		b.Fatal(err)
	}

	for l := ledger.New(pieceLedger); ; {
		step, err := source.Next(b.Context(), feed.Cursor{Anchors: l.Anchors(), State: l.Freeze()})
		if err != nil {
			b.Fatal(err)
		}
		h.steps = append(h.steps, step)
		if !step.Span.Final {
			break
		}

		if err := l.Apply(step.Span); err != nil {
			b.Fatal(err)
		}
		for i := range step.Span.Blocks {
			h.events += len(step.Span.Blocks[i].Logs)
		}
	}
	if h.commits, h.logBytes, err = h.catchUp(b.TempDir(), len(h.steps)-1); err != nil {
		b.Fatal(err)
	}
	return h
}

// catchUp has a chain follow some steps into a new store: hourly prices, the
// ledger, and commits.
func (h *history) catchUp(dir string, steps int) (commits int, logBytes uint64, err error) {
	quiet := slog.New(slog.DiscardHandler)
	store, err := storage.Open(dir, storage.Options{Logger: quiet, BallastBytes: -1})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	prices := value.DefaultParams()
	prices.Stables, prices.WrappedNative = h.cfg.Stables, h.cfg.Wrapped
	c, err := chain.Open(chain.Config{
		Ledger: pieceLedger, Prices: prices, WantsState: true, UnavailableAfter: time.Minute,
		Log: quiet, Metrics: chain.NewMetrics(metrics.NewSet(), pieceLedger.Chain),
	}, store, new(rankings.Board))
	if err != nil {
		return 0, 0, err
	}

	for i := range steps {
		if err := c.Advance(h.steps[i], time.Now()); err != nil {
			return 0, 0, err
		}
		if c.Backlog() > backlog || i == steps-1 {
			if err := c.Refresh(time.Now, func() {}); err != nil {
				return 0, 0, err
			}
			commits++
		}
	}
	return commits, store.Usage().LogBytes, nil
}

func benchmarkEvents(b *testing.B, h *history) {
	for i := 0; b.Loop(); i++ {
		if _, _, err := h.catchUp(filepath.Join(b.TempDir(), fmt.Sprint(i)), len(h.steps)-1); err != nil {
			b.Fatal(err)
		}
	}
	each(b, h.events)
}

// benchmarkCommits has Pebble alone commit as many batches of as many bytes.
func benchmarkCommits(b *testing.B, h *history) {
	const record = 200 // bytes, about what the store's have
	random := mathrand.NewChaCha8([32]byte{1})
	noise := make([]byte, record)
	records := int(h.logBytes) / h.commits / record

	for i := 0; b.Loop(); i++ {
		db, err := pebble.Open(filepath.Join(b.TempDir(), fmt.Sprint(i)), new(pebble.Options))
		if err != nil {
			b.Fatal(err)
		}
		for range h.commits {
			batch := db.NewBatch()
			for range records {
				random.Read(noise)
				batch.Set(noise[:16], noise[16:], nil)
			}
			if err := batch.Commit(pebble.Sync); err != nil {
				b.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
	each(b, h.events)
}

// benchmarkAdmit measures what every request passes before it is answered and
// after: one of 20,000 keys, its account's burst and units.
func benchmarkAdmit(b *testing.B) {
	const keys, owners, units = 20_000, 2000, 1 << 40
	now := time.Now().UnixNano()
	plan := accounts.Plan{ID: "bench", MonthlyUnits: units, RequestsPerSecond: 1e6, Burst: 1e6}
	terms, month := accounts.NewTerms(&plan, false), accounts.MonthAt(now)
	book := accounts.NewBook(accounts.NewTurner(now, 0).Step(now, now))
	book.SetAlive(now + int64(24*time.Hour))
	cells := make([]*accounts.Cell, owners)
	for i := range cells {
		cells[i] = accounts.NewCell(uint64(i+1), fmt.Sprint("bench", i), 0, terms)
		cells[i].Begin(month)
		cells[i].Open(month, units)
	}

	// The headers lie in the order of the requests, as in a connection's
	// buffer; what they lead to is all over the memory.
	headers := make([]byte, keys*accounts.KeyLen)
	for i, at := range mathrand.New(mathrand.NewPCG(1, 2)).Perm(keys) {
		key, err := accounts.NewKey(rand.Reader, accounts.Server)
		if err != nil {
			b.Fatal(err)
		}
		copy(headers[at*accounts.KeyLen:], key)
		book.Add(&accounts.Key{
			ID: uint64(i + 1), Hash: accounts.HashKey([]byte(key)),
			Prefix: key[:accounts.PrefixLen], Cell: cells[i%owners],
		}, 0, 0)
	}

	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now += int64(10 * time.Microsecond)
		at := i % keys * accounts.KeyLen
		key, why := book.Resolve(headers[at : at+accounts.KeyLen])
		if why != accounts.Accepted {
			b.Fatal(why)
		}
		ticket := book.Admit(key, now)
		if !ticket.Take() {
			b.Fatal("an account has no burst left")
		}
		if got := book.Reserve(&ticket, unitsList); got != accounts.Granted {
			b.Fatal(got)
		}
		book.Settle(&ticket, accounts.RoutePositions, unitsList)
	}
}

// prepared is a position that is ready to be rendered.
type prepared struct {
	index   uint32
	metrics value.Metrics
	share   *render.Share
}

// benchmarkRows measures rows of open positions, in turns so that they are not
// all in the cache: from their values, and with the values computed.
func benchmarkRows(b *testing.B, h *history) {
	dir := b.TempDir()
	if _, _, err := h.catchUp(dir, len(h.steps)); err != nil {
		b.Fatal(err)
	}
	store, err := storage.Open(dir, storage.Options{ReadOnly: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	kept, err := store.Restore(pieceLedger.Chain)
	if err != nil || kept == nil || !kept.Warm(func() bool { return false }) {
		b.Fatalf("cannot restore the history: %v", err)
	}

	st := kept.State
	var rows []prepared
	var plain []numbers
	var gaps []int // fixed bytes for every number of a row
	dst := make([]byte, 0, 8<<10)
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		if p.Liquidity.IsZero() {
			continue
		}
		r := prepared{index: i}
		value.Position(st, i, &r.metrics)
		r.share = render.NewShare(st, p.Pool, &r.metrics)
		rows = append(rows, r)
		dst = render.AppendPosition(dst[:0], st, i, &r.metrics, r.share, uint64(len(rows)))

		spelled, all := 0, numbersOf(dst)
		for k := range all {
			spelled += len(all[k].append(nil))
		}
		plain, gaps = append(plain, all), append(gaps, (len(dst)-spelled)/len(all))
	}

	f := func(name string, row func(i int)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				row(i % len(rows))
			}
		})
	}
	f("Row", func(i int) {
		r := &rows[i]
		dst = render.AppendPosition(dst[:0], st, r.index, &r.metrics, r.share, uint64(i+1))
	})
	f("RowWithValues", func(i int) {
		r := &rows[i]
		value.Position(st, r.index, &r.metrics)
		dst = render.AppendPosition(dst[:0], st, r.index, &r.metrics, r.share, uint64(i+1))
	})
	fixed := bytes.Repeat([]byte{'x'}, cap(dst))
	f("RowYardstick", func(i int) {
		dst = dst[:0]
		for k := range plain[i] {
			dst = append(plain[i][k].append(dst), fixed[:gaps[i]]...)
		}
	})
}

// What Go prints is read by name and unit, and repeated runs by their median.
func TestPieces(t *testing.T) {
	values := pieces("goos: linux\nBenchmarkPieces/Swap-2 \t 100\t 12.5 ns/op\t 3 allocs/op\n" +
		"BenchmarkPieces/Swap-2 100 10 ns/op 3 allocs/op\nBenchmarkPieces/Swap-2 9 99 ns/op 3 allocs/op\n" +
		"BenchmarkOther-2 1 1 ns/op\nPASS\n")
	if len(values) != 2 || values[0].Name != "Swap ns/op" || values[0].Value != 12.5 ||
		values[1].Name != "Swap allocs/op" || values[1].Value != 3 {
		t.Errorf("%+v", values)
	}
}
