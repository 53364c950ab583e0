package chart

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// PositionRecords are what is kept of a position's past beyond the State and
// its pool's Timeline.
type PositionRecords struct {
	History *History // may be nil where PositionPast is empty
	// Lower and Upper are the fee growth outside of the position's ticks at the end of
	// the intervals in which it was written, ascending: those of the range, led by
	// the newest one before it.
	Lower, Upper []Outside
	// Native are the quotes of the native currency, as Records.Quotes.
	Native []value.Quote
}

// Outside is the fee growth outside of a tick at the end of an interval.
type Outside struct {
	At                                           uint32
	FeeGrowthOutside0X128, FeeGrowthOutside1X128 clmath.U256
}

// OutsideOfDay returns what was last written in a day.
func OutsideOfDay(t *market.TickDay) Outside {
	return Outside{t.Day, t.FeeGrowthOutside0X128, t.FeeGrowthOutside1X128}
}

// OutsideOfHour returns what was last written in an hour.
func OutsideOfHour(t *market.TickHour) Outside {
	at := t.Day*market.HoursOfDay + t.Hour
	return Outside{at, t.FeeGrowthOutside0X128, t.FeeGrowthOutside1X128}
}

// OutsideNow returns what was last written to a tick, and in which interval.
func OutsideNow(t *market.Tick, step Step) Outside {
	at := step.Of(int64(t.LastHour) * market.Hour)
	return Outside{at, t.FeeGrowthOutside0X128, t.FeeGrowthOutside1X128}
}

// LastHour makes of what was last written in a day that of its last hour.
func (o Outside) LastHour() Outside {
	o.At = o.At*market.HoursOfDay + market.HoursOfDay - 1
	return o
}

// PositionPoint is how a position stood at the end of an interval.
type PositionPoint struct {
	PnlUsd, AssetValueUsd, APR, FeeAPR, DivergenceLossUsd float64
}

// PositionPoints are those of consecutive intervals, the first of which is number
// First. Nil Points are a series that cannot be told.
type PositionPoints struct {
	Step   Step
	First  uint32
	Points []PositionPoint
}

// PositionPast returns from which interval on, and before which, the series of position i
// has intervals that are over. Only these need records of the past. The one after them is
// the row's: the position was closed in it, or it is running. If that comes before them,
// nothing of the position is in the range.
func (t *Timeline) PositionPast(i uint32) (begin, end uint32) {
	p := t.st.Positions.At(i)
	begin, end = max(t.first, t.step.Of(int64(p.MintedAt))), t.step.Of(t.st.Now())
	if p.ClosedAt != 0 {
		end = t.step.Of(int64(p.ClosedAt))
	}
	return begin, end
}

// Position returns the series of position i, which is of the Timeline's pool,
// from its mint to now or its closing.
func (t *Timeline) Position(i uint32, r *PositionRecords) PositionPoints {
	p := t.st.Positions.At(i)
	begin, end := t.PositionPast(i)
	var changes []change
	if r.History != nil {
		if changes = r.History.changes; len(changes) == 0 {
			return PositionPoints{}
		}
		r.History.findInside()
	}
	out := PositionPoints{
		Step: t.step, First: begin, Points: make([]PositionPoint, 0, max(end+1, begin)-begin),
	}

	lower, upper := outside{entries: r.Lower}, outside{entries: r.Upper}
	past := positionEnd{
		st: t.st, p: p, step: t.step,
		sqrtLower: clmath.SqrtPriceAtTick(p.TickLower), sqrtUpper: clmath.SqrtPriceAtTick(p.TickUpper),
	}
	at := 0
	for number := begin; number < end; number++ {
		for at+1 < len(changes) && changes[at+1].at <= number {
			at++
		}
		past.end, past.change = &t.ends[number-t.first], &changes[at]
		past.lower, past.upper = lower.writtenBy(number), upper.writtenBy(number)
		past.nativeUsd = r.Native[number-t.from].Usd
		f := past.figures()
		out.Points = append(out.Points, pointOf(&f))
	}

	if end >= begin {
		var m value.Metrics
		value.Position(t.st, i, &m)
		out.Points = append(out.Points, pointOf(&m.Figures))
	}
	return out
}

// pointOf returns the figures that the series have.
func pointOf(f *value.Figures) PositionPoint {
	return PositionPoint{
		PnlUsd: f.PnlUsd, AssetValueUsd: f.UnderlyingValueUsd, APR: f.APR, FeeAPR: f.FeeAPR,
		DivergenceLossUsd: f.DivergenceUsd,
	}
}

// outside is the fee growth outside of a tick, interval by interval.
type outside struct {
	entries []Outside
	at      Outside
}

// writtenBy returns what was last written by the end of an interval. They ascend.
func (o *outside) writtenBy(number uint32) *Outside {
	for len(o.entries) > 0 && o.entries[0].At <= number {
		o.at, o.entries = o.entries[0], o.entries[1:]
	}
	return &o.at
}

// positionEnd is one position at the end of one interval that is over.
type positionEnd struct {
	st                   *market.State
	p                    *market.Position
	step                 Step
	sqrtLower, sqrtUpper clmath.U256 // the prices of its ticks
	end                  *pricedEnd
	change               *change // the newest one by then
	lower, upper         *Outside
	nativeUsd            float64
}

// figures returns what the row would have said at the interval's end and prices.
func (d *positionEnd) figures() value.Figures {
	flow := &d.change.flow
	past := value.Past{
		Deposited: flow.deposited, Withdrawn: flow.withdrawn, Collected: flow.collected,
		GasWei: flow.gasWei, GasUnknown: flow.gasUnknown,
		AgeSeconds: d.step.Start(d.end.At+1) - int64(d.p.MintedAt),
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
func (d *positionEnd) computeHoldings() (principal, owed [2]clmath.U256) {
	p, e, liquidity := d.p, d.end, d.change.after
	principal[0], principal[1] = clmath.Principal(e.Tick, &e.Close, p.TickLower, p.TickUpper,
		&d.sqrtLower, &d.sqrtUpper, liquidity, false)

	inside0 := clmath.FeeGrowthInside(e.Tick, p.TickLower, p.TickUpper, &e.FeeGrowthGlobal0X128,
		&d.lower.FeeGrowthOutside0X128, &d.upper.FeeGrowthOutside0X128)
	inside1 := clmath.FeeGrowthInside(e.Tick, p.TickLower, p.TickUpper, &e.FeeGrowthGlobal1X128,
		&d.lower.FeeGrowthOutside1X128, &d.upper.FeeGrowthOutside1X128)
	owed[0] = owedSince(&inside0, &d.change.inside[0], liquidity)
	owed[1] = owedSince(&inside1, &d.change.inside[1], liquidity)
	return principal, owed
}
