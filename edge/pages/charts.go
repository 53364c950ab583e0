package pages

import (
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/chart"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// poolCharts renders the charts of a pool.
func (s *Pages) poolCharts(q *Question, v *rankings.View, i uint32) (*Page, *render.Error) {
	turn, busy := s.beginCharts(q, v.State, i)
	if busy != nil {
		return nil, busy
	}
	defer turn.end()

	t, err := s.timeline(v.State, i, q.Range.Days())
	if err != nil {
		return nil, errUnreadable(err)
	}

	days := t.Days()
	body := appendCharts(q, v.State, i, &days, nil)
	return &Page{Body: append(render.AppendPoolSeries(body, &days), '}')}, nil
}

// positionCharts renders the charts of a position.
func (s *Pages) positionCharts(q *Question, v *rankings.View, i uint32) (*Page, *render.Error) {
	p := v.State.Positions.At(i)
	turn, busy := s.beginCharts(q, v.State, p.Pool)
	if busy != nil {
		return nil, busy
	}
	defer turn.end()

	t, err := s.timeline(v.State, p.Pool, q.Range.Days())
	if err != nil {
		return nil, errUnreadable(err)
	}
	series, err := s.positionSeries(v.State, i, t)
	if err != nil {
		return nil, errUnreadable(err)
	}

	days := t.Days()
	body := appendCharts(q, v.State, p.Pool, &days, p)
	return &Page{Body: append(render.AppendPositionSeries(body, &series), '}')}, nil
}

// beginCharts waits for the turn of charts of many days. Others do not wait.
func (s *Pages) beginCharts(q *Question, st *market.State, pool uint32) (work, *render.Error) {
	days := market.DayOf(st.Now()) - chart.FirstDay(st, pool, q.Range.Days())
	if days < longChart {
		return work{}, nil
	}
	return s.admission.begin(task{q.Account, chartTask, int(days)})
}

// appendCharts begins the body of a chart with the parts that pools and positions
// have in common. of is the position whose range is marked, or nil.
func appendCharts(
	q *Question, st *market.State, pool uint32, days *chart.Days, of *market.Position,
) []byte {
	p := st.Pools.At(pool)
	body := make([]byte, 0, chartBytes+chartDayBytes*len(days.Days))
	body = append(body, `{"range":"`...)
	body = append(append(body, q.Range.String()...), '"')
	body = render.AppendPoolPrice(body, days)
	body = render.AppendPoolOverview(body, days)
	body = render.AppendDistribution(body, p, render.Decimals(st, p), chart.Bins(st, pool), of)
	return render.AppendPoolOverviewCurrent(body, st, pool)
}

// timeline reads the stored days of a pool: the last days of them, or all when
// days is 0.
func (s *Pages) timeline(st *market.State, pool, days uint32) (*chart.Timeline, error) {
	from, today := chart.FirstDay(st, pool, days), market.DayOf(st.Now())
	var kept chart.Records

	// The last day before the range carries its price into a gap at the start.
	before, known, err := s.cfg.Store.PoolDayAt(st.Chain, pool, from-1)
	if err != nil {
		return nil, err
	}
	if known {
		kept.Days = append(kept.Days, before)
	}
	it := s.cfg.Store.PoolDays(st.Chain, pool, from, today, storage.OldestFirst)
	if kept.Days, err = readSeries(it, kept.Days); err != nil {
		return nil, err
	}

	p := st.Pools.At(pool)
	for leg, token := range [2]uint32{p.Currency0, p.Currency1} {
		if kept.Quotes[leg], err = s.dayQuotes(st, token, from, today); err != nil {
			return nil, err
		}
	}
	return chart.NewTimeline(st, pool, from, &kept), nil
}

// positionSeries computes the daily series of position i. There are none when
// its history is longer than limits.transactions-max.
func (s *Pages) positionSeries(
	st *market.State, i uint32, t *chart.Timeline,
) (chart.PositionDays, error) {
	p := st.Positions.At(i)
	if int64(p.Entries) > int64(s.limits.Load().TransactionsMax) {
		return chart.PositionDays{}, nil
	}

	kept := chart.PositionRecords{History: chart.NewHistory(p)}
	it := s.transactions(st, i, storage.OldestFirst)
	defer it.Close()
	for it.Next() {
		kept.History.Add(it.Entry())
	}
	if err := it.Err(); err != nil {
		return chart.PositionDays{}, err
	}

	var err error
	from, today := t.From(), market.DayOf(st.Now())
	if kept.Lower, err = s.tickDays(st.Chain, p.Pool, p.TickLower, from, today); err != nil {
		return chart.PositionDays{}, err
	}
	if kept.Upper, err = s.tickDays(st.Chain, p.Pool, p.TickUpper, from, today); err != nil {
		return chart.PositionDays{}, err
	}
	if kept.Native, err = s.dayQuotes(st, st.Native, from, today); err != nil {
		return chart.PositionDays{}, err
	}
	return t.Position(i, &kept), nil
}

// tickDays reads the daily fee growth outside a tick, preceded by the newest
// record before the first day.
func (s *Pages) tickDays(
	id market.ChainID, pool uint32, tick int32, from, to uint32,
) ([]market.TickDay, error) {
	var days []market.TickDay
	before, known, err := s.cfg.Store.TickDayAt(id, pool, tick, from-1)
	if err != nil {
		return nil, err
	}
	if known {
		days = append(days, before)
	}
	return readSeries(s.cfg.Store.TickDays(id, pool, tick, from, to, storage.OldestFirst), days)
}

// dayQuotes reads a token's price at the end of each day. The last day is today
// and has none yet.
func (s *Pages) dayQuotes(st *market.State, token, from, today uint32) ([]value.Quote, error) {
	quotes := make([]value.Quote, today-from+1)
	if token == market.NoIndex {
		for n := range quotes {
			quotes[n] = value.Quote{Usd: market.Unknown, OnlyPool: market.NoIndex}
		}
		return quotes, nil
	}

	records, err := s.cfg.Store.DayPrices(st.Chain, token, from, today)
	if err != nil {
		return nil, err
	}
	for n := range records {
		r := &records[n]
		quotes[n] = value.QuoteOf(&market.Price{
			Usd: r.Usd, ExitUsd: r.ExitUsd, OnlyPool: r.OnlyPool, Corroborated: r.Corroborated,
		})
	}
	return quotes, nil
}

// readSeries appends all entries of a series to a slice and closes the series.
func readSeries[T any](it *storage.Series[T], to []T) ([]T, error) {
	defer it.Close()
	for it.Next() {
		to = append(to, *it.Entry())
	}
	return to, it.Err()
}
