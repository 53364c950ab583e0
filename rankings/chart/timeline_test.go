package chart

import (
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
	h := NewHistory(new(market.Position))
	gas := func(kind market.TransactionType, wei uint64) {
		h.Add(&market.Transaction{Type: kind, GasWei: clmath.U128{Lo: wei}})
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
