package ledger

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/script"
)

// compareBuckets holds the hour buckets of every pool against the series of its
// days, which is summed up apart from them: every day back to the oldest kept one
// has the same swaps, volume and fees. It returns the buckets of whole days.
func (s *shadow) compareBuckets(t *testing.T) (days int) {
	t.Helper()
	today := market.DayOf(s.st.Head.Time)
	hourly := market.OldestHour(today)
	type sum struct {
		swaps       uint32
		volume, fee float64
	}
	got := make([]map[uint32]sum, s.st.Pools.Len())
	for i := range got {
		got[i] = make(map[uint32]sum)
		for at := s.st.Pools.At(uint32(i)).LastHour; at != market.NoIndex; at = s.st.Hours.At(at).Prev {
			b := s.st.Hours.At(at)
			of := got[i][b.Hour/24]
			of.swaps, of.volume, of.fee = of.swaps+b.Swaps, of.volume+b.VolumeUsd, of.fee+b.FeesUsd
			got[i][b.Hour/24] = of
			if b.Hour < hourly {
				days++
			}
		}
	}

	for _, entry := range s.series {
		d, ok := entry.(*market.PoolDay)
		if !ok || d.Day+market.KeptDays < today {
			continue
		}
		is := got[d.Pool][d.Day]
		if is.swaps != d.Swaps || !isClose(is.volume, d.VolumeUsd) || !isClose(is.fee, d.FeesUsd) {
			t.Errorf("the buckets of pool %d have %+v on day %d; the day has %d, %v and %v",
				d.Pool, is, d.Day, d.Swaps, d.VolumeUsd, d.FeesUsd)
		}
		delete(got[d.Pool], d.Day)
	}
	for i := range got {
		for day, is := range got[i] {
			t.Errorf("pool %d has %+v on day %d, which has no events", i, is, day)
		}
	}
	return days
}

// TestSweptHours: when a day begins, the hours of the seven days before it stay. Of each day
// before those, back to the oldest that a window has, one bucket is left, with the sums of all,
// and what is older is gone. The records that are left over can be used again.
func TestSweptHours(t *testing.T) {
	const today = 100
	const hourly, oldest = (today - 7) * 24, (today - 30) * 24
	f := func(hours []uint32, want ...[2]uint32) {
		t.Helper()
		l := New(Config{Chain: 9, Start: 11})
		l.day = today
		pool := Pools.add(l, market.Pool{LastHour: market.NoIndex})
		for n, hour := range hours {
			last := Hours.add(l, market.HourBucket{
				Pool: pool, Hour: hour, Prev: l.st.Pools.At(pool).LastHour, Close: float64(n),
				Swaps: 1 << n, VolumeUsd: float64(uint32(1) << n), FeesUsd: 10 * float64(uint32(1)<<n),
			})
			Pools.edit(l, pool).LastHour = last
			l.buckets.add(last)
		}

		l.Changes()
		l.sweepHours(0)
		changed := len(Hours.Changed(l.Changes()))
		var got [][2]uint32 // of hours and swaps
		for at := l.st.Pools.At(pool).LastHour; at != market.NoIndex; at = l.st.Hours.At(at).Prev {
			b := l.st.Hours.At(at)
			got = append(got, [2]uint32{b.Hour, b.Swaps})
			newest := float64(bits.Len32(b.Swaps) - 1)
			if b.VolumeUsd != float64(b.Swaps) || b.FeesUsd != 10*float64(b.Swaps) || b.Close != newest || b.Pool != pool {
				t.Errorf("of hours %d one is left as %+v", hours, *b)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("of hours %d there are %d left; want %d", hours, got, want)
		}

		if same := len(got) == len(hours) && (len(hours) == 0 || got[len(got)-1][0] == hours[0]); same != (changed == 0) {
			t.Errorf("of hours %d %d are stored again, and %d are left", hours, changed, got)
		}

		free := len(hours) - len(got)
		for slot, ok := l.freeHours.take(); ok; slot, ok = l.freeHours.take() {
			if free--; l.st.Hours.At(slot).Pool != market.NoIndex {
				t.Errorf("of hours %d record %d is free, and has a pool", hours, slot)
			}
		}
		if free != 0 {
			t.Errorf("of hours %d there are %d more records left over than free ones", hours, free)
		}
	}

	f(nil)
	f([]uint32{hourly, hourly + 1}, [2]uint32{hourly + 1, 2}, [2]uint32{hourly, 1})
	f([]uint32{hourly - 1, hourly}, [2]uint32{hourly, 2}, [2]uint32{hourly - 24, 1})
	f([]uint32{hourly - 24, hourly - 23, hourly - 1}, [2]uint32{hourly - 24, 7})
	f([]uint32{hourly - 24, hourly - 23}, [2]uint32{hourly - 24, 3})
	f([]uint32{hourly - 24}, [2]uint32{hourly - 24, 1})
	f([]uint32{hourly - 23}, [2]uint32{hourly - 24, 1})
	f([]uint32{hourly - 25, hourly - 24}, [2]uint32{hourly - 24, 2}, [2]uint32{hourly - 48, 1})
	f([]uint32{hourly - 48, hourly - 30, hourly - 20, hourly - 2, hourly + 5},
		[2]uint32{hourly + 5, 16}, [2]uint32{hourly - 24, 4 + 8}, [2]uint32{hourly - 48, 1 + 2})
	f([]uint32{oldest, oldest + 23}, [2]uint32{oldest, 3})
	f([]uint32{oldest - 1, oldest}, [2]uint32{oldest, 2})
	f([]uint32{oldest - 2, oldest - 1, hourly}, [2]uint32{hourly, 4})
	f([]uint32{5, oldest - 24, oldest - 1})
}

// TestEndedTickHours: before a tick is written again, what was written of it in an earlier hour of
// the day goes into the series, unless the hours of the day are not kept.
func TestEndedTickHours(t *testing.T) {
	const day, now = 100, 100*market.HoursOfDay + 7
	f := func(last, hourDays uint32, final bool, puts, drops int) {
		t.Helper()
		l := New(Config{Chain: 9, Start: 11})
		l.day, l.hourNow, l.final = day, now, final
		l.SkipHours(hourDays)
		tick := market.Tick{
			Pool: 3, Tick: -60, LastHour: last,
			FeeGrowthOutside0X128: clmath.U256{5}, FeeGrowthOutside1X128: clmath.U256{6},
		}
		l.endTickHour(&tick)
		if l.ops.Len() != puts || l.undoOps.Len() != drops {
			t.Fatalf("hour %d: %d operations, %d to undo them; want %d and %d", last, l.ops.Len(), l.undoOps.Len(), puts, drops)
		}

		key := market.TickHour{Pool: 3, Tick: -60, Day: day, Hour: last % market.HoursOfDay}
		entry := key
		entry.FeeGrowthOutside0X128, entry.FeeGrowthOutside1X128 = tick.FeeGrowthOutside0X128, tick.FeeGrowthOutside1X128
		for op := range l.ops.All() {
			if e := TickHours.Entry(&op); op.Drop || e == nil || *e != entry {
				t.Errorf("hour %d: put %+v; want %+v", last, e, entry)
			}
		}
		for op := range l.undoOps.All() {
			if e := TickHours.Entry(&op); !op.Drop || e == nil || *e != key {
				t.Errorf("hour %d: its undo is %+v of %+v; want that %+v is dropped", last, op, e, key)
			}
		}
	}

	f(now-1, 0, false, 1, 1)
	f(now-1, 0, true, 1, 0)
	f(now-7, 0, false, 1, 1)
	f(now-8, 0, false, 0, 0)
	f(now, 0, false, 0, 0)
	f(now-1, day, false, 1, 1)
	f(now-1, day+1, false, 0, 0)
	f(0, 0, false, 0, 0)

	want := market.TickDay{
		Pool: 3, Day: day, Tick: -60, Hour: 6,
		FeeGrowthOutside0X128: clmath.U256{5}, FeeGrowthOutside1X128: clmath.U256{6},
	}
	tick := market.Tick{
		Pool: 3, Tick: -60, LastHour: day*market.HoursOfDay + 5,
		FeeGrowthOutside0X128: clmath.U256{5}, FeeGrowthOutside1X128: clmath.U256{6},
	}
	if got := tickDay(&tick); got != want {
		t.Errorf("the day of the tick is %+v; want %+v", got, want)
	}
}

// TestTickHoursOfSwaps: when a swap crosses a tick again, or the tick is cleared, its earlier hour of
// the day goes into the series, once.
func TestTickHoursOfSwaps(t *testing.T) {
	const day = 100
	l := poolOfTwo(t, 3000)
	at := func(hour int64, event market.Event) (put []market.TickHour) {
		t.Helper()
		s := strictSpan(l, event)
		s.Time = day*market.Day + hour*market.Hour
		s.Blocks[0].Time = s.Time
		l.Changes()
		apply(t, l, s)
		for op := range l.Changes().Ops.All() {
			if e := TickHours.Entry(&op); e != nil && !op.Drop {
				put = append(put, market.TickHour{Pool: e.Pool, Tick: e.Tick, Day: e.Day, Hour: e.Hour})
				if e.FeeGrowthOutside0X128.IsZero() && e.FeeGrowthOutside1X128.IsZero() {
					t.Errorf("hour %d of tick %d has no fee growth", e.Hour, e.Tick)
				}
			}
		}
		return put
	}
	swap := func(to int32) market.Event {
		t.Helper()
		st := l.Freeze()
		limit := clmath.SqrtPriceAtTick(to)
		e, ok := script.Trade(st, 0, script.Order{
			Amount: clmath.U256{0, 1}, ExactIn: true, Limit: limit, Down: limit.Lt(&st.Pools.At(0).SqrtPriceX96),
		})
		if !ok {
			t.Fatal("nothing is traded")
		}
		return e
	}
	f := func(what string, got []market.TickHour, want ...market.TickHour) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: hours %+v; want %+v", what, got, want)
		}
	}

	ended := func(hour uint32) market.TickHour { return market.TickHour{Tick: -60, Day: day, Hour: hour} }
	f("the first of the day", at(5, swap(-120)))
	f("within the hour", at(5, swap(0)))
	f("an hour later", at(6, swap(-120)), ended(5))
	f("no tick", at(7, swap(-130)))
	f("two hours later", at(8, swap(10)), ended(6))
	f("the tick is cleared", at(9, market.ModifyLiquidity{
		Pool: market.PoolID{1}, Sender: script.Person("x"), TickLower: -60, TickUpper: 60,
		LiquidityDelta: clmath.I128{Lo: 1e15}.Neg(),
	}), ended(8))
}

// TestEndedDays: when a day ends, its newest hour goes into the series with the sums of that hour,
// and the pool's day forgets it. Without hours the series has none either.
func TestEndedDays(t *testing.T) {
	const day = 100
	f := func(name string, hourDays, bucket uint32, want market.PoolDay) {
		t.Helper()
		l := poolOfTwo(t, 3000)
		l.beginSpan()
		l.day = day
		l.SkipHours(hourDays)
		slot := Hours.add(l, market.HourBucket{Hour: bucket, Prev: market.NoIndex, VolumeUsd: 40, FeesUsd: 4})
		Pools.edit(l, 0).LastHour = slot
		*Days.edit(l, 0) = market.PoolDay{Day: day, EventHour: 6, HourHigh: 3, HourLow: 2, Swaps: 9}
		l.ops = Ops{}
		l.endDay()

		var got *market.PoolDay
		for op := range l.ops.All() {
			got = PoolDays.Entry(&op)
		}
		if l.ops.Len() != 1 || got == nil || got.EventHour != want.EventHour || got.HourHigh != want.HourHigh ||
			got.HourLow != want.HourLow || got.HourVolumeUsd != want.HourVolumeUsd || got.HourFeesUsd != want.HourFeesUsd ||
			got.Swaps != 9 || got.Day != day {
			t.Errorf("%s: %d operations, the day is put as %+v; want %+v", name, l.ops.Len(), got, want)
		}
		if d := l.st.Days.At(0); d.EventHour != 0 || d.HourHigh != 0 || d.HourLow != 0 || d.Swaps != 9 {
			t.Errorf("%s: the pool's day is %+v", name, *d)
		}
		l.ops, l.day = Ops{}, day+1
		if l.endDay(); l.ops.Len() != 0 {
			t.Errorf("%s: a day is ended twice", name)
		}
	}

	const hour = day*market.HoursOfDay + 5
	f("with a swap in its hour", 0, hour, market.PoolDay{EventHour: 6, HourHigh: 3, HourLow: 2, HourVolumeUsd: 40, HourFeesUsd: 4})
	f("the last swap is earlier", day, hour-1, market.PoolDay{EventHour: 6, HourHigh: 3, HourLow: 2})
	f("without hours", day+1, hour, market.PoolDay{})
}

// TestAmountsOfUndos: an undo has the amounts of a day that was over before its span, and not
// those of the day that was running.
func TestAmountsOfUndos(t *testing.T) {
	f := func(name string, day uint32, want uint64) {
		t.Helper()
		l := poolOfTwo(t, 3000)
		*Days.edit(l, 0) = market.PoolDay{Day: day, Amount0: clmath.U256{7}, Amount1: clmath.U256{7}, Swaps: 9}
		l.beginSpan()
		Days.edit(l, 0).Swaps++
		l.keepUndo(&market.Span{})

		d := Days.Saved(l.undos[len(l.undos)-1])[0].Row
		if d.Amount0 != (clmath.U256{want}) || d.Amount1 != d.Amount0 || d.Swaps != 9 {
			t.Errorf("%s: the undo has %+v; want amounts of %d", name, d, want)
		}
	}

	running := market.DayOf(poolOfTwo(t, 3000).st.Head.Time)
	f("the running day", running, 0)
	f("the day before", running-1, 7)
}

func isClose(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*math.Abs(b) || !market.Known(a) && !market.Known(b)
}
