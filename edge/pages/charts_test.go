package pages

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/chain"
	"tidemark/actors/feed/sim"
	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// playMarket plays a small market into a store: pages over it, its view, and
// the states that it passed on the way.
func playMarket(t *testing.T) (*Pages, *rankings.View, []*market.State) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store, err := storage.Open(t.TempDir(), storage.Options{Logger: quiet})
	must(err)
	t.Cleanup(func() { must(store.Close()) })

	manager, wrapped := market.Address{0xaa}, market.Address{0x02}
	params := value.DefaultParams()
	params.Stables = []market.Address{{0x01, 1}, {0x02, 1}, {0x03, 1}}
	params.WrappedNative = wrapped
	source, err := sim.New(sim.Config{
		Chain: 1, Seed: 7, Positions: 300, Pools: 20, Days: 40, Actions: 1800,
		Genesis: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).Unix(), StartBlock: 100,
		PositionManager: manager, Stables: params.Stables, Wrapped: wrapped, Frozen: true,
		SpanEvents: 40,
	})
	must(err)
	board := new(rankings.Board)
	c, err := chain.Open(chain.Config{
		Ledger: ledger.Config{Chain: 1, PositionManager: manager, Start: 100},
		Prices: params, WantsState: true, UnavailableAfter: 10 * time.Minute,
		Log: quiet, Metrics: chain.NewMetrics(metrics.NewSet(), 1),
	}, store, board)
	must(err)

	var passed []*market.State
	for {
		cursor := c.Cursor()
		passed = append(passed, cursor.State)
		step, err := source.Next(context.Background(), cursor)
		must(err)
		must(c.Advance(step, time.Now()))
		if c.Status().LastIndexed.Number == step.Head.Number {
			break
		}
	}
	must(c.Refresh(func() {}))

	p, err := New(&Config{
		Board: board, Store: store, Limits: DefaultLimits(), Metrics: metrics.NewSet(),
	})
	must(err)
	t.Cleanup(func() { must(p.Close(context.Background())) })
	at, _ := board.Load().Chain(1)
	return p, at.View, passed
}

// TestPositionSeriesPast holds amounts and uncollected fees of past days to the
// raw unit against states of the ledger that it had on the way, wherever such
// a state was still the pool's when the day ended.
func TestPositionSeriesPast(t *testing.T) {
	s, view, passed := playMarket(t)
	st, compared := view.State, 0
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		line, err := s.timeline(view, p.Pool, chartStart(st, p.Pool, 0))
		must(err)
		history, ok, err := s.changes(view, i)
		must(err)
		if !ok || len(history) == 0 {
			continue
		}
		lower, err := s.outsides(1, p.Pool, p.TickLower, line)
		must(err)
		upper, err := s.outsides(1, p.Pool, p.TickUpper, line)
		must(err)
		for _, past := range passed {
			if i >= past.Positions.Len() || !past.Positions.At(i).IsOpen() {
				continue
			}
			k := int(market.DayOf(past.Now()) - line.first)
			end, then := &line.ends[k], past.Pools.At(p.Pool)
			at := &history[0]
			for h := range history {
				if history[h].day <= end.Day {
					at = &history[h]
				}
			}
			if end.FeeGrowthGlobal0X128 != then.FeeGrowthGlobal0X128 || end.Close != then.SqrtPriceX96 ||
				end.FeeGrowthGlobal1X128 != then.FeeGrowthGlobal1X128 ||
				at.after != past.Positions.At(i).Liquidity || at.flow.collected != collected(past, i) {
				continue
			}
			e := dayOf{st: st, p: p, d: end, c: at}
			held, owed, known := e.holding(&lower[k], &upper[k])
			priced := *past
			priced.Prices, priced.Native = st.Prices, market.NoIndex
			var m value.Metrics
			value.Position(&priced, i, &m)
			if compared++; held != m.Current.Raw || known && (off(owed[0], m.Uncollected.Raw[0]) || off(owed[1], m.Uncollected.Raw[1])) {
				t.Errorf("position %d, day %d: got %v and %v (%v); want %v and %v", p.ID, end.Day,
					held, owed, known, m.Current.Raw, m.Uncollected.Raw)
			}
		}
	}
	if compared < 500 {
		t.Errorf("only %d days were compared", compared)
	}
	t.Log(compared, "days compared")
}

// off reports whether got is more than a hundred raw units below want, one for
// each change since, or above it.
func off(got, want clmath.U256) bool {
	var less clmath.U256
	less.Sub(&want, &got)
	return less.GtUint64(100)
}

func collected(st *market.State, i uint32) [2]clmath.U256 {
	sums := st.Sums(st.Positions.At(i))
	return [2]clmath.U256{sums.Collected0, sums.Collected1}
}
