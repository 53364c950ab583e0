package chart

import (
	"math"
	"slices"
	"testing"
	"time"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// TestHistoryOfMint: what the record of a position says that was minted and not touched since is
// what its transaction says; that of any other position does not say it.
func TestHistoryOfMint(t *testing.T) {
	m := playMarket(t, 5*time.Hour)
	minted := 0
	for i := range m.st.Positions.Len() {
		p := m.st.Positions.At(i)
		line := m.timeline(p.Pool)
		from, to := line.PositionPast(i)
		h, ok := HistoryOfMint(m.st, p, m.step, from, to)
		if want := p.Entries == 1; ok != want {
			t.Fatalf("position %d of %d entries, open %t: %t", p.ID, p.Entries, p.IsOpen(), ok)
		}
		if !ok {
			continue
		}

		minted++
		want := m.records(i, line).History
		if !slices.Equal(h.changes, want.changes) {
			t.Errorf("position %d: %+v; its transaction says %+v", p.ID, h.changes, want.changes)
		}
	}
	if minted < 20 {
		t.Errorf("only %d positions were minted and not touched since", minted)
	}

	if _, ok := HistoryOfMint(m.st, &market.Position{Entries: 1, Closed: true}, Daily, 0, 0); ok {
		t.Error("a closed position's record has the history of a mint")
	}
}

// TestLastPointsAreRows: the last point of a series is what the row says, of
// every pool and position.
func TestLastPointsAreRows(t *testing.T) {
	f := func(name string, live time.Duration, step Step) {
		t.Helper()
		m := playMarket(t, live)
		m.step = step
		st := m.st
		for i := range st.Pools.Len() {
			m.samePool(name, i)
		}

		open, closed := 0, 0
		for i := range st.Positions.Len() {
			p := st.Positions.At(i)
			line := m.timeline(p.Pool)
			series := line.Position(i, m.records(i, line))
			if len(series.Points) == 0 {
				t.Errorf("%s: position %d has no series", name, p.ID)
				continue
			}
			end := step.Of(st.Now())
			if closed++; p.IsOpen() {
				closed, open = closed-1, open+1
			} else {
				end = step.Of(int64(p.ClosedAt))
			}

			var row value.Metrics
			value.Position(st, i, &row)
			last := series.Points[len(series.Points)-1]
			if first := step.Of(int64(p.MintedAt)); series.First != first || len(series.Points) != int(end-first)+1 {
				t.Errorf("%s: position %d has %d points from %d; want %d to %d",
					name, p.ID, len(series.Points), series.First, first, end)
			}
			if want := pointOf(&row.Figures); !sameDay(&last, &want) {
				t.Errorf("%s: position %d ends with %+v; the row is %+v", name, p.ID, last, want)
			}
		}
		if open < 50 || closed < 20 {
			t.Errorf("%s: only %d open and %d closed positions were compared", name, open, closed)
		}
	}
	f("at the end of a day", 0, Daily)
	f("live", 5*time.Hour, Daily)
	f("by the hour", 0, Hourly)
	f("by the hour, live", 5*time.Hour+20*time.Minute, Hourly)
}

// TestEveryPoolHasADay: from the block that creates it a pool has a day, and
// every day since, whatever happened in it or did not.
func TestEveryPoolHasADay(t *testing.T) {
	m := playMarket(t, 0)
	pools, untouched := 0, 0
	for _, past := range append(m.past, m.st) {
		st := *past
		st.Prices = m.st.Prices
		at := &played{t: t, store: m.store, st: &st, step: Daily}
		for i := range st.Pools.Len() {
			p, line := st.Pools.At(i), at.timeline(i)
			first, today := market.DayOf(p.CreatedAt), market.DayOf(st.Now())
			if len(line.ends) != int(today-first)+1 || line.first != first || line.ends[0].At != first {
				t.Errorf("pool %d has %d days from %d on; it is of day %d, today is %d",
					i, len(line.ends), line.first, first, today)
			}
			pools++
			if p.Swaps+p.LiquidityChanges == 0 {
				untouched++
			}
		}
	}

	if pools < 1000 || untouched == 0 {
		t.Errorf("%d pools at some time were looked at, %d of them only created", pools, untouched)
	}
}

// TestHoursHoldWhatWasSeen: the price of a state on the way lies between low and high
// of its hour, and what a pool held when nothing more happened to it in the hour is what
// the hour ends with.
func TestHoursHoldWhatWasSeen(t *testing.T) {
	m := playMarket(t, 5*time.Hour+20*time.Minute)
	m.step = Hourly
	prices, amounts := 0, 0
	for i := range m.st.Pools.Len() {
		line := m.timeline(i)
		for _, end := range line.ends {
			if !(end.Low <= end.Open && end.Open <= end.High && end.Low <= value.Float(&end.Close)) {
				t.Errorf("pool %d, hour %d: opens at %g, between %g and %g", i, end.At, end.Open, end.Low, end.High)
			}
		}

		states := append(m.past, m.st)
		for k, past := range states {
			hour := Hourly.Of(past.Now())
			if i >= past.Pools.Len() || hour < line.first {
				continue
			}
			end, then := &line.ends[hour-line.first], past.Pools.At(i)
			if root := value.Float(&then.SqrtPriceX96); root < end.Low*(1-1e-15) || root > end.High*(1+1e-15) {
				t.Errorf("pool %d, hour %d: %g was seen, between %g and %g", i, hour, root, end.Low, end.High)
			}
			if prices++; k+1 == len(states) || Hourly.Of(states[k+1].Now()) == hour {
				continue
			}
			next := states[k+1].Pools.At(i)
			if next.Swaps != then.Swaps || next.LiquidityChanges != then.LiquidityChanges {
				continue
			}
			held := EndOfDay(past.Days.At(i)).Amounts
			for leg, got := range end.Amounts {
				if math.Abs(got-held[leg]) > 1e-9*held[leg] {
					t.Errorf("pool %d, hour %d: ends with %g of token %d; it held %g", i, hour, got, leg, held[leg])
				}
			}
			amounts++
		}
	}
	if prices < 1000 || amounts < 100 {
		t.Errorf("only %d prices and %d amounts were compared", prices, amounts)
	}
}

// TestMergedChanges: at the end of an interval a position stands as after the last of its
// transactions by then, whether those before it are told apart or not.
func TestMergedChanges(t *testing.T) {
	m := playMarket(t, 0)
	merged, gaps := 0, 0
	for i := range m.st.Positions.Len() {
		p := m.st.Positions.At(i)
		end := storage.End(m.st.Head.Number)
		entries := all(m, m.store.Transactions(m.st.Chain, i, storage.Place{}, end, storage.OldestFirst))
		from, to := Daily.Of(int64(p.MintedAt))+1, Daily.Of(m.st.Now())
		apart, daily := NewHistory(p, 1, 0, 0), NewHistory(p, Daily, from, to)
		for k := range entries {
			apart.Add(&entries[k])
			daily.Add(&entries[k])
		}
		apart.findInside()
		daily.findInside()

		var want []change
		for _, c := range apart.changes {
			c.at = max(from, Daily.Of(int64(c.at)))
			if n := len(want); n > 0 && want[n-1].at == c.at {
				merged++
				want = want[:n-1]
			}
			want = append(want, c)
		}
		for k, got := range daily.changes {
			if got.gap {
				gaps++
			}
			got.gap, got.grown = want[k].gap, want[k].grown
			if got != want[k] {
				t.Errorf("position %d, interval %d: %+v; want %+v", p.ID, got.at, got, want[k])
			}
		}
		if len(want) != len(daily.changes) {
			t.Errorf("position %d has %d changes; want %d", p.ID, len(daily.changes), len(want))
		}
	}
	if merged < 100 || gaps == 0 {
		t.Errorf("only %d changes were merged, and %d had a gap", merged, gaps)
	}
}

// TestTransferFirst: a history that begins with a transfer, as one that was cut, has it
// as its first change.
func TestTransferFirst(t *testing.T) {
	h := NewHistory(&market.Position{}, Hourly, 0, 0)
	h.Add(&market.Transaction{Type: market.Transfer, Time: 7 * market.Hour, GasUnknown: true})
	if len(h.changes) != 1 || h.changes[0].at != 7 || !h.changes[0].flow.gasUnknown {
		t.Errorf("the changes are %+v", h.changes)
	}
}

func (m *played) samePool(name string, i uint32) {
	m.t.Helper()
	st := m.st
	days := m.timeline(i).Points()
	last, stats, p := &days.Points[len(days.Points)-1], st.Stats.At(i), st.Pools.At(i)
	f := func(what string, got, want float64) {
		m.t.Helper()
		if got != want && (market.Known(got) || market.Known(want)) {
			m.t.Errorf("%s: the last %s of pool %d is %v; the row has %v", name, what, i, got, want)
		}
	}

	f("tvlUsd", last.TVLUsd, stats.TVLUsd)
	f("price", last.Close, stats.CurrentPrice)
	f("price of token 0", last.Price0Usd, st.Prices.At(p.Currency0).Usd)
	f("price of token 1", last.Price1Usd, st.Prices.At(p.Currency1).Usd)
	if days.First+uint32(len(days.Points))-1 != m.step.Of(st.Now()) {
		m.t.Errorf("%s: the points of pool %d do not end now", name, i)
	}
}

func sameDay(a, b *PositionPoint) bool {
	same := func(x, y float64) bool { return x == y || !market.Known(x) && !market.Known(y) }
	return same(a.PnlUsd, b.PnlUsd) && same(a.AssetValueUsd, b.AssetValueUsd) &&
		same(a.APR, b.APR) && same(a.FeeAPR, b.FeeAPR) && same(a.DivergenceLossUsd, b.DivergenceLossUsd)
}

// TestPastAmounts holds amounts and uncollected fees of past days and hours to the
// raw unit against states of the ledger that it had on the way, wherever such a
// state was still the pool's when the day or hour ended.
func TestPastAmounts(t *testing.T) {
	m := playMarket(t, 0)
	m.comparePast(300)
	m.step = Hourly
	m.comparePast(300)
}

func (m *played) comparePast(least int) {
	t := m.t
	t.Helper()
	compared := 0
	for i := range m.st.Positions.Len() {
		p := m.st.Positions.At(i)
		line := m.timeline(p.Pool)
		r := m.records(i, line)
		r.History.findInside()
		changes := r.History.changes
		if len(changes) == 0 {
			continue
		}
		for _, past := range m.past {
			if i >= past.Positions.Len() || !past.Positions.At(i).IsOpen() {
				continue
			}
			day := m.step.Of(past.Now())
			if day < line.first {
				continue
			}
			end, then := &line.ends[day-line.first], past.Pools.At(p.Pool)
			at := &changes[0]
			for k := range changes {
				if changes[k].at <= day {
					at = &changes[k]
				}
			}
			if end.FeeGrowthGlobal0X128 != then.FeeGrowthGlobal0X128 || end.Close != then.SqrtPriceX96 ||
				end.FeeGrowthGlobal1X128 != then.FeeGrowthGlobal1X128 ||
				at.after != past.Positions.At(i).Liquidity() || at.flow.collected != collected(past, i) {
				continue
			}

			lower, upper := outside{entries: r.Lower}, outside{entries: r.Upper}
			d := positionEnd{
				st: m.st, p: p, end: end, change: at,
				sqrtLower: clmath.SqrtPriceAtTick(p.TickLower), sqrtUpper: clmath.SqrtPriceAtTick(p.TickUpper),
				lower: lower.writtenBy(day), upper: upper.writtenBy(day),
			}
			held, owed := d.computeHoldings()
			priced := *past
			priced.Prices, priced.Native = m.st.Prices, market.NoIndex
			var row value.Metrics
			value.Position(&priced, i, &row)
			compared++
			if held != row.Current.Raw ||
				at.known && (isOff(owed[0], row.Uncollected.Raw[0]) || isOff(owed[1], row.Uncollected.Raw[1])) {
				t.Errorf("position %d, interval %d: got %v and %v (%v); want %v and %v", p.ID, day,
					held, owed, at.known, row.Current.Raw, row.Uncollected.Raw)
			}
		}
	}
	if compared < least {
		t.Errorf("only %d ends were compared", compared)
	}
	t.Log(compared, "ends compared")
}

// isOff reports whether got is more than a hundred raw units below want, one
// for each change since, or above it.
func isOff(got, want clmath.U256) bool {
	var less clmath.U256
	less.Sub(&want, &got)
	return less.GtUint64(100)
}

func collected(st *market.State, i uint32) [2]clmath.U256 {
	sums := st.Sums(st.Positions.At(i))
	return [2]clmath.U256{sums.Collected0, sums.Collected1}
}

// TestPastIsPricedByItsRecords: a past day is worth its amounts at its prices,
// unknown where one of them was.
func TestPastIsPricedByItsRecords(t *testing.T) {
	m := playMarket(t, 0)
	known, unknown, moved := 0, 0, 0
	for i := range m.st.Pools.Len() {
		line := m.timeline(i)
		days := line.Points()
		for n := range days.Points[:len(days.Points)-1] {
			d, end := &days.Points[n], &line.ends[n]
			usd := m.worth(i, end)
			if known++; !market.Known(usd) {
				known, unknown = known-1, unknown+1
			}
			if market.Known(usd) != market.Known(d.TVLUsd) || math.Abs(d.TVLUsd-usd) > 1e-9*usd {
				t.Errorf("pool %d, day %d: tvl is %v; its amounts make %v", i, days.First+uint32(n), d.TVLUsd, usd)
			}
			if next := &line.ends[n+1]; next.VolumeUsd == 0 && next.Amounts == end.Amounts &&
				market.Known(d.TVLUsd) && days.Points[n+1].TVLUsd != d.TVLUsd {
				moved++
			}
		}
	}

	if known < 100 || unknown < 10 || moved < 3 {
		t.Errorf("%d known, %d unknown, %d quiet days whose prices moved: too few", known, unknown, moved)
	}
}

// worth is what a pool held at a day's end, redone in floats.
func (m *played) worth(pool uint32, end *pricedEnd) (usd float64) {
	p := m.st.Pools.At(pool)
	for leg, token := range [2]uint32{p.Currency0, p.Currency1} {
		if amount := end.Amounts[leg]; amount != 0 {
			worth := amount / math.Pow10(int(m.st.Tokens.At(token).Decimals)) * end.quotes[leg].Usd
			usd += min(worth, 2*end.quotes[leg].ExitUsd) // what a pool's leg counts for at most
		}
	}
	return usd
}
