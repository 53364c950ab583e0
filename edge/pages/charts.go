package pages

import (
	"math"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// poolCharts renders the charts of a pool.
func (s *Pages) poolCharts(q *Question, v *rankings.View, i uint32) (*Page, *render.Error) {
	t, err := s.timeline(v, i, chartStart(v.State, i, q.Range.Days()))
	if err != nil {
		return nil, broken(err)
	}
	days := t.days(v.State)
	body := appendCharts(q, v, i, &days, nil)
	return &Page{Body: append(render.AppendPoolSeries(body, &days), '}')}, nil
}

// positionCharts renders the charts of a position.
func (s *Pages) positionCharts(q *Question, v *rankings.View, i uint32) (*Page, *render.Error) {
	p := v.State.Positions.At(i)
	t, err := s.timeline(v, p.Pool, chartStart(v.State, p.Pool, q.Range.Days()))
	if err != nil {
		return nil, broken(err)
	}
	first, series, err := s.positionSeries(v, i, t)
	if err != nil {
		return nil, broken(err)
	}
	days := t.days(v.State)
	body := appendCharts(q, v, p.Pool, &days, p)
	return &Page{Body: append(render.AppendPositionSeries(body, first, series), '}')}, nil
}

// appendCharts appends what both charts have.
func appendCharts(
	q *Question, v *rankings.View, pool uint32, days *render.Days, of *market.Position,
) []byte {
	st := v.State
	p := st.Pools.At(pool)
	body := make([]byte, 0, chartBytes+chartDayBytes*len(days.Days))
	body = append(body, `{"range":"`...)
	body = append(append(body, q.Range.String()...), '"')
	body = render.AppendPoolPrice(body, days)
	body = render.AppendPoolOverview(body, days)
	body = render.AppendDistribution(body, p, render.Decimals(st, p), distribution(st, pool), of)
	return render.AppendPoolOverviewCurrent(body, st, pool, len(days.Days) > 0)
}

// chartStart is the first day of a range: of so many days with today, or of
// all for 0, and never before the pool.
func chartStart(st *market.State, pool, days uint32) uint32 {
	today, created := market.DayOf(st.Now()), market.DayOf(st.Pools.At(pool).CreatedAt)
	if days == 0 || today < days-1 {
		return created
	}
	return max(created, today-(days-1))
}

// timeline is the days of one pool without gaps: a day in which nothing
// happened ends as the one before it.
type timeline struct {
	first uint32
	ends  []dayEnd
}

// dayEnd is how a pool stood when a day ended, or stands so far.
type dayEnd struct {
	market.PoolDay
	tvlUsd float64
}

// timeline reads the days of a pool from one on, to the view's own.
func (s *Pages) timeline(v *rankings.View, pool, from uint32) (*timeline, error) {
	st := v.State
	today := market.DayOf(st.Now())
	t := &timeline{first: from, ends: make([]dayEnd, 0, today-from+1)}
	running := st.Days.At(pool)
	last, known, err := s.cfg.Store.PoolDayAt(st.Chain, pool, from-1)
	if err != nil {
		return nil, err
	}
	if known {
		t.ends = append(t.ends, dayEnd{last, tvl(st, &last)})
	}
	it := s.cfg.Store.PoolDays(st.Chain, pool, from, today, storage.OldestFirst)
	defer it.Close()
	for it.Next() {
		// The store may be ahead of the view: its own day is the view's.
		if d := it.Entry(); d.Day < running.Day {
			if err := s.extend(st, t, d, known); err != nil {
				return nil, err
			}
		}
	}
	if it.Err() != nil {
		return nil, it.Err()
	}
	if running.Day >= from {
		if err := s.extend(st, t, running, known); err != nil {
			return nil, err
		}
	}
	if err := s.fill(st, t, today+1, known); err != nil {
		return nil, err
	}
	if known {
		t.ends = t.ends[1:]
	}
	return t, nil
}

// extend adds a day, after those in which nothing happened. before tells that
// the first end is of the day before the timeline.
func (s *Pages) extend(st *market.State, t *timeline, d *market.PoolDay, before bool) error {
	if err := s.fill(st, t, d.Day, before); err != nil {
		return err
	}
	if len(t.ends) == 0 {
		t.first = d.Day
	}
	t.ends = append(t.ends, dayEnd{*d, tvl(st, d)})
	return nil
}

// fill carries the last end forward up to a day, not included. Only what
// tokens are worth goes on by its own records.
func (s *Pages) fill(st *market.State, t *timeline, to uint32, before bool) error {
	for len(t.ends) > 0 {
		next := t.first + uint32(len(t.ends))
		if before {
			next--
		}
		if next >= to {
			return nil
		}
		d := t.ends[len(t.ends)-1]
		d.Day, d.Swaps, d.VolumeUsd, d.FeesUsd = next, 0, 0, 0
		d.Open, d.High, d.Low = d.Close, d.Close, d.Close
		p := st.Pools.At(d.Pool)
		var err error
		if d.Price0Usd, err = s.dayPrice(st, p.Currency0, next); err != nil {
			return err
		}
		if d.Price1Usd, err = s.dayPrice(st, p.Currency1, next); err != nil {
			return err
		}
		t.ends = append(t.ends, d)
	}
	return nil
}

// dayPrice is the record of a token in the last hour of a day.
func (s *Pages) dayPrice(st *market.State, token, day uint32) (float64, error) {
	hour := min(day*24+23, market.HourOf(st.Now()))
	if t := st.Tokens.At(token); t.HourAt <= hour {
		return t.HourUsd, nil
	}
	record, ok, err := s.cfg.Store.HourPriceAt(st.Chain, token, hour)
	if !ok {
		return market.Unknown, err
	}
	return record.Usd, nil
}

// tvl values what a pool held: the other leg only when one has no price.
func tvl(st *market.State, d *market.PoolDay) float64 {
	p := st.Pools.At(d.Pool)
	usd0 := usdOf(&d.Amount0, st.Tokens.At(p.Currency0), d.Price0Usd)
	usd1 := usdOf(&d.Amount1, st.Tokens.At(p.Currency1), d.Price1Usd)
	switch {
	case !market.Known(usd0):
		return usd1
	case !market.Known(usd1):
		return usd0
	}
	return usd0 + usd1
}

// usdOf is what an amount is worth; an amount of 0 needs no price.
func usdOf(v *clmath.U256, t *market.Token, usd float64) float64 {
	if v.IsZero() {
		return 0
	}
	if t.BadDecimals {
		return market.Unknown
	}
	return clmath.ToFloat(v, t.Decimals) * usd
}

// days are the timeline as charts show it.
func (t *timeline) days(st *market.State) render.Days {
	out := render.Days{First: t.first, Days: make([]render.Day, len(t.ends))}
	for i := range t.ends {
		d := &t.ends[i]
		p := st.Pools.At(d.Pool)
		out.Days[i] = render.Day{
			Open: price(st, p, &d.Open), High: price(st, p, &d.High),
			Low: price(st, p, &d.Low), Close: price(st, p, &d.Close),
			Price0Usd: d.Price0Usd, Price1Usd: d.Price1Usd,
			TVLUsd: d.tvlUsd, VolumeUsd: d.VolumeUsd, FeesUsd: d.FeesUsd,
		}
	}
	return out
}

// price is token1 per token0 in whole units.
func price(st *market.State, p *market.Pool, sqrtX96 *clmath.U256) float64 {
	token0, token1 := st.Tokens.At(p.Currency0), st.Tokens.At(p.Currency1)
	if token0.BadDecimals || token1.BadDecimals {
		return market.Unknown
	}
	root := math.Ldexp(clmath.Float64(sqrtX96), -96)
	return root * root * math.Pow10(int(token0.Decimals)-int(token1.Decimals))
}
