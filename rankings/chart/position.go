package chart

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// PositionRecords are what is kept of a position's past beyond the State and
// its pool's Timeline.
type PositionRecords struct {
	History *History
	// Lower and Upper are the days on which the fee growth outside of the
	// position's ticks was written, ascending: those of the range, led by the
	// newest one before it.
	Lower, Upper []market.TickDay
	// Native are the quotes of the native currency, as Records.Quotes.
	Native []value.Quote
}

// PositionDay is how a position stood at the end of a day.
type PositionDay struct {
	PnlUsd, AssetValueUsd, APR, FeeAPR, DivergenceLossUsd float64
}

// PositionDays are consecutive days, the first of which is number First. Nil
// Days are a series that cannot be told.
type PositionDays struct {
	First uint32
	Days  []PositionDay
}

// Position returns the series of position i, which is of the Timeline's pool,
// from its mint to today or its closing.
func (t *Timeline) Position(i uint32, r *PositionRecords) PositionDays {
	p := t.st.Positions.At(i)
	changes := r.History.changes
	if len(changes) == 0 {
		return PositionDays{}
	}
	r.History.findInside()

	begin, end := max(t.first, market.DayOf(p.MintedAt)), market.DayOf(t.st.Now())
	if p.ClosedAt != 0 {
		end = market.DayOf(int64(p.ClosedAt))
	}
	out := PositionDays{First: begin, Days: []PositionDay{}}

	lower, upper := outside{entries: r.Lower}, outside{entries: r.Upper}
	at := 0
	for day := begin; day < end; day++ {
		for at+1 < len(changes) && changes[at+1].day <= day {
			at++
		}
		d := dayOf{
			st: t.st, p: p, end: &t.ends[day-t.first], change: &changes[at],
			lower: lower.writtenBy(day), upper: upper.writtenBy(day), nativeUsd: r.Native[day-t.from].Usd,
		}
		f := d.pastFigures()
		out.Days = append(out.Days, pointOf(&f))
	}

	if end >= begin {
		var m value.Metrics
		value.Position(t.st, i, &m)
		out.Days = append(out.Days, pointOf(&m.Figures))
	}
	return out
}

// pointOf returns the figures that the series have.
func pointOf(f *value.Figures) PositionDay {
	return PositionDay{
		PnlUsd: f.PnlUsd, AssetValueUsd: f.UnderlyingValueUsd, APR: f.APR, FeeAPR: f.FeeAPR,
		DivergenceLossUsd: f.DivergenceUsd,
	}
}

// outside is the fee growth outside of a tick, day by day.
type outside struct {
	entries []market.TickDay
	at      market.TickDay
}

// writtenBy returns what was last written by the end of a day. Days ascend.
func (o *outside) writtenBy(day uint32) *market.TickDay {
	for len(o.entries) > 0 && o.entries[0].Day <= day {
		o.at, o.entries = o.entries[0], o.entries[1:]
	}
	return &o.at
}

// dayOf is one position at the end of one day that is over.
type dayOf struct {
	st           *market.State
	p            *market.Position
	end          *dayEnd
	change       *change // the newest one by then
	lower, upper *market.TickDay
	nativeUsd    float64
}

// pastFigures returns what the row would have said at the day's end and prices.
func (d *dayOf) pastFigures() value.Figures {
	flow := &d.change.flow
	past := value.Past{
		Deposited: flow.deposited, Withdrawn: flow.withdrawn, Collected: flow.collected,
		GasWei: flow.gasWei, GasUnknown: flow.gasUnknown,
		AgeSeconds: int64(d.end.Day+1)*market.Day - d.p.MintedAt,
		Legs:       d.end.quotes, NativeUsd: d.nativeUsd,
	}
	if !d.change.after.IsZero() {
		past.Principal, past.Uncollected = d.computeHoldings()
		past.FeesUnknown = !d.change.known
	}
	return value.PastFigures(d.st, d.p.Pool, &past)
}

// computeHoldings returns principal and uncollected fees; the fees are those that
// change.known vouches for.
func (d *dayOf) computeHoldings() (principal, owed [2]clmath.U256) {
	p, e, liquidity := d.p, d.end, d.change.after
	sqrtLower, sqrtUpper := clmath.SqrtPriceAtTick(p.TickLower), clmath.SqrtPriceAtTick(p.TickUpper)
	principal[0], principal[1] = clmath.Principal(e.Tick, &e.Close, p.TickLower, p.TickUpper,
		&sqrtLower, &sqrtUpper, liquidity, false)

	inside0 := clmath.FeeGrowthInside(e.Tick, p.TickLower, p.TickUpper, &e.FeeGrowthGlobal0X128,
		&d.lower.FeeGrowthOutside0X128, &d.upper.FeeGrowthOutside0X128)
	inside1 := clmath.FeeGrowthInside(e.Tick, p.TickLower, p.TickUpper, &e.FeeGrowthGlobal1X128,
		&d.lower.FeeGrowthOutside1X128, &d.upper.FeeGrowthOutside1X128)
	owed[0] = owedSince(&inside0, &d.change.inside[0], liquidity)
	owed[1] = owedSince(&inside1, &d.change.inside[1], liquidity)
	return principal, owed
}
