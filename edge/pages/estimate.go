package pages

import (
	"fmt"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/chart"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage/accounts"
)

// CheckEstimate refuses an estimate with ticks at which no position of its pool can end:
// this comes before the quota. That there is no such pool is for the answer to say.
func (p *Pages) CheckEstimate(q *Question) *render.Error {
	if q.Route != accounts.RoutePoolEstimate {
		return nil
	}
	sc, unavailable := p.scopeOf(q, q.Chain)
	if unavailable != nil {
		return nil
	}

	st := sc.views[0].State
	if pool, ok := q.findIndex(sc.views[0]); ok {
		if err := q.Estimate.CheckSpacing(st.Pools.At(pool).TickSpacing); err != nil {
			return render.BadRequest(err)
		}
	}
	return nil
}

// appendEstimate appends what a position of a range and value would have earned in a pool.
func (p *Pages) appendEstimate(
	dst []byte, q *Question, v *rankings.View, pool uint32,
) ([]byte, *render.Error) {
	st, asked := v.State, &q.Estimate
	// The pool may be younger than the view that CheckEstimate saw.
	if err := asked.CheckSpacing(st.Pools.At(pool).TickSpacing); err != nil {
		return nil, render.BadRequest(err)
	}

	positions, most, err := v.PoolPositions(pool)
	if err != nil {
		return nil, listError(err)
	}

	first := chart.Daily.First(st, pool, asked.Range.Days())
	turn, busy := p.beginEstimate(q, st, first, most)
	if busy != nil {
		return nil, busy
	}
	defer turn.end()

	from := max(chart.Daily.Start(first), st.Pools.At(pool).CreatedAt)
	about := chart.Question{
		TickLower: asked.TickLower, TickUpper: asked.TickUpper, ValueUsd: asked.ValueUsd,
	}
	slots := chart.FindKept(st, positions, from, [2]int32{about.TickLower, about.TickUpper})
	replay, err := p.replay(st, pool, first, from)
	if err == nil {
		about.Kept, err = p.keptTicks(st, slots, first)
	}
	if err == nil {
		about.Quotes, err = p.quotesAt(st, pool, from)
	}
	if err != nil {
		return nil, errUnreadable(err)
	}

	e, ok := replay.Estimate(&about)
	if !ok {
		return nil, render.BadRequest(errTooLiquid(asked))
	}
	return append(render.AppendEstimate(dst, &e), '}'), nil
}

// errTooLiquid is the error for a value that no position can have.
func errTooLiquid(asked *query.Estimate) error {
	return fmt.Errorf("valueUsd %g is too large for the range %d to %d; the liquidity that it "+
		"buys cannot exceed 2^128", asked.ValueUsd, asked.TickLower, asked.TickUpper)
}

// beginEstimate waits for the turn of an estimate. Each reads the hours of the last 30
// days, which takes a millisecond, a day of each before, and the positions of the pool.
func (p *Pages) beginEstimate(
	q *Question, st *market.State, first uint32, positions int,
) (admitted, *render.Error) {
	today, hourly := market.DayOf(st.Now()), max(first, chart.HourlyFrom(st))
	points := int(today-first) + 1 + positions/positionsPerPoint
	if hourly <= today {
		points += int(today-hourly+1) * market.HoursOfDay
	}
	return p.admission.begin(task{q.Account, estimateTask, points})
}

// replay reads what is kept of a pool from the beginning of a day on, or from its
// creation in that day.
func (p *Pages) replay(
	st *market.State, pool, first uint32, from int64,
) (*chart.Replay, error) {
	days, err := p.readDayEnds(st, pool, first, market.DayOf(st.Now()))
	if err != nil {
		return nil, err
	}
	kept := chart.ReplayRecords{Days: days}

	switch {
	case market.DayOf(st.Pools.At(pool).CreatedAt) == first:
		created, known, err := p.cfg.Store.PoolDayAt(st.Chain, pool, first)
		if err == nil && !known {
			err = fmt.Errorf("cannot find the first day %d of pool %d", first, pool)
		}
		if err != nil {
			return nil, err
		}
		kept.Begin = chart.CreatedEnd(&created)
	case len(days) == 0 || days[0].At >= first:
		return nil, fmt.Errorf("cannot find a day of pool %d before %d", pool, first)
	default:
		kept.Begin, kept.Days = days[0], days[1:]
	}

	if hourly, today := max(first, chart.HourlyFrom(st)), market.DayOf(st.Now()); hourly <= today {
		hours, err := p.cfg.Store.PoolHours(st.Chain, pool, hourly, today)
		if err != nil {
			return nil, err
		}
		for i := range hours {
			kept.Hours = append(kept.Hours, chart.EndOfHour(&hours[i]))
		}
	}
	return chart.NewReplay(st, pool, from, &kept), nil
}

// keptTicks reads the fee growth outside of ticks that stayed initialised, as it was
// when a day began.
func (p *Pages) keptTicks(
	st *market.State, slots [2]uint32, first uint32,
) (kept [2]chart.KeptTick, err error) {
	for n, slot := range slots {
		if slot == market.NoIndex {
			continue
		}

		now := st.Ticks.At(slot)
		then, known, err := p.cfg.Store.TickDayAt(st.Chain, now.Pool, now.Tick, first-1)
		if err != nil {
			return kept, err
		}
		kept[n] = chart.KeptTick{
			Known: known,
			Then:  [2]clmath.U256{then.FeeGrowthOutside0X128, then.FeeGrowthOutside1X128},
			Now:   [2]clmath.U256{now.FeeGrowthOutside0X128, now.FeeGrowthOutside1X128},
		}
	}
	return kept, nil
}

// quotesAt reads what a pool's tokens were worth at a time, by the record of its hour.
func (p *Pages) quotesAt(
	st *market.State, pool uint32, at int64,
) (worth [2]value.Quote, err error) {
	of, hour := st.Pools.At(pool), market.HourOf(at)
	for leg, token := range [2]uint32{of.Currency0, of.Currency1} {
		quotes, err := p.readQuotes(st, token, chart.Hourly, hour, hour)
		if err != nil {
			return worth, err
		}
		worth[leg] = quotes[0]
	}
	return worth, nil
}
