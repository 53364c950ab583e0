package pages

import (
	"math"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// How a position stood at the end of a day follows from its transactions up
// to then, from where the pool's price and fee growth ended the day, and from
// the last write, by then, of the fee growth outside its two ticks:
//
//	uncollected = (inside at the day's end - inside at the last change) * L / 2^128
//
// Inside at the newest change stands in the position's record. A change paid
// out the fees since the one before it, so that
//
//	inside at the change before = inside at the change - fees * 2^128 / L
//
// which is right to a raw unit. It says nothing across a time without
// liquidity: of a reopened position, the fees that were uncollected on days
// before it was closed are not known, and what needs them is null.

// change is what one transaction did to a position.
type change struct {
	day    uint32
	after  clmath.U128 // liquidity
	inside [2]clmath.U256
	known  bool // inside is
	flow   flows
}

// flows are sums of what went in and out.
type flows struct {
	deposited, withdrawn, collected [2]clmath.U256
	gasWei                          clmath.U256
	gasUnknown                      bool
}

func (f *flows) add(t *market.Transaction) {
	amounts := [2]*clmath.U256{&t.Amount0, &t.Amount1}
	fees := [2]*clmath.U256{&t.Fees0, &t.Fees1}
	for leg := range amounts {
		switch t.Type {
		case market.Mint:
			f.deposited[leg].Add(&f.deposited[leg], amounts[leg])
		case market.Burn:
			f.withdrawn[leg].Add(&f.withdrawn[leg], amounts[leg])
		}
		f.collected[leg].Add(&f.collected[leg], fees[leg])
	}
	wei := t.GasWei.U256()
	f.gasWei.Add(&f.gasWei, &wei)
	f.gasUnknown = f.gasUnknown || t.GasUnknown
}

// changes reads the history of position i, with its running sums. ok is false
// when it is longer than limits.transactions-max.
func (s *Pages) changes(v *rankings.View, i uint32) (out []change, ok bool, err error) {
	st := v.State
	p := st.Positions.At(i)
	if int64(p.Entries) > int64(s.cfg.Limits.TransactionsMax) {
		return nil, false, nil
	}
	it := s.entries(st, i, storage.OldestFirst)
	defer it.Close()
	var sum flows
	var liquidity clmath.U128
	var paid [][2]clmath.U256 // the fees of each change
	for it.Next() {
		t := it.Entry()
		sum.add(t)
		liquidity, _ = liquidity.Apply(t.LiquidityDelta)
		if t.Type == market.Transfer && len(out) > 0 {
			last := &out[len(out)-1].flow
			last.gasWei, last.gasUnknown = sum.gasWei, sum.gasUnknown
			continue
		}
		out = append(out, change{day: market.DayOf(t.Time), after: liquidity, flow: sum})
		paid = append(paid, [2]clmath.U256{t.Fees0, t.Fees1})
	}
	if n := len(out); n > 0 {
		out[n-1].inside = [2]clmath.U256{p.FeeGrowthInside0LastX128, p.FeeGrowthInside1LastX128}
		out[n-1].known = true
		backwards(out, paid)
	}
	return out, true, it.Err()
}

// backwards finds inside at every change from the one after it.
func backwards(out []change, paid [][2]clmath.U256) {
	for k := len(out) - 1; k > 0; k-- {
		before, after := &out[k-1], &out[k]
		if !after.known || before.after.IsZero() {
			continue
		}
		for leg := range before.inside {
			growth := clmath.GrowthOf(&paid[k][leg], before.after)
			before.inside[leg].Sub(&after.inside[leg], &growth)
		}
		before.known = true
	}
}

// positionSeries is how position i stood at the end of every day of the
// timeline from its mint to its closing; nil when that cannot be told.
func (s *Pages) positionSeries(v *rankings.View, i uint32, t *timeline) (
	first uint32, days []render.PositionDay, err error,
) {
	st := v.State
	p := st.Positions.At(i)
	history, ok, err := s.changes(v, i)
	if err != nil || !ok || len(history) == 0 {
		return 0, nil, err
	}
	lower, err := s.outsides(st.Chain, p.Pool, p.TickLower, t)
	if err != nil {
		return 0, nil, err
	}
	upper, err := s.outsides(st.Chain, p.Pool, p.TickUpper, t)
	if err != nil {
		return 0, nil, err
	}
	if last := len(t.ends) - 1; p.IsOpen() && last >= 0 {
		// The store may be ahead of the view: its own day is the view's.
		lower[last], upper[last] = outsideNow(st, p.LowerSlot), outsideNow(st, p.UpperSlot)
	}
	first = max(t.first, market.DayOf(p.MintedAt))
	days = []render.PositionDay{}
	at := 0
	for n := range t.ends {
		d := &t.ends[n]
		if d.Day < first || p.ClosedAt != 0 && d.Day > market.DayOf(p.ClosedAt) {
			continue
		}
		for at+1 < len(history) && history[at+1].day <= d.Day {
			at++
		}
		native, err := s.dayNative(st, d)
		if err != nil {
			return 0, nil, err
		}
		e := dayOf{st: st, p: p, d: d, c: &history[at], native: native}
		days = append(days, e.value(&lower[n], &upper[n]))
	}
	return first, days, nil
}

// outsides is the fee growth outside a tick at the end of every day.
func (s *Pages) outsides(
	chain market.ChainID, pool uint32, tick int32, t *timeline,
) ([]market.TickDay, error) {
	out := make([]market.TickDay, len(t.ends))
	at, _, err := s.cfg.Store.TickDayAt(chain, pool, tick, t.first-1)
	if err != nil || len(t.ends) == 0 {
		return nil, err
	}
	last := t.ends[len(t.ends)-1].Day
	it := s.cfg.Store.TickDays(chain, pool, tick, t.first, last, storage.OldestFirst)
	defer it.Close()
	n := 0
	for it.Next() {
		for ; n < len(out) && t.ends[n].Day < it.Entry().Day; n++ {
			out[n] = at
		}
		at = *it.Entry()
	}
	for ; n < len(out); n++ {
		out[n] = at
	}
	return out, it.Err()
}

func outsideNow(st *market.State, slot uint32) market.TickDay {
	t := st.Ticks.At(slot)
	return market.TickDay{
		FeeGrowthOutside0X128: t.FeeGrowthOutside0X128,
		FeeGrowthOutside1X128: t.FeeGrowthOutside1X128,
	}
}

// dayNative is what the native currency was worth in the last hour of a day.
func (s *Pages) dayNative(st *market.State, d *dayEnd) (float64, error) {
	switch p := st.Pools.At(d.Pool); st.Native {
	case market.NoIndex:
		return market.Unknown, nil
	case p.Currency0:
		return d.Price0Usd, nil
	}
	return s.dayPrice(st, st.Native, d.Day)
}

// dayOf is one position at the end of one day.
type dayOf struct {
	st     *market.State
	p      *market.Position
	d      *dayEnd
	c      *change
	native float64
}

// value computes what the row would have said at the day's end and prices.
func (e *dayOf) value(lower, upper *market.TickDay) render.PositionDay {
	f := &e.c.flow
	held, owed, known := e.holding(lower, upper)
	v, w, dep := e.usd(&held), e.usd(&f.withdrawn), e.usd(&f.deposited)
	fees := e.usd(&owed) + e.usd(&f.collected)
	if !known {
		fees = market.Unknown
	}
	gas := market.Unknown
	if !f.gasUnknown {
		gas = usdOf(&f.gasWei, &market.Token{Decimals: 18}, e.native)
	}
	out := render.PositionDay{
		AssetValueUsd: v, DivergenceLossUsd: v + w - dep, PnlUsd: v + w - dep + fees - gas,
		APR: market.Unknown, FeeAPR: market.Unknown,
	}
	if dep > 0 {
		years := float64(max(e.age(), market.Hour)) / (365 * market.Day)
		out.APR = out.PnlUsd / dep * 100 / years
		out.FeeAPR = fees / dep * 100 / years
	}
	return out
}

// age counts to the end of the day, or to where the position ended or stands.
func (e *dayOf) age() int64 {
	until := min(int64(e.d.Day+1)*market.Day, e.st.Now())
	if e.p.ClosedAt != 0 {
		until = min(until, e.p.ClosedAt)
	}
	return until - e.p.MintedAt
}

func (e *dayOf) usd(amounts *[2]clmath.U256) float64 {
	pool := e.st.Pools.At(e.d.Pool)
	return usdOf(&amounts[0], e.st.Tokens.At(pool.Currency0), e.d.Price0Usd) +
		usdOf(&amounts[1], e.st.Tokens.At(pool.Currency1), e.d.Price1Usd)
}

// holding is principal and uncollected fees at the day's end; known tells
// whether the fees are.
func (e *dayOf) holding(lower, upper *market.TickDay) (held, owed [2]clmath.U256, known bool) {
	if e.c.after.IsZero() {
		return held, owed, true
	}
	p, d := e.p, e.d
	sqrtLower, sqrtUpper := clmath.SqrtPriceAtTick(p.TickLower), clmath.SqrtPriceAtTick(p.TickUpper)
	held[0], held[1] = clmath.Principal(d.Tick, &d.Close, p.TickLower, p.TickUpper,
		&sqrtLower, &sqrtUpper, e.c.after, false)
	inside0 := clmath.FeeGrowthInside(d.Tick, p.TickLower, p.TickUpper, &d.FeeGrowthGlobal0X128,
		&lower.FeeGrowthOutside0X128, &upper.FeeGrowthOutside0X128)
	inside1 := clmath.FeeGrowthInside(d.Tick, p.TickLower, p.TickUpper, &d.FeeGrowthGlobal1X128,
		&lower.FeeGrowthOutside1X128, &upper.FeeGrowthOutside1X128)
	owed[0] = owedSince(&inside0, &e.c.inside[0], e.c.after)
	owed[1] = owedSince(&inside1, &e.c.inside[1], e.c.after)
	return held, owed, e.c.known
}

// owedSince is FeesOwed where last may be a raw unit's growth too high.
func owedSince(inside, last *clmath.U256, liquidity clmath.U128) clmath.U256 {
	var grown clmath.U256
	if grown.Sub(inside, last); grown[3] > math.MaxInt64 {
		return clmath.U256{}
	}
	return clmath.FeesOwed(inside, last, liquidity)
}
