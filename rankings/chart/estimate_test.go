package chart

import (
	"math"
	"slices"
	"testing"
	"time"

	"tidemark/actors/feed/sim"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// replay reads what is kept of a pool since the beginning of a day.
func (p *played) replay(pool, day uint32) *Replay {
	st, kept := p.st, new(ReplayRecords)
	before, older, err := p.store.PoolDayAt(st.Chain, pool, day-1)
	must(p.t, err)
	days := all(p, p.store.PoolDays(st.Chain, pool, day, market.DayOf(st.Now()), storage.OldestFirst))
	if kept.Begin = EndOfDay(&before); !older {
		kept.Begin = CreatedEnd(&days[0])
	}

	for i := range days {
		kept.Days = append(kept.Days, EndOfDay(&days[i]))
	}
	hours, err := p.store.PoolHours(st.Chain, pool, day, market.DayOf(st.Now()))
	must(p.t, err)
	for i := range hours {
		kept.Hours = append(kept.Hours, EndOfHour(&hours[i]))
	}
	return NewReplay(st, pool, max(Daily.Start(day), st.Pools.At(pool).CreatedAt), kept)
}

// question asks for a range and value at the prices of when a day began. The ends of the
// range are kept ticks if positions other than one prove it.
func (p *played) question(pool, day uint32, lower, upper int32, usd float64, but uint32) *Question {
	st, q := p.st, &Question{TickLower: lower, TickUpper: upper, ValueUsd: usd}
	rows := func(yield func(uint32) bool) {
		for i := range st.Positions.Len() {
			if st.Positions.At(i).Pool == pool && i != but && !yield(i) {
				return
			}
		}
	}
	for n, slot := range FindKept(st, rows, Daily.Start(day), [2]int32{lower, upper}) {
		if slot == market.NoIndex {
			continue
		}
		now := st.Ticks.At(slot)
		then, known, err := p.store.TickDayAt(st.Chain, pool, now.Tick, day-1)
		must(p.t, err)
		q.Kept[n] = KeptTick{
			known, [2]clmath.U256{then.FeeGrowthOutside0X128, then.FeeGrowthOutside1X128},
			[2]clmath.U256{now.FeeGrowthOutside0X128, now.FeeGrowthOutside1X128},
		}
	}

	p.step = Hourly
	at, hour := st.Pools.At(pool), day*market.HoursOfDay
	for leg, token := range [2]uint32{at.Currency0, at.Currency1} {
		q.Quotes[leg] = p.quotes(token, hour, hour)[0]
	}
	return q
}

// held is a position that did not change since a day began, and what it had then.
type held struct {
	index     uint32
	at        *market.Position
	replay    *Replay
	principal [2]clmath.U256
	usd       float64
}

// eachHeld calls f for every position that stood untouched since a day began, in a pool
// and at a time with prices.
func (p *played) eachHeld(day uint32, f func(*held)) {
	for i := range p.st.Positions.Len() {
		h := &held{index: i, at: p.st.Positions.At(i)}
		from := Daily.Start(day)
		if !hadLiquiditySince(h.at, from) || p.touchedSince(i, from) {
			continue
		}

		h.replay = p.replay(h.at.Pool, day)
		q := p.question(h.at.Pool, day, h.at.TickLower, h.at.TickUpper, 1, i)
		h.principal = principalAt(&h.replay.begin, q, h.at.Liquidity(), false)
		h.usd = value.PastUsd(p.st, h.at.Pool, &h.principal, &q.Quotes)
		if market.Known(h.usd) && h.usd > 0 {
			f(h)
		}
	}
}

// touchedSince reports whether a position has an entry of a time or later.
func (p *played) touchedSince(i uint32, from int64) bool {
	it := p.store.Transactions(p.st.Chain, i, storage.Place{}, storage.End(p.st.Head.Number), storage.NewestFirst)
	defer it.Close()
	return it.Next() && it.Entry().Time >= from
}

func (p *played) estimate(q *Question, r *Replay) Estimate {
	p.t.Helper()
	e, ok := r.Estimate(q)
	if !ok {
		p.t.Fatalf("no estimate of %+v", q)
	}
	return e
}

// spread is how differences are spread.
type spread []float64

func (s spread) at(share float64) float64 {
	slices.Sort(s)
	return s[min(int(share*float64(len(s))), len(s)-1)]
}

// TestEstimates holds estimates of 30 days against the real positions that stood in the
// same ranges untouched for those days and earned more than a dollar: with their ticks,
// which is exact, and without, by the hours of the pool. The difference is printed, and
// what was promised of it is asserted.
func TestEstimates(t *testing.T) {
	markets := uint64(5)
	if testing.Short() {
		markets = 1
	}

	var fees spread
	split := 0
	for seed := range markets {
		m := play(t, 5*time.Hour+20*time.Minute, sim.Config{
			Seed: seed + 1, Positions: 3000, Pools: 80, Days: 90, Actions: 36_000, SpanEvents: 4000,
		})
		day := market.DayOf(m.st.Now()) - (hourlyDays - 1)
		m.eachHeld(day, func(h *held) {
			q := m.question(h.at.Pool, day, h.at.TickLower, h.at.TickUpper, h.usd, market.NoIndex)
			exact := m.estimate(q, h.replay)
			if !market.Known(exact.FeesUsd) || exact.FeesUsd <= 1 {
				return
			}

			q.Kept = [2]KeptTick{}
			near := m.estimate(q, h.replay)
			off := math.Abs(near.FeesUsd/exact.FeesUsd - 1)
			if fees = append(fees, off); near.SplitFees {
				split++
			} else if off > 1e-9 {
				t.Errorf("position %d: nothing was split, and the fees are %g off", h.at.ID, off)
			}
			if near.Basis != BasisHours || near.DivergenceUsd != exact.DivergenceUsd {
				t.Errorf("position %d: %+v; with its ticks %+v", h.at.ID, near, exact)
			}
		})
	}

	if len(fees) < 20*int(markets) || split < 6*int(markets) {
		t.Fatalf("only %d positions were compared, %d of them with a split part", len(fees), split)
	}
	fees.check(t, "fees of 30 days without the position's ticks", 0.01, 0.05)
	t.Log(split, "of them had a part that was split")
}

// check prints how differences are spread, and holds them to a median and a p99.
func (s spread) check(t *testing.T, what string, median, p99 float64) {
	t.Helper()
	t.Logf("%s: %d compared, the median is %.2g %% off, the p99 %.2g %%, the worst %.2g %%", what,
		len(s), 100*s.at(0.5), 100*s.at(0.99), 100*s.at(1))
	if s.at(0.5) > median || s.at(0.99) > p99 {
		t.Errorf("%s: want a median below %g and a p99 below %g", what, median, p99)
	}
}

// TestExactEstimates holds estimates whose ticks stayed initialised against the ledger:
// what real positions had to collect, then and now, and how long they were in range.
func TestExactEstimates(t *testing.T) {
	m := play(t, 5*time.Hour+20*time.Minute, sim.Config{
		Positions: 600, Pools: 26, Days: 40, Actions: 7200, SpanEvents: 4,
	})
	var fees, times spread
	for _, ago := range []uint32{3, 6, 11, 17, 29} {
		day := market.DayOf(m.st.Now()) - ago
		m.eachHeld(day, func(h *held) {
			q := m.question(h.at.Pool, day, h.at.TickLower, h.at.TickUpper, h.usd, market.NoIndex)
			e := m.estimate(q, h.replay)
			before, ok := m.stateBefore(h)
			if !ok || !market.Known(e.FeesUsd) {
				return
			}
			if e.Basis != BasisTicks || e.SplitFees || e.From != h.replay.from || e.To != m.st.Now() {
				t.Errorf("position %d: %+v", h.at.ID, e)
			}

			if usd := m.earned(h, before); usd > 0.01 {
				fees = append(fees, math.Abs(e.FeesUsd/usd-1))
			} else if e.FeesUsd > 0.011 {
				t.Errorf("position %d earned %g; the estimate is %g", h.at.ID, usd, e.FeesUsd)
			}
			if share, ok := m.inRange(h, before); ok {
				times = append(times, math.Abs(e.TimeInRange-share))
			}
		})
	}

	if len(fees) < 60 || len(times) < 60 {
		t.Fatalf("only %d fees and %d times were compared", len(fees), len(times))
	}
	fees.check(t, "fees with the position's ticks", 1e-7, 1e-5)
	times.check(t, "share of time in range", 0.001, 0.05)
}

// TestOwnPrice: a token that had no independent price when the replay begins is valued
// at the pool's own, by the other token; without that nothing is known but the time.
func TestOwnPrice(t *testing.T) {
	m := playMarket(t, 0)
	day, compared := market.DayOf(m.st.Now())-3, 0
	for n := range 2 * m.st.Pools.Len() {
		// Half of the ranges hold both tokens, half one of them.
		pool := n / 2
		p, r := m.st.Pools.At(pool), m.replay(pool, day)
		lower := clmath.Aligned(p.Tick, p.TickSpacing) - 100*p.TickSpacing
		if n%2 == 1 {
			lower = clmath.Aligned(r.begin.Tick, p.TickSpacing) + p.TickSpacing
		}
		q := m.question(pool, day, lower, lower+200*p.TickSpacing, 1000, market.NoIndex)
		full := m.estimate(q, r)
		if !market.Known(full.FeesUsd) || full.OwnPrice {
			continue
		}

		for leg, quote := range q.Quotes {
			for _, lost := range []value.Quote{
				{Usd: market.Unknown, OnlyPool: market.NoIndex}, {Usd: 7 * quote.Usd, OnlyPool: pool},
			} {
				asked := *q
				asked.Quotes = [2]value.Quote{lost, lost}
				none := m.estimate(&asked, r)
				if market.Known(none.FeesUsd) || market.Known(none.FeeAPR) || market.Known(none.DivergenceUsd) ||
					none.OwnPrice || none.SplitFees || none.TimeInRange != full.TimeInRange {
					t.Errorf("pool %d without prices: %+v", pool, none)
				}

				// A token that is not in the deposit needs no price.
				other := q.Quotes[1-leg]
				if n%2 == 1 && leg == 1 || !market.Known(other.Usd) || other.OnlyPool == pool {
					continue
				}
				asked.Quotes[1-leg] = other
				e := m.estimate(&asked, r)
				if !e.OwnPrice || math.Abs(e.FeesUsd-full.FeesUsd) > 0.02*full.FeesUsd+1e-9 || e.TimeInRange != full.TimeInRange {
					t.Errorf("pool %d without price %d: %+v; with it %+v", pool, leg, e, full)
				}
				compared++
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d were compared", compared)
	}
}

// stateBefore returns the ledger's newest State before a day began, if nothing happened
// to the pool of a replay between the two.
func (p *played) stateBefore(h *held) (*market.State, bool) {
	var before *market.State
	for _, past := range p.past {
		if past.Now() < h.replay.from {
			before = past
		}
	}
	if before == nil || before.Pools.Len() <= h.at.Pool || before.Positions.Len() <= h.index {
		return nil, false
	}

	at, begin := before.Pools.At(h.at.Pool), &h.replay.begin
	same := at.SqrtPriceX96 == begin.Close && at.FeeGrowthGlobal0X128 == begin.FeeGrowthGlobal0X128 &&
		at.FeeGrowthGlobal1X128 == begin.FeeGrowthGlobal1X128
	return before, same && before.Positions.At(h.index).Liquidity() == h.at.Liquidity()
}

// earned returns what a position earned since then, by the ledger.
func (p *played) earned(h *held, before *market.State) (usd float64) {
	then := *before
	then.Prices, then.Native = p.st.Prices, p.st.Native

	var row, past value.Metrics
	value.Position(p.st, h.index, &row)
	value.Position(&then, h.index, &past)
	var owed [2]clmath.U256
	for leg := range owed {
		owed[leg].Sub(&row.Uncollected.Raw[leg], &past.Uncollected.Raw[leg])
	}
	at := p.st.Pools.At(h.at.Pool)
	quotes := [2]value.Quote{
		value.QuoteOf(p.st.Prices.At(at.Currency0)), value.QuoteOf(p.st.Prices.At(at.Currency1)),
	}
	return value.PastUsd(p.st, h.at.Pool, &owed, &quotes)
}

// inRange returns the share of the time since then in which a position was in range, by
// the ledger's seconds.
func (p *played) inRange(h *held, before *market.State) (share float64, ok bool) {
	now, open, ok := p.st.SecondsInRange(h.at)
	then, opened, known := before.SecondsInRange(before.Positions.At(h.index))
	return float64(now-then) / float64(open-opened), ok && known
}

// TestRangeThatWasNotEntered asks for the range at the top of the scale, of which only the
// upper end is kept exactly. It earned nothing, however much liquidity the value buys there.
func TestRangeThatWasNotEntered(t *testing.T) {
	m := play(t, 5*time.Hour, sim.Config{Positions: 600, Pools: 26, Days: 40, Actions: 7200})
	day := market.DayOf(m.st.Now()) - (hourlyDays - 1)
	asked := 0
	for pool := range m.st.Pools.Len() {
		at := m.st.Pools.At(pool)
		top := clmath.MaxTick / at.TickSpacing * at.TickSpacing
		if at.CreatedAt >= Daily.Start(day) {
			continue
		}
		q := m.question(pool, day, top-at.TickSpacing, top, 1e-9, market.NoIndex)
		if !q.Kept[1].Known || q.Kept[0].Known {
			continue
		}

		asked++
		e := m.estimate(q, m.replay(pool, day))
		if market.Known(e.FeesUsd) && e.FeesUsd != 0 || e.TimeInRange != 0 {
			t.Errorf("pool %d: fees of $%g and %g of the time in range, of a range that was not entered",
				pool, e.FeesUsd, e.TimeInRange)
		}
	}
	if asked == 0 {
		t.Fatal("no pool keeps the top of its range")
	}
}
