package ledger

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// A pool's day begins with its first event of that day. Events update its sums,
// highs, lows and prices at once. Its closing values follow from the pool and
// its ticks; they are filled in only before the row is read or stored.

// startDay begins the present day of a pool at its present price. The day
// before was put into the series when it ended.
func (l *Ledger) startDay(i uint32) {
	p, d := l.st.Pools.At(i), Days.edit(l, i)
	*d = market.PoolDay{
		Pool: i, Day: l.day,
		Open: p.SqrtPriceX96, High: p.SqrtPriceX96, Low: p.SqrtPriceX96,
	}
	onUndo(l, PoolDays.Drop, market.PoolDay{Pool: i, Day: l.day})
	l.touch(i, d)
}

// touchDay notes that an event changes the state of a pool today.
func (l *Ledger) touchDay(i uint32) {
	if l.st.Days.At(i).Day != l.day {
		l.startDay(i)
		return
	}
	l.touch(i, Days.edit(l, i))
}

// touch notes the prices of the hour and that the day's end is out of date.
func (l *Ledger) touch(i uint32, d *market.PoolDay) {
	p := l.st.Pools.At(i)
	d.Price0Usd = l.st.Tokens.At(p.Currency0).HourUsd
	d.Price1Usd = l.st.Tokens.At(p.Currency1).HourUsd
	l.unsettle(i)
}

func (l *Ledger) unsettle(i uint32) {
	if !l.isStale[i] {
		l.isStale[i] = true
		l.unsettled = append(l.unsettled, i)
	}
}

// endDay ends the present day of every pool that had one.
func (l *Ledger) endDay() {
	for i := range l.st.Days.Len() {
		if l.st.Days.At(i).Day != l.day {
			continue
		}
		d := Days.edit(l, i)
		l.touch(i, d)
		l.settleDay(i, d)
		l.ops = append(l.ops, PoolDays.Put(*d))
	}
}

// settleDays fills in the closing values of the running days that were touched.
// That does not belong to a span's undo: the same pool always gives the same
// values, so a Revert only has to touch the days that it restores.
func (l *Ledger) settleDays() {
	for _, i := range l.unsettled {
		if i >= l.st.Pools.Len() {
			continue
		}
		l.isStale[i] = false
		if l.st.Days.At(i).Day == l.day {
			l.settleDay(i, Days.note(l, i))
		}
	}
	l.unsettled = l.unsettled[:0]
}

// settleDay fills in the closing values from the pool as it is now.
func (l *Ledger) settleDay(i uint32, d *market.PoolDay) {
	p := l.st.Pools.At(i)
	d.Close, d.Tick, d.Liquidity = p.SqrtPriceX96, p.Tick, p.Liquidity
	d.FeeGrowthGlobal0X128 = p.FeeGrowthGlobal0X128
	d.FeeGrowthGlobal1X128 = p.FeeGrowthGlobal1X128
	d.Amount0, d.Amount1 = amounts(p, l.lists.At(i).Refs, &l.st.Ticks)
}

// amounts returns what the liquidity of a pool amounts to at its price, fees
// excluded, by one walk over its ticks.
func amounts(p *market.Pool, refs []market.TickRef, ticks *market.Frozen[market.Tick]) (
	sum0, sum1 clmath.U256,
) {
	var liquidity clmath.U128
	var last *market.Tick
	for _, ref := range refs {
		t := ticks.At(ref.Slot)
		if !liquidity.IsZero() {
			amount0, amount1 := clmath.Principal(p.Tick, &p.SqrtPriceX96, last.Tick, t.Tick,
				&last.SqrtPriceX96, &t.SqrtPriceX96, liquidity, false)
			sum0.Add(&sum0, &amount0)
			sum1.Add(&sum1, &amount1)
		}
		liquidity, _ = liquidity.Apply(t.LiquidityNet)
		last = t
	}

	return sum0, sum1
}
