package pages

import (
	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/chart"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// appendPoolCharts appends the charts of a pool.
func (p *Pages) appendPoolCharts(
	dst []byte, q *Question, v *rankings.View, i uint32,
) ([]byte, *render.Error) {
	turn, busy := p.beginCharts(q, v.State, i)
	if busy != nil {
		return nil, busy
	}
	defer turn.end()

	dst, line, failed := p.appendCharts(dst, q, v, i, nil)
	if failed != nil {
		return nil, failed
	}
	points := line.Points()
	return append(render.AppendPoolSeries(dst, &points), '}'), nil
}

// appendPositionCharts appends the charts of a position.
func (p *Pages) appendPositionCharts(
	dst []byte, q *Question, v *rankings.View, i uint32,
) ([]byte, *render.Error) {
	of := v.State.Positions.At(i)
	turn, busy := p.beginCharts(q, v.State, of.Pool)
	if busy != nil {
		return nil, busy
	}
	defer turn.end()

	dst, line, failed := p.appendCharts(dst, q, v, of.Pool, of)
	if failed != nil {
		return nil, failed
	}
	series, err := p.positionSeries(v, i, q.Interval.Step(), line)
	if err != nil {
		return nil, errUnreadable(err)
	}
	return append(render.AppendPositionSeries(dst, &series), '}'), nil
}

// beginCharts waits for the turn of charts of many points. Others do not wait.
func (p *Pages) beginCharts(q *Question, st *market.State, pool uint32) (admitted, *render.Error) {
	step := q.Interval.Step()
	points := step.Of(st.Now()) - step.First(st, pool, q.Range.Days())
	if points < longChart {
		return admitted{}, nil
	}
	return p.admission.begin(task{q.Account, chartTask, int(points)})
}

// timeline reads the stored ends of a pool's days or hours over the range of a chart.
func (p *Pages) timeline(v *rankings.View, pool uint32, c query.Chart) (*chart.Timeline, error) {
	st, step := v.State, c.Interval.Step()
	from := step.First(st, pool, c.Range.Days())
	var kept chart.Records
	var err error

	// The last day before the range carries its price into a gap at the start.
	if step == chart.Hourly {
		err = p.hourEnds(st, pool, market.DayOf(step.Start(from)), &kept)
	} else {
		kept.Ends, err = p.dayEnds(v, pool, from)
	}
	if err != nil {
		return nil, err
	}

	of := st.Pools.At(pool)
	for leg, token := range [2]uint32{of.Currency0, of.Currency1} {
		if kept.Quotes[leg], err = p.quotes(v, token, step, from); err != nil {
			return nil, err
		}
	}
	return chart.NewTimeline(st, pool, step, from, &kept), nil
}

// hourEnds reads the hours of a pool from a day on, led by the newest day before it. A
// pool that was created on that day opened at the day's price.
func (p *Pages) hourEnds(st *market.State, pool, from uint32, to *chart.Records) error {
	days := p.cfg.Store.PoolDaysFrom(st.Chain, pool, from, from)
	defer days.Close()
	for days.Next() {
		if d := days.Entry(); d.Day == from {
			to.Opening = value.Float(&d.Open)
		} else {
			to.Ends = append(to.Ends, chart.EndOfDay(d).LastHour())
		}
	}
	if err := days.Err(); err != nil {
		return err
	}

	hours, err := p.cfg.Store.PoolHours(st.Chain, pool, from, market.DayOf(st.Now()))
	for i := range hours {
		to.Ends = append(to.Ends, chart.EndOfHour(&hours[i]))
	}
	return err
}

// positionSeries computes the series of position i. There are none when its history
// is longer than limits.transactions-max.
func (p *Pages) positionSeries(
	v *rankings.View, i uint32, step chart.Step, t *chart.Timeline,
) (chart.PositionPoints, error) {
	st := v.State
	of := st.Positions.At(i)
	if int64(of.Entries) > int64(p.limits.Load().TransactionsMax) {
		return chart.PositionPoints{}, nil
	}

	begin, end := t.PositionPast(i)
	if begin >= end && of.Entries > 0 {
		return t.Position(i, &chart.PositionRecords{}), nil
	}

	var kept chart.PositionRecords
	var err error
	if kept.History, err = p.changes(st, i, step, begin, end); err != nil {
		return chart.PositionPoints{}, err
	}
	if kept.Lower, err = p.outside(st, of, of.TickLower, of.LowerSlot, step, begin, end); err != nil {
		return chart.PositionPoints{}, err
	}
	if kept.Upper, err = p.outside(st, of, of.TickUpper, of.UpperSlot, step, begin, end); err != nil {
		return chart.PositionPoints{}, err
	}
	if kept.Native, err = p.nativeQuotes(v, step, t.From()); err != nil {
		return chart.PositionPoints{}, err
	}
	return t.Position(i, &kept), nil
}

// changes returns what happened to position i, for a series from an interval to another.
// Most positions need the store for it.
func (p *Pages) changes(
	st *market.State, i uint32, step chart.Step, from, to uint32,
) (*chart.History, error) {
	of := st.Positions.At(i)
	if h, ok := chart.HistoryOfMint(st, of, step, from, to); ok {
		return h, nil
	}

	h := chart.NewHistory(of, step, from, to)
	it := p.transactions(st, i, storage.OldestFirst)
	defer it.Close()
	for it.Next() {
		h.Add(it.Entry())
	}
	return h, it.Err()
}

// outside returns the fee growth outside a tick of a position by the day or hour from an
// interval to another, led by the newest of the days before. The slot is that of the tick's
// record, if the position is open.
func (p *Pages) outside(
	st *market.State, of *market.Position, tick int32, slot uint32, step chart.Step, from, to uint32,
) ([]chart.Outside, error) {
	// What was written last before all of them is still in the record.
	if of.IsOpen() {
		if now := chart.OutsideNow(st.Ticks.At(slot), step); now.At <= from {
			return []chart.Outside{now}, nil
		}
	}

	first, last := market.DayOf(step.Start(from)), market.DayOf(step.Start(to))
	if step == chart.Daily {
		days := p.cfg.Store.TickDaysFrom(st.Chain, of.Pool, tick, first, last)
		return readSeries(days, chart.OutsideOfDay)
	}

	var written []chart.Outside
	before, known, err := p.cfg.Store.TickDayAt(st.Chain, of.Pool, tick, first-1)
	if err != nil {
		return nil, err
	}
	if known {
		written = append(written, chart.OutsideOfDay(&before).LastHour())
	}
	hours, err := p.cfg.Store.TickHours(st.Chain, of.Pool, tick, first, last)
	for i := range hours {
		written = append(written, chart.OutsideOfHour(&hours[i]))
	}
	return written, err
}

// readSeries returns all entries of a series and closes it.
func readSeries[E, T any](it *storage.Series[E], as func(*E) T) (all []T, err error) {
	defer it.Close()
	for it.Next() {
		all = append(all, as(it.Entry()))
	}
	return all, it.Err()
}
