package chart

import (
	"math"
	"slices"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// An interval opens where the one before it closed, which high and low then have
// between them.
func TestOpenAt(t *testing.T) {
	f := func(open, low, high float64, closed uint64, before float64, want [3]float64) {
		t.Helper()
		e := End{Open: open, Low: low, High: high, Close: clmath.U256{closed}}
		next := e.openAt(before)
		if got := [3]float64{e.Open, e.Low, e.High}; got != want || next != float64(closed) {
			t.Errorf("got %v, then %v; want %v, then %v", got, next, want, closed)
		}
	}

	f(0, 40, 60, 50, 45, [3]float64{45, 40, 60})
	f(0, 40, 60, 50, 30, [3]float64{30, 30, 60})
	f(0, 40, 60, 50, 70, [3]float64{70, 40, 70})
	f(0, 40, 60, 39, 45, [3]float64{45, 39, 60})
	f(0, 40, 60, 61, 45, [3]float64{45, 40, 61})
	f(0, 40, 60, 50, 0, [3]float64{40, 40, 60}) // nothing is known before it
	f(41, 40, 60, 50, 30, [3]float64{41, 40, 60})
}

// The running hour has the high and the low of its own events, and its own volume.
// A running day has those of the day, and an hour without events none.
func TestRunningEnd(t *testing.T) {
	const day, hour = 20_000, 5
	f := func(step Step, day, eventHour, lastHour uint32, want End) {
		t.Helper()
		var pools market.Table[market.Pool]
		var days market.Table[market.PoolDay]
		var hours market.Table[market.HourBucket]
		at := uint32(market.NoIndex)
		if lastHour > 0 {
			at = hours.Append(market.HourBucket{Hour: lastHour, VolumeUsd: 3, FeesUsd: 1})
		}
		pools.Append(market.Pool{LastHour: at})
		days.Append(market.PoolDay{
			Day: day, Open: clmath.U256{45}, Low: clmath.U256{20}, High: clmath.U256{90}, Close: clmath.U256{50},
			VolumeUsd: 30, FeesUsd: 10, EventHour: uint8(eventHour), HourLow: 40, HourHigh: 60,
		})
		st := &market.State{
			Head:  market.Head{Time: 20_000*market.Day + hour*market.Hour + 61},
			Pools: pools.Freeze(), Days: days.Freeze(), Hours: hours.Freeze(),
		}
		want.Close = clmath.U256{50}
		if got := step.runningEnd(st, 0); got != want {
			t.Errorf("got %+v; want %+v", got, want)
		}
	}

	const now = day*market.HoursOfDay + hour
	f(Daily, day, hour+1, now, End{At: day, Open: 45, Low: 20, High: 90, VolumeUsd: 30, FeesUsd: 10})
	f(Daily, day-1, 0, 0, End{At: day - 1, Open: 45, Low: 20, High: 90, VolumeUsd: 30, FeesUsd: 10})
	f(Hourly, day, hour+1, now, End{At: now, Low: 40, High: 60, VolumeUsd: 3, FeesUsd: 1})
	f(Hourly, day, hour+1, 0, End{At: now, Low: 40, High: 60})
	f(Hourly, day, hour, now-1, End{At: now, Low: 50, High: 50})
	f(Hourly, day, 0, now-1, End{At: now, Low: 50, High: 50})
	f(Hourly, day-1, hour+1, 0, End{At: now, Low: 50, High: 50})
}

// A transfer adds its gas to the change before it, and is one itself when it comes
// first, as it has no change to join.
func TestHistoryOfTransfers(t *testing.T) {
	h := NewHistory(new(market.Position), Daily, 0, 9)
	day := int64(0)
	gas := func(kind market.TransactionType, wei uint64) {
		h.Add(&market.Transaction{Type: kind, Time: day * market.Day, GasWei: clmath.U128{Lo: wei}})
		day++
	}
	f := func(want ...uint64) {
		t.Helper()
		var got []uint64
		for i := range h.changes {
			got = append(got, h.changes[i].flow.gasWei[0])
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the gas after each change is %d; want %d", got, want)
		}
	}

	gas(market.Transfer, 1)
	f(1)
	gas(market.Mint, 10)
	f(1, 11)
	gas(market.Transfer, 100)
	f(1, 111)
	gas(market.Burn, 1000)
	f(1, 111, 1111)
}

// interval is what a chart shows of one end.
type interval struct {
	at              uint32
	open, high, low float64
	close           uint64
	volume, fees    float64
	quote           float64 // of token 0
}

// TestTimeline lines up intervals: one has its own end, or stands where the one before it
// ended; the running one is the State's, which the store may be ahead of or behind.
func TestTimeline(t *testing.T) {
	f := func(name string, step Step, from uint32, r *Records, change func(h *handmade), want ...interval) {
		t.Helper()
		h := newHandmade()
		h.day = market.PoolDay{
			Day: today, Open: clmath.U256{50}, High: clmath.U256{70}, Low: clmath.U256{45}, Close: clmath.U256{60},
			VolumeUsd: 9, FeesUsd: 1, EventHour: 4, HourHigh: 66, HourLow: 55,
		}
		h.pool.LastHour = h.hours.Append(market.HourBucket{Hour: thisHour - 2, VolumeUsd: 4, FeesUsd: 0.5})
		change(h)
		st := h.state()
		r.Quotes = quotes(int(step.Of(st.Now())-from) + 1)
		line := NewTimeline(st, 0, step, from, r)

		var got []interval
		for _, e := range line.ends {
			got = append(got, interval{
				e.At, e.Open, e.High, e.Low, e.Close[0], e.VolumeUsd, e.FeesUsd, e.quotes[0].Usd,
			})
			if last := len(got) == len(line.ends); !last && e.quotes[1].Usd != 100*e.quotes[0].Usd ||
				last && e.quotes[1].Usd != 2 {
				t.Errorf("%s: the quotes of %d are %+v", name, e.At, e.quotes)
			}
		}
		first := step.Of(st.Now()) + 1 - uint32(len(want))
		if !slices.Equal(got, want) || line.first != first || line.From() != from {
			t.Errorf("%s: from %d on\n%+v; want from %d on\n%+v", name, line.first, got, first, want)
		}
	}
	as := func(*handmade) {}
	end := func(at uint32, low, high float64, close uint64) End {
		return End{At: at, Low: low, High: high, Close: clmath.U256{close}, VolumeUsd: float64(close), FeesUsd: 0.1}
	}

	running := interval{today, 50, 70, 45, 60, 9, 1, 3}
	created := end(today-3, 30, 44, 40)
	created.Open = 33
	f("days of which one was quiet", Daily, today-3, &Records{Ends: []End{created, end(today-1, 41, 52, 50)}}, as,
		interval{today - 3, 33, 44, 30, 40, 40, 0.1, 1}, interval{today - 2, 40, 40, 40, 40, 0, 0, 2},
		interval{today - 1, 40, 52, 40, 50, 50, 0.1, 3}, running)
	f("days need no hours", Daily, today-1, &Records{Ends: []End{end(today-1, 41, 52, 50)}},
		func(h *handmade) { h.hoursFrom = 0 }, interval{today - 1, 41, 52, 41, 50, 50, 0.1, 1}, running)
	f("led by an older day", Daily, today-2, &Records{Ends: []End{end(today-9, 30, 44, 40), end(today-1, 41, 52, 50)}}, as,
		interval{today - 2, 40, 40, 40, 40, 0, 0, 1}, interval{today - 1, 40, 52, 40, 50, 50, 0.1, 2}, running)
	f("with the price before them", Daily, today-1, &Records{Opening: 47, Ends: []End{end(today-1, 41, 52, 50)}}, as,
		interval{today - 1, 47, 52, 41, 50, 50, 0.1, 1}, running)
	f("a range that begins before the pool", Daily, today-5, &Records{Ends: []End{created}}, as,
		interval{today - 3, 33, 44, 30, 40, 40, 0.1, 3}, interval{today - 2, 40, 40, 40, 40, 0, 0, 4},
		interval{today - 1, 40, 40, 40, 40, 0, 0, 5}, running)
	f("a pool of today", Daily, today-5, &Records{}, as, running)
	f("a store that is ahead", Daily, today-1,
		&Records{Ends: []End{end(today-1, 41, 52, 50), end(today, 1, 2, 1), end(today+1, 1, 2, 1)}}, as,
		interval{today - 1, 41, 52, 41, 50, 50, 0.1, 1}, running)
	f("nothing happened today", Daily, today-2, &Records{Ends: []End{created, end(today-1, 1, 2, 1)}},
		func(h *handmade) { h.day.Day = today - 1 },
		interval{today - 2, 40, 40, 40, 40, 0, 0, 1}, interval{today - 1, 50, 70, 45, 60, 9, 1, 2},
		interval{today, 60, 60, 60, 60, 0, 0, 3})
	f("nothing happened for days", Daily, today-1, &Records{Ends: []End{end(today-2, 41, 52, 50)}},
		func(h *handmade) { h.day.Day = today - 2 },
		interval{today - 1, 60, 60, 60, 60, 0, 0, 1}, interval{today, 60, 60, 60, 60, 0, 0, 3})

	// The running day's newest hour with an event is the State's, two hours ago.
	newest := interval{thisHour - 2, 50, 66, 50, 60, 4, 0.5, 0}
	quoted := func(i interval, quote float64) interval { i.quote = quote; return i }
	still := interval{thisHour, 60, 60, 60, 60, 0, 0, 3}
	f("hours", Hourly, thisHour-3, &Records{Ends: []End{end(thisHour-3, 41, 52, 50)}}, as,
		interval{thisHour - 3, 41, 52, 41, 50, 50, 0.1, 1}, quoted(newest, 2),
		interval{thisHour - 1, 60, 60, 60, 60, 0, 0, 3}, still)
	f("hours of a store that is ahead", Hourly, thisHour-3,
		&Records{Ends: []End{end(thisHour-3, 41, 52, 50), end(thisHour-2, 1, 2, 1), end(thisHour, 1, 2, 1)}}, as,
		interval{thisHour - 3, 41, 52, 41, 50, 50, 0.1, 1}, quoted(newest, 2),
		interval{thisHour - 1, 60, 60, 60, 60, 0, 0, 3}, still)
	f("hours without an event today", Hourly, thisHour-1, &Records{Ends: []End{end(thisHour-9, 41, 52, 50)}},
		func(h *handmade) { h.day.Day, h.day.Close, h.day.EventHour = today-1, clmath.U256{50}, 0 },
		interval{thisHour - 1, 50, 50, 50, 50, 0, 0, 1}, interval{thisHour, 50, 50, 50, 50, 0, 0, 3})
	f("an hour that is running", Hourly, thisHour-1, &Records{Ends: []End{end(thisHour-1, 41, 52, 50)}},
		func(h *handmade) {
			h.day.EventHour = 6
			h.hours.Mut(0).Hour = thisHour
		},
		interval{thisHour - 1, 41, 52, 41, 50, 50, 0.1, 1}, interval{thisHour, 50, 66, 50, 60, 4, 0.5, 3})
	f("hours that were not kept", Hourly, thisHour-3, &Records{Ends: []End{end(thisHour-3, 41, 52, 50)}},
		func(h *handmade) { h.hoursFrom = thisHour - 1 },
		quoted(newest, 2), interval{thisHour - 1, 60, 60, 60, 60, 0, 0, 3}, still)
	f("no hours that were kept", Hourly, thisHour-3, &Records{Ends: []End{end(thisHour-3, 41, 52, 50)}},
		func(h *handmade) { h.hoursFrom = 0 })
}

// TestFirst: a range of days begins at midnight so many days ago with today, or with the
// pool.
func TestFirst(t *testing.T) {
	f := func(step Step, days, want uint32) {
		t.Helper()
		h := newHandmade()
		h.pool.CreatedAt = Hourly.Start((today-10)*24 + 7)
		if got := step.First(h.state(), 0, days); got != want {
			t.Errorf("the first of %d days in steps of %d is %d; want %d", days, step, got, want)
		}
	}

	f(Daily, 0, today-10)
	f(Daily, 1, today)
	f(Daily, 10, today-9)
	f(Daily, 11, today-10)
	f(Daily, 12, today-10)
	f(Daily, today+1, today-10)
	f(Daily, today+2, today-10)
	f(Daily, math.MaxUint32, today-10)
	f(Hourly, 0, (today-10)*24+7)
	f(Hourly, 2, (today-1)*24)
	f(Hourly, 11, (today-10)*24+7)
}

// TestLastHour: what was last in a day was last in its last hour.
func TestLastHour(t *testing.T) {
	if got := (End{At: 3, Tick: 5}).LastHour(); got != (End{At: 95, Tick: 5}) {
		t.Errorf("the end is %+v", got)
	}
	if got := (Outside{At: 3, FeeGrowthOutside1X128: clmath.U256{7}}).LastHour(); got.At != 95 || got.FeeGrowthOutside1X128[0] != 7 {
		t.Errorf("the fee growth is %+v", got)
	}
}

// TestEnds: the ends of days and hours have all that their records have.
func TestEnds(t *testing.T) {
	u := func(n uint64) clmath.U256 { return clmath.U256{n} }
	day := market.PoolDay{
		Day: 7, Open: u(1), High: u(2), Low: u(3), Close: u(4), FeeGrowthGlobal0X128: u(5),
		FeeGrowthGlobal1X128: u(6), Amount0: u(8), Amount1: u(9), Tick: -10, VolumeUsd: 11, FeesUsd: 12,
	}
	want := End{
		At: 7, Open: 1, High: 2, Low: 3, Close: u(4), FeeGrowthGlobal0X128: u(5), FeeGrowthGlobal1X128: u(6),
		Amounts: [2]float64{8, 9}, Tick: -10, VolumeUsd: 11, FeesUsd: 12,
	}
	if got := EndOfDay(&day); got != want {
		t.Errorf("the day is %+v; want %+v", got, want)
	}

	hour := market.PoolHour{
		Day: 7, Hour: 23, High: 2, Low: 3, Close: u(4), FeeGrowthGlobal0X128: u(5), FeeGrowthGlobal1X128: u(6),
		Amount0: 8, Amount1: 9, Tick: -10, VolumeUsd: 11, FeesUsd: 12,
	}
	want.At, want.Open = 7*24+23, 0
	if got := EndOfHour(&hour); got != want {
		t.Errorf("the hour is %+v; want %+v", got, want)
	}
	if got, want := CreatedEnd(&market.PoolDay{Open: clmath.SqrtPriceAtTick(77), Close: u(4)}),
		(End{Close: clmath.SqrtPriceAtTick(77), Tick: 77}); got != want {
		t.Errorf("the creation is %+v; want %+v", got, want)
	}

	if got, want := OutsideOfDay(&market.TickDay{Day: 7, FeeGrowthOutside0X128: u(1), FeeGrowthOutside1X128: u(2)}),
		(Outside{7, u(1), u(2)}); got != want {
		t.Errorf("a tick's day is %+v; want %+v", got, want)
	}
	tick := market.TickHour{Day: 7, Hour: 2, FeeGrowthOutside0X128: u(1), FeeGrowthOutside1X128: u(2)}
	if got, want := OutsideOfHour(&tick), (Outside{7*24 + 2, u(1), u(2)}); got != want {
		t.Errorf("a tick's hour is %+v; want %+v", got, want)
	}
}
