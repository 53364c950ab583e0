package chart

import (
	"math"
	"slices"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// stretch is what a replay knows of one of its passages.
type stretch struct {
	from, to               int64
	open, high, low, close float64
	growth0, growth1       float64
}

// TestNewReplay: a replay goes by days until the days of which the hours are kept, and by
// hours from then on, up to the running hour, which is the State's.
func TestNewReplay(t *testing.T) {
	const first = today - (hourlyDays - 1) // the first day by hours
	f := func(name string, from int64, change func(h *handmade, kept *ReplayRecords), daily bool, want ...stretch) {
		t.Helper()
		h := newHandmade()
		h.day = market.PoolDay{
			Day: today, Open: clmath.U256{50}, High: clmath.U256{70}, Low: clmath.U256{45}, Close: clmath.U256{60},
			FeeGrowthGlobal0X128: clmath.U256{100}, FeeGrowthGlobal1X128: clmath.U256{1000},
			EventHour: 4, HourHigh: 66, HourLow: 55,
		}
		kept := &ReplayRecords{Begin: End{Close: clmath.U256{10}, FeeGrowthGlobal0X128: clmath.U256{1}, FeeGrowthGlobal1X128: clmath.U256{2}}}
		change(h, kept)
		r := NewReplay(h.state(), 0, from, kept)
		var got []stretch
		for _, p := range r.passages {
			got = append(got, stretch{p.from, p.to, p.open, p.high, p.low, p.close, p.growth[0], p.growth[1]})
		}
		if !slices.Equal(got, want) || r.daily != daily || r.from != from || r.begin != kept.Begin {
			t.Errorf("%s: daily %t from %d\n%+v; want %t\n%+v", name, r.daily, r.from, got, daily, want)
		}
	}
	end := func(at uint32, low, high float64, close, growth uint64) End {
		return End{
			At: at, Low: low, High: high, Close: clmath.U256{close},
			FeeGrowthGlobal0X128: clmath.U256{growth}, FeeGrowthGlobal1X128: clmath.U256{10 * growth},
		}
	}
	day, hour := Daily.Start, Hourly.Start

	// The newest hour with an event is two hours ago, and nothing happened in the running one.
	newest := func(open, growth0, growth1 float64) stretch {
		return stretch{hour(thisHour - 2), hour(thisHour - 1), open, max(66, open, 60), min(55, open), 60, 100 - growth0, 1000 - growth1}
	}
	running := stretch{hour(thisHour), nowUnix, 60, 60, 60, 60, 0, 0}
	f("nothing but the State", day(first), func(*handmade, *ReplayRecords) {}, false, newest(10, 1, 2), running)
	f("days, then hours", day(first-3)+7200, func(_ *handmade, kept *ReplayRecords) {
		kept.Days = []End{end(first-3, 9, 12, 11, 5), end(first-1, 12, 14, 13, 6), end(first, 1, 2, 1, 7)}
		kept.Hours = []End{end(first*24-1, 1, 2, 1, 6), end(first*24, 20, 22, 21, 8), end(thisHour-3, 30, 40, 35, 20)}
	}, true,
		stretch{day(first-3) + 7200, day(first - 2), 10, 12, 9, 11, 4, 48},
		stretch{day(first - 1), day(first), 11, 14, 11, 13, 1, 10},
		stretch{hour(first * 24), hour(first*24 + 1), 13, 22, 13, 21, 2, 20},
		stretch{hour(thisHour - 3), hour(thisHour - 2), 21, 40, 21, 35, 12, 120},
		newest(35, 20, 200), running)
	f("an event in the running hour", day(first), func(h *handmade, kept *ReplayRecords) {
		h.day.EventHour = 6
		kept.Hours = []End{end(thisHour-2, 30, 40, 35, 20), end(thisHour, 1, 2, 1, 30), end(thisHour+1, 1, 2, 1, 30)}
	}, false,
		stretch{hour(thisHour - 2), hour(thisHour - 1), 10, 40, 10, 35, 19, 198},
		stretch{hour(thisHour), nowUnix, 35, 66, 35, 60, 80, 800})

	// Hours that are kept since a time in a day are used from the next day on.
	days := func(_ *handmade, kept *ReplayRecords) {
		kept.Days = []End{end(today-2, 9, 12, 11, 5), end(today-1, 12, 14, 13, 6), end(today, 1, 2, 1, 7)}
		kept.Hours = []End{end((today-1)*24, 30, 40, 35, 6), end(today*24, 30, 40, 35, 7)}
	}
	since := func(hour uint32, then func(*handmade, *ReplayRecords)) func(*handmade, *ReplayRecords) {
		return func(h *handmade, kept *ReplayRecords) {
			h.hoursFrom = hour + 1
			then(h, kept)
		}
	}
	before := stretch{day(today - 2), day(today - 1), 10, 12, 9, 11, 4, 48}
	f("hours since yesterday", day(today-2), since((today-1)*24, days), true, before,
		stretch{hour((today - 1) * 24), hour((today-1)*24 + 1), 11, 40, 11, 35, 1, 10},
		stretch{hour(today * 24), hour(today*24 + 1), 35, 40, 30, 35, 1, 10},
		newest(35, 7, 70), running)
	yesterday := stretch{day(today - 1), day(today), 11, 14, 11, 13, 1, 10}
	f("hours since an hour of yesterday", day(today-2), since((today-1)*24+1, days), true, before, yesterday,
		stretch{hour(today * 24), hour(today*24 + 1), 13, 40, 13, 35, 1, 10},
		newest(35, 7, 70), running)
	whole := stretch{day(today), nowUnix, 13, 70, 13, 60, 94, 940}
	f("hours since an hour of today", day(today-2), since(today*24+1, days), true, before, yesterday, whole)
	f("no hours", day(today-2), func(h *handmade, kept *ReplayRecords) { h.hoursFrom = 0; days(h, kept) },
		true, before, yesterday, whole)
	f("no hours and a day without events", day(today-2), func(h *handmade, kept *ReplayRecords) {
		h.hoursFrom, h.day.Day = 0, today-1
		days(h, kept)
		kept.Days = kept.Days[:2]
	}, true, before, yesterday)
}

// passing is a replay of one hour and the time after it, in which the price went from one
// tick to another.
func passing(h *handmade, begin, end int32, growth float64) *Replay {
	at := func(tick int32) End { return End{Close: clmath.SqrtPriceAtTick(tick), Tick: tick} }
	root := func(tick int32) float64 {
		v := clmath.SqrtPriceAtTick(tick)
		return value.Float(&v)
	}
	r := &Replay{st: h.state(), from: nowUnix - 7200, begin: at(begin)}
	p := passage{from: nowUnix - 7200, to: nowUnix - 3600, End: at(end), growth: [2]float64{growth, growth}}
	p.path = path{root(begin), root(max(begin, end)), root(min(begin, end)), root(end)}
	r.passages = []passage{p}
	return r
}

// TestWhatIsSplit: an estimate says that fees or time were split when the price passed an
// end of its range, whichever it was, and fees only if there were some. Of a price that only
// came to an end it is not known how long it stood there.
func TestWhatIsSplit(t *testing.T) {
	f := func(name string, begin, end int32, growth float64, change func(r *Replay), splitTime, splitFees bool) {
		t.Helper()
		r := passing(newHandmade(), begin, end, growth)
		change(r)
		q := &Question{TickLower: -100, TickUpper: 100, ValueUsd: 1000}
		for leg, quotes := range quotes(1) {
			q.Quotes[leg] = quotes[0]
		}
		e, ok := r.Estimate(q)
		if !ok || e.SplitTime != splitTime || e.SplitFees != splitFees || !market.Known(e.FeesUsd) || e.OwnPrice ||
			e.Basis != BasisHours || e.TimeInRange < 0 || e.TimeInRange > 1 {
			t.Errorf("%s: %+v; want time split %t, fees %t", name, e, splitTime, splitFees)
		}
	}

	const growth = 1e30
	as := func(*Replay) {}
	f("within", -50, 50, growth, as, false, false)
	f("over the upper end", 0, 150, growth, as, true, true)
	f("over the lower end", -150, 0, growth, as, true, true)
	f("over the upper end, without fees", 0, 150, 0, as, true, false)
	f("over the lower end, without fees", -150, 0, 0, as, true, false)
	f("down from the upper end", 100, 50, growth, as, true, false)
	f("up to the upper end", 50, 100, growth, as, true, false)
	f("up from the lower end", -100, 0, growth, as, true, false)
	f("down from the lower end", -100, -150, growth, as, true, false)
	f("at rest at the upper end", 100, 100, growth, as, false, false)
	f("over it once, with fees", 0, 150, growth, func(r *Replay) {
		r.passages = append(r.passages, r.passages[0])
		r.passages[1].growth = [2]float64{}
	}, true, true)
	f("no time", 0, 150, growth, func(r *Replay) { r.passages[0].to = r.passages[0].from }, true, true)
}

// TestShareOfTheTime: the time in range is that between the ticks by that of all.
func TestShareOfTheTime(t *testing.T) {
	f := func(name string, r *Replay, want float64) {
		t.Helper()
		q := &Question{TickLower: -100, TickUpper: 100, ValueUsd: 1000}
		e, ok := r.Estimate(q)
		if !ok || !same(e.TimeInRange, want) || e.From != r.from || e.To != nowUnix {
			t.Errorf("%s: %+v; want %g of the time", name, e, want)
		}
	}

	h := newHandmade()
	f("all", passing(h, -50, 50, 0), 1)
	f("none", passing(h, 200, 300, 0), 0)
	f("the second hour", passing(h, -150, -150, 0), 0)
	late := passing(h, 0, 150, 0)
	late.passages[0].from += 1800 // an hour's half in range, then split, then out
	upper := clmath.SqrtPriceAtTick(100)
	share := late.passages[0].path.below(value.Float(&upper)).time
	f("a part", late, (1800+share*1800)/7200)
	now := passing(h, 0, 0, 0)
	now.from, now.passages = nowUnix, nil
	f("no time yet", now, market.Unknown)

	now = passing(h, 0, 150, 0)
	now.from, now.passages[0].from, now.passages[0].to = nowUnix, nowUnix, nowUnix
	f("no time yet, and a price that moved", now, market.Unknown)
	if e, _ := now.Estimate(&Question{TickLower: -100, TickUpper: 100, ValueUsd: 1000}); e.SplitTime {
		t.Error("time that did not pass was split")
	}
}

// TestImpossibleEstimates: what cannot be told is unknown, and a deposit whose liquidity
// no contract could hold is refused.
func TestImpossibleEstimates(t *testing.T) {
	f := func(name string, ok, known bool, change func(h *handmade, q *Question)) {
		t.Helper()
		h := newHandmade()
		q := &Question{TickLower: -100, TickUpper: 100, ValueUsd: 1000}
		for leg, quotes := range quotes(1) {
			q.Quotes[leg] = quotes[0]
		}
		change(h, q)
		e, got := passing(h, -50, 50, 1e30).Estimate(q)
		if got != ok || market.Known(e.FeesUsd) != known || market.Known(e.DivergenceUsd) != known ||
			market.Known(e.FeeAPR) != known || e.OwnPrice {
			t.Errorf("%s: %+v, %t", name, e, got)
		}
		if e.Basis != BasisHours || e.From == 0 || e.To != nowUnix {
			t.Errorf("%s: %+v", name, e)
		}
	}

	f("as it is", true, true, func(*handmade, *Question) {})
	f("one that just fits", true, true, func(_ *handmade, q *Question) { q.ValueUsd = 8.4e36 })
	f("one that does not", false, false, func(_ *handmade, q *Question) { q.ValueUsd = 8.6e36 })
	f("not even 256 bits", false, false, func(_ *handmade, q *Question) { q.ValueUsd = math.MaxFloat64 })
	f("tokens that were worth nothing", true, false, func(_ *handmade, q *Question) {
		q.Quotes[0].Usd, q.Quotes[1].Usd = 0, 0
	})
	f("tokens without a price", true, false, func(_ *handmade, q *Question) {
		q.Quotes[0].Usd, q.Quotes[1].Usd = market.Unknown, market.Unknown
	})
	f("quarantined", true, false, func(h *handmade, _ *Question) { h.pool.Quarantined = true })
}

// TestUnknownNow: an estimate whose fees have no price now says nothing of how they, or
// the deposit's price, came about.
func TestUnknownNow(t *testing.T) {
	h := newHandmade()
	h.prices.Mut(1).Usd = market.Unknown // which a rising price earns
	q := &Question{TickLower: -100, TickUpper: 100, ValueUsd: 1000}
	q.Quotes = [2]value.Quote{quotes(1)[0][0], {Usd: market.Unknown, OnlyPool: market.NoIndex}}
	e, ok := passing(h, 0, 150, 1e38).Estimate(q)
	if !ok || market.Known(e.FeesUsd) || e.OwnPrice || e.SplitFees || !e.SplitTime {
		t.Errorf("%+v, %t", e, ok)
	}
}

// TestAtRest: what happens at rest is below a tick if the pool's tick is, also where the
// price stands on it.
func TestAtRest(t *testing.T) {
	root := clmath.SqrtPriceAtTick(60)
	level := value.Float(&root)
	p := passage{End: End{Tick: 59}, path: path{level, level, level, level}}
	for tick, want := range map[int32]shares{59: {1, 1, 1}, 60: {}, 61: {}} {
		if p.Tick = tick; p.below(60, level) != want {
			t.Errorf("at tick %d: %+v; want %+v", tick, p.below(60, level), want)
		}
	}
}

// TestKeptTickBelow: of a tick that is kept the growth below it is what the contract
// counted, as an integer and as a number, and nothing of it is split.
func TestKeptTickBelow(t *testing.T) {
	r := passing(newHandmade(), 150, 150, 1e30)
	r.passages = append(r.passages, passing(newHandmade(), -150, 150, 1e30).passages...)
	kept := &KeptTick{
		Known: true, Then: [2]clmath.U256{{1}, {2}}, Now: [2]clmath.U256{{6}, {9}},
	}
	b := r.below(-60, kept)
	if !b.exact || b.grown != [2]clmath.U256{{5}, {7}} || b.growth != [2]float64{5, 7} || b.splitFees || !b.splitTime {
		t.Errorf("%+v", b)
	}
	if b := r.below(-60, &KeptTick{}); b.exact || !b.splitFees || b.growth[1] == 7 {
		t.Errorf("of one that is not kept: %+v", b)
	}
}
