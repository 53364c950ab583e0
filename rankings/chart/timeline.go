package chart

import (
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// Records are what is kept of a pool's past beyond the State.
type Records struct {
	// Days are the pool's, ascending: those of the range, led by the newest
	// one before it. Days in which nothing happened have none.
	Days []market.PoolDay
	// Quotes of the pool's tokens by the record of the last hour of each day
	// of the range. Today's are not read.
	Quotes [2][]value.Quote
}

// FirstDay returns the first day of a range that has so many days with today,
// or all of them for 0. It is never before the pool.
func FirstDay(st *market.State, pool, days uint32) uint32 {
	today, created := market.DayOf(st.Now()), market.DayOf(st.Pools.At(pool).CreatedAt)
	if days == 0 || today < days-1 {
		return created
	}
	return max(created, today-(days-1))
}

// Timeline is how a pool stood at the end of consecutive days, or stands so
// far on the last one, which is today.
type Timeline struct {
	st    *market.State
	pool  uint32
	from  uint32 // the range's first day
	first uint32 // the first that the pool has
	ends  []dayEnd
}

// dayEnd is the end of one day: what the pool held and what its tokens were
// worth.
type dayEnd struct {
	market.PoolDay
	quotes [2]value.Quote
}

// NewTimeline lines up the days of a pool from one on to today.
func NewTimeline(st *market.State, pool, from uint32, r *Records) *Timeline {
	today := market.DayOf(st.Now())
	t := &Timeline{
		st: st, pool: pool, from: from, first: from, ends: make([]dayEnd, 0, today-from+1),
	}

	// The store may be ahead of the State, whose newest day is its own.
	running := st.Days.At(pool)
	kept := r.Days
	for len(kept) > 0 && kept[len(kept)-1].Day >= running.Day {
		kept = kept[:len(kept)-1]
	}

	var at *market.PoolDay
	for day := from; day <= today; day++ {
		for len(kept) > 0 && kept[0].Day <= day {
			at, kept = &kept[0], kept[1:]
		}
		if running.Day <= day {
			at = running
		}
		if at == nil {
			t.first = day + 1
			continue
		}
		n := day - from
		end := dayEnd{*at, [2]value.Quote{r.Quotes[0][n], r.Quotes[1][n]}}
		end.carryTo(day)
		t.ends = append(t.ends, end)
	}
	t.priceToday()
	return t
}

// From returns the first day of the range that the Timeline was asked for.
func (t *Timeline) From() uint32 { return t.from }

// carryTo makes a day in which nothing happened of the end of an earlier one.
func (e *dayEnd) carryTo(day uint32) {
	if e.Day == day {
		return
	}
	e.Day, e.Swaps, e.VolumeUsd, e.FeesUsd = day, 0, 0, 0
	e.Open, e.High, e.Low = e.Close, e.Close, e.Close
}

// priceToday puts the prices of now on the last day, which is not over.
func (t *Timeline) priceToday() {
	if len(t.ends) == 0 {
		return
	}
	p, end := t.st.Pools.At(t.pool), &t.ends[len(t.ends)-1]
	end.quotes = [2]value.Quote{
		value.QuoteOf(t.st.Prices.At(p.Currency0)), value.QuoteOf(t.st.Prices.At(p.Currency1)),
	}
}
