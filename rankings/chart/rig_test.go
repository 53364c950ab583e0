package chart

import (
	"cmp"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/chain"
	"tidemark/actors/feed/sim"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// played is a simulated market in a store: the State at its head, and those
// on the way to it.
type played struct {
	t     *testing.T
	store *storage.Store
	st    *market.State
	past  []*market.State
	step  Step   // of the charts that are made
	days  uint32 // of their range
}

// playMarket plays some weeks of a small market, and so many hours after them.
func playMarket(t *testing.T, live time.Duration) *played {
	t.Helper()
	return play(t, live, sim.Config{Positions: 200, Pools: 26, Days: 25, Actions: 1200})
}

// play plays a market of a size, and so many hours after it.
func play(t *testing.T, live time.Duration, size sim.Config) *played {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store, err := storage.Open(t.TempDir(), storage.Options{BallastBytes: -1, Logger: quiet})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })

	genesis := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	stables := []market.Address{{0x01, 1}, {0x02, 1}, {0x03, 1}}
	size.Chain, size.Seed, size.StartBlock = 1, cmp.Or(size.Seed, 7), 100
	size.SpanEvents = cmp.Or(size.SpanEvents, 40)
	size.Genesis, size.PositionManager = genesis.Unix(), market.Address{0xaa}
	size.Stables, size.Wrapped = stables, market.Address{0x02}
	size.Now = func() time.Time { return genesis.AddDate(0, 0, size.Days).Add(live) }
	source, err := sim.New(size)
	must(t, err)
	params := value.DefaultParams()
	params.Stables, params.WrappedNative = stables, market.Address{0x02}
	board := new(rankings.Board)
	c, err := chain.Open(chain.Config{
		Ledger: ledger.Config{Chain: 1, PositionManager: market.Address{0xaa}, Start: 100},
		Prices: params, WantsState: true, UnavailableAfter: 10 * time.Minute,
		Log: quiet, Metrics: chain.NewMetrics(metrics.NewSet(), 1),
	}, store, board)
	must(t, err)

	p := &played{t: t, store: store, step: Daily}
	for {
		cursor := c.Cursor()
		p.past = append(p.past, cursor.State)
		step, err := source.Next(context.Background(), cursor)
		must(t, err)
		must(t, c.Advance(step, time.Now()))
		if c.Status().LastIndexed.Number == step.Head.Number {
			break
		}
	}
	must(t, c.Refresh(time.Now, func() {}))
	view, _ := board.Load().Chain(1)
	p.st = view.View.State
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// timeline reads all days of a pool, or the hours that are kept.
func (p *played) timeline(pool uint32) *Timeline {
	st, at, today := p.st, p.st.Pools.At(pool), market.DayOf(p.st.Now())
	from, now := p.step.First(st, pool, p.days), p.step.Of(st.Now())
	r := &Records{
		Quotes: [2][]value.Quote{p.quotes(at.Currency0, from, now), p.quotes(at.Currency1, from, now)},
	}
	for _, d := range all(p, p.store.PoolDays(st.Chain, pool, 0, today, storage.OldestFirst)) {
		end := EndOfDay(&d)
		switch {
		case p.step == Daily:
			r.Ends = append(r.Ends, end)
		case d.Day < from/market.HoursOfDay:
			r.Ends = []End{end.LastHour()}
		case len(r.Ends) == 0 && r.Opening == 0:
			r.Opening = end.Open
		}
	}

	if p.step == Hourly {
		hours, err := p.store.PoolHours(st.Chain, pool, from/market.HoursOfDay, today)
		must(p.t, err)
		for i := range hours {
			r.Ends = append(r.Ends, EndOfHour(&hours[i]))
		}
	}
	return NewTimeline(st, pool, p.step, from, r)
}

func (p *played) quotes(token, from, now uint32) (quotes []value.Quote) {
	read := p.store.DayPrices
	if p.step == Hourly {
		read = p.store.PricesByHour
	}
	records, err := read(p.st.Chain, token, from, now)
	must(p.t, err)
	for _, r := range records {
		quotes = append(quotes, value.QuoteOf(&market.Price{
			Usd: r.Usd, ExitUsd: r.ExitUsd, OnlyPool: r.OnlyPool, Corroborated: r.Corroborated,
		}))
	}
	return quotes
}

// records reads all that is kept of a position.
func (p *played) records(i uint32, t *Timeline) *PositionRecords {
	st, at, today := p.st, p.st.Positions.At(i), market.DayOf(p.st.Now())
	outside := func(tick int32) (outside []Outside) {
		for _, d := range all(p, p.store.TickDays(st.Chain, at.Pool, tick, 0, today, storage.OldestFirst)) {
			o := OutsideOfDay(&d)
			if p.step == Hourly && d.Day >= t.From()/market.HoursOfDay {
				break
			} else if p.step == Hourly {
				o = o.LastHour()
			}
			outside = append(outside, o)
		}
		if p.step == Hourly {
			hours, err := p.store.TickHours(st.Chain, at.Pool, tick, t.From()/market.HoursOfDay, today)
			must(p.t, err)
			for i := range hours {
				outside = append(outside, OutsideOfHour(&hours[i]))
			}
		}
		return outside
	}

	begin, last := t.PositionPast(i)
	r := &PositionRecords{
		History: NewHistory(at, p.step, begin, last), Lower: outside(at.TickLower), Upper: outside(at.TickUpper),
		Native: p.quotes(st.Native, t.From(), p.step.Of(st.Now())),
	}

	end := storage.End(st.Head.Number)
	entries := all(p, p.store.Transactions(st.Chain, i, storage.Place{}, end, storage.OldestFirst))
	for k := range entries {
		r.History.Add(&entries[k])
	}
	return r
}

// all reads a series to its end.
func all[T any](p *played, it *storage.Series[T]) (entries []T) {
	defer it.Close()
	for it.Next() {
		entries = append(entries, *it.Entry())
	}
	must(p.t, it.Err())
	return entries
}
