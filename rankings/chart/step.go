package chart

import (
	"slices"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// Step is the length of the intervals of a series in seconds. They are numbered from
// the epoch.
type Step int64

// The steps: UTC days and hours.
const (
	Daily  Step = market.Day
	Hourly Step = market.Hour
)

// Of returns the number of the interval in which a time is.
func (s Step) Of(unix int64) uint32 { return uint32(unix / int64(s)) }

// Start returns the time at which an interval begins.
func (s Step) Start(number uint32) int64 { return int64(number) * int64(s) }

// First returns the first interval of a range that has so many days with today, or
// all of them for 0. It is never before the pool.
func (s Step) First(st *market.State, pool, days uint32) uint32 {
	today, created := market.DayOf(st.Now()), s.Of(st.Pools.At(pool).CreatedAt)
	if days == 0 || today < days-1 {
		return created
	}
	return max(created, s.Of(int64(today-(days-1))*market.Day))
}

// knownFrom returns the first interval whose end the store has if it had events.
func (s Step) knownFrom(st *market.State) uint32 {
	if s == Daily {
		return 0
	}
	return st.HoursFrom - 1 // the largest number if there are none
}

// End is how a pool stood at the end of an interval, and what happened in it.
type End struct {
	At                   uint32      // number of the interval
	Open, High, Low      float64     // sqrtPriceX96; Open is 0 where it is the Close before
	Close                clmath.U256 // sqrtPriceX96
	FeeGrowthGlobal0X128 clmath.U256
	FeeGrowthGlobal1X128 clmath.U256
	Amounts              [2]float64 // raw
	Tick                 int32
	VolumeUsd, FeesUsd   float64
}

// EndOfDay returns the end of a day.
func EndOfDay(d *market.PoolDay) End {
	return End{
		At: d.Day, Open: value.Float(&d.Open), High: value.Float(&d.High), Low: value.Float(&d.Low),
		Close: d.Close, FeeGrowthGlobal0X128: d.FeeGrowthGlobal0X128,
		FeeGrowthGlobal1X128: d.FeeGrowthGlobal1X128,
		Amounts:              [2]float64{value.Float(&d.Amount0), value.Float(&d.Amount1)},
		Tick:                 d.Tick, VolumeUsd: d.VolumeUsd, FeesUsd: d.FeesUsd,
	}
}

// EndOfHour returns the end of an hour.
func EndOfHour(h *market.PoolHour) End {
	return End{
		At: h.Day*market.HoursOfDay + h.Hour, High: h.High, Low: h.Low,
		Close: h.Close, FeeGrowthGlobal0X128: h.FeeGrowthGlobal0X128,
		FeeGrowthGlobal1X128: h.FeeGrowthGlobal1X128, Amounts: [2]float64{h.Amount0, h.Amount1},
		Tick: h.Tick, VolumeUsd: h.VolumeUsd, FeesUsd: h.FeesUsd,
	}
}

// LastHour makes of the end of a day that of its last hour.
func (e End) LastHour() End {
	e.At = e.At*market.HoursOfDay + market.HoursOfDay - 1
	return e
}

// runningEnd returns how a pool stands now. A day without events is left to the one
// before it.
func (s Step) runningEnd(st *market.State, pool uint32) End {
	if s == Daily {
		return EndOfDay(st.Days.At(pool))
	}
	e := newestHour(st, pool)
	e.carryTo(s.Of(st.Now()))
	e.Open = 0
	return e
}

// newestHour returns the end of the newest hour of the running day in which something
// happened, or of the day before it if nothing did.
func newestHour(st *market.State, pool uint32) End {
	d := st.Days.At(pool)
	e := EndOfDay(d).LastHour()
	e.Open, e.VolumeUsd, e.FeesUsd = 0, 0, 0
	if d.EventHour == 0 {
		return e
	}

	e.At = d.Day*market.HoursOfDay + uint32(d.EventHour) - 1
	e.High, e.Low = d.HourHigh, d.HourLow
	if last := st.Pools.At(pool).LastHour; last != market.NoIndex && st.Hours.At(last).Hour == e.At {
		b := st.Hours.At(last)
		e.VolumeUsd, e.FeesUsd = b.VolumeUsd, b.FeesUsd
	}
	return e
}

// endsUntil returns the ends before the running one. kept are those of the store, which
// may be ahead of the State, and has no hour before the pool's next event.
func (s Step) endsUntil(running uint32, st *market.State, pool uint32, kept []End) []End {
	newest := End{At: running}
	if s == Hourly && st.Days.At(pool).EventHour != 0 {
		newest = newestHour(st, pool)
	}
	for len(kept) > 0 && kept[len(kept)-1].At >= newest.At {
		kept = kept[:len(kept)-1]
	}
	if newest.At < running {
		kept = append(slices.Clip(kept), newest)
	}
	return kept
}

// carryTo makes an interval in which nothing happened of the end of an earlier one.
func (e *End) carryTo(at uint32) {
	if e.At == at {
		return
	}
	root := value.Float(&e.Close)
	e.At, e.VolumeUsd, e.FeesUsd = at, 0, 0
	e.Open, e.High, e.Low = root, root, root
}
