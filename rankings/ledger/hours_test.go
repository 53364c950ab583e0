package ledger

import (
	"math"
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
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

func isClose(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*math.Abs(b) || !market.Known(a) && !market.Known(b)
}

// TestSaturatingSums: the sums of an hour stop at the largest value, whether one
// amount is too large or they are together, and so do those of a day that is joined.
func TestSaturatingSums(t *testing.T) {
	most := clmath.U128{Lo: math.MaxUint64, Hi: math.MaxUint64}
	f := func(sum clmath.U128, amount clmath.U256, want clmath.U128) {
		t.Helper()
		got := sum
		if addSaturating(&got, &amount); got != want {
			t.Errorf("%s + %s = %s; want %s", unsigned(sum), amount.Dec(), unsigned(got), unsigned(want))
		}
	}

	f(clmath.U128{}, clmath.U256{}, clmath.U128{})
	f(clmath.U128{Lo: 1}, clmath.U256{2, 3}, clmath.U128{Lo: 3, Hi: 3})
	f(clmath.U128{Lo: math.MaxUint64}, clmath.U256{1}, clmath.U128{Hi: 1})
	f(clmath.U128{Lo: math.MaxUint64 - 1, Hi: math.MaxUint64}, clmath.U256{1}, most)
	f(most, clmath.U256{1}, most)
	f(clmath.U128{Hi: 1 << 63}, clmath.U256{0, 1 << 63}, most)
	f(clmath.U128{}, clmath.U256{0, 0, 1}, most)
	f(clmath.U128{Lo: 7}, clmath.U256{0, 0, 0, 1}, most)
}
