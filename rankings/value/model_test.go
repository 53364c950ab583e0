package value

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"tidemark/rankings/market"
)

// minuteMedian is medianSqrt one minute after the other: the close of each is that of
// the newest swap up to it.
func minuteMedian(ring *market.Minutes, now int64, minutes int) float64 {
	minutes = min(max(minutes, 1), market.MinuteSlots-1)
	var closes []float64
	for back := range minutes {
		minute, sqrt, newest := market.MinuteOf(now)-uint32(back), 0.0, uint32(0)
		for slot, at := range ring.Minute {
			if at > newest && at <= minute {
				newest, sqrt = at, ring.Sqrt[slot]
			}
		}
		if newest == 0 {
			return 0
		}
		closes = append(closes, sqrt)
	}

	slices.Sort(closes)
	return (closes[(minutes-1)/2] + closes[minutes/2]) / 2
}

// TestMedianAgainstMinutes: rings of any age and fill, windows of any length, also none
// and longer ones than a ring has.
func TestMedianAgainstMinutes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 2))
	known := 0
	for range 4000 {
		var ring market.Minutes
		minute, swaps := uint32(1000), r.IntN(3*market.MinuteSlots)
		for k := range swaps {
			if k > 0 {
				ring.Newest = (ring.Newest + 1) % market.MinuteSlots
			}
			minute += 1 + uint32(r.IntN(4)*r.IntN(3))
			ring.Minute[ring.Newest], ring.Sqrt[ring.Newest] = minute, float64(1+r.IntN(9))
		}

		now, minutes := int64(minute+uint32(r.IntN(40)))*market.Minute+int64(r.IntN(60)), r.IntN(40)-2
		got, want := medianSqrt(&ring, now, minutes), minuteMedian(&ring, now, minutes)
		if got != want {
			t.Fatalf("the median of %d minutes at minute %d is %v; want %v\n%+v",
				minutes, market.MinuteOf(now), got, want, ring)
		}
		if want != 0 {
			known++
		}
	}
	if known < 1000 {
		t.Errorf("only %d rings had a price", known)
	}
}

// TestPausesOfValue: prices and a ranker pause as often as they have pools and tokens to
// look at.
func TestPausesOfValue(t *testing.T) {
	f := func(what string, stride int, run func(st *market.State, w *world, pause func()), loops int) {
		t.Helper()
		pauses := func(tokens int) (count int) {
			w := newWorld()
			for n := range tokens {
				token := w.tokens.Append(market.Token{
					Address: market.Address{0: 1, 18: byte(n >> 8), 19: byte(n)}, Decimals: 18, HourUsd: market.Unknown,
				})
				w.pool(token, w.usd, 2)
			}
			run(w.state(), w, func() { count++ })
			return count
		}

		const strides = 4
		if more := pauses(strides*stride) - pauses(0); more != strides*loops {
			t.Errorf("%d pauses more for %d tokens and pools by %s; want %d", more, strides*stride, what, strides*loops)
		}
	}

	moved := func(st *market.State, _ *world, pause func()) { NewRanker(st).MovedPrices(st, pause) }
	f("the prices that moved", strideMoved, moved, 1)
	prices := func(st *market.State, w *world, pause func()) { Prices(st, &w.params, nil, pause) }
	f("prices", strideLen, prices, pausedLoops)
	between := func(st *market.State, w *world, pause func()) {
		token := w.token(250, 18)
		for i := uint32(1); i < w.pools.Len(); i++ {
			w.pools.Mut(i).Currency1 = token
		}
		prices(w.state(), w, pause)
	}
	f("prices between tokens", strideLen, between, pausedLoops)
}

// pausedLoops are the loops of Prices over tokens or pools that pause: two that look for
// anchors, the pools, the tokens with quotes, the second hop and what is kept.
const pausedLoops = 6

// TestSumsInEitherPlace: sums that moved to the overflow table, as they do when one of
// them passes 128 bits, are worth what they were.
func TestSumsInEitherPlace(t *testing.T) {
	for seed := range uint64(10) {
		st, w := scramble(seed)
		moved, overflow := *st, market.Table[market.Sums]{}
		for i := range w.positions.Len() {
			p := w.positions.Mut(i)
			p.Overflow = overflow.Append(market.Sums{
				Deposited0: p.Deposited0.U256(), Deposited1: p.Deposited1.U256(),
				Withdrawn0: p.Withdrawn0.U256(), Withdrawn1: p.Withdrawn1.U256(),
				Collected0: p.Collected0.U256(), Collected1: p.Collected1.U256(),
			})
		}
		moved.Positions, moved.Overflow = w.positions.Freeze(), overflow.Freeze()

		var a, b Metrics
		for i := range st.Positions.Len() {
			Position(st, i, &a)
			Position(&moved, i, &b)
			if !sameFields(reflect.ValueOf(a.Figures), reflect.ValueOf(b.Figures)) {
				t.Fatalf("seed %d row %d: %+v; in the overflow table %+v", seed, i, a.Figures, b.Figures)
			}
		}
	}
}

// quarantineSome quarantines every fifth pool of a State.
func quarantineSome(st *market.State, w *world) {
	for i := uint32(0); i < w.pools.Len(); i += 5 {
		w.pools.Mut(i).Quarantined = true
	}
	st.Pools = w.pools.Freeze()
}

// TestRowsLeaveNothingBehind: a row has the same figures whatever row was in the place
// before, also in a pool that is quarantined, and by a new ranker.
func TestRowsLeaveNothingBehind(t *testing.T) {
	for seed := range uint64(10) {
		st, w := scramble(seed)
		quarantineSome(st, w)

		var used Figures
		ranker := NewRanker(st)
		for i := range st.Positions.Len() {
			used.Unrealizable = [2]bool{true, true}
			used.PriceUnavailable = i%2 == 0
			ranker.Rank(i, &used)
			var fresh Figures
			NewRanker(st).Rank(i, &fresh)
			if !sameFields(reflect.ValueOf(used), reflect.ValueOf(fresh)) {
				t.Fatalf("seed %d row %d: %s; alone %s", seed, i, fmt.Sprintf("%+v", used), fmt.Sprintf("%+v", fresh))
			}
		}
	}
}

// TestRenewedRows: an open row of which is known what it holds is at new prices what it is
// when it is computed from the beginning, in any order of rows, and so are those whose
// pools moved once their claims are computed again.
func TestRenewedRows(t *testing.T) {
	for seed := range uint64(10) {
		st, w := scramble(seed)
		var prices market.Table[market.Price]
		for i := range st.Prices.Len() {
			p := *st.Prices.At(i)
			p.Usd, p.ExitUsd, p.Corroborated = 1.5*p.Usd, 0.75*p.ExitUsd, !p.Corroborated
			prices.Append(p)
		}
		later := *st
		later.Prices = prices.Freeze()
		for i := range w.pools.Len() {
			p := w.pools.Mut(i)
			p.Quarantined = i%7 == 3
			if i%3 == 1 {
				p.SqrtPriceX96.AddUint64(&p.SqrtPriceX96, 1<<40)
				p.FeeGrowthGlobal0X128[1]++
			}
		}
		later.Pools = w.pools.Freeze()

		old, renewed, fresh := NewRanker(st), NewRanker(&later), NewRanker(&later)
		for n := range st.Positions.Len() {
			i := (n * 7) % st.Positions.Len()
			p := st.Positions.At(i)
			if !p.IsOpen() {
				continue
			}
			var before, want Figures
			var kept [1]Kept
			old.Rank(i, &before)
			old.Keep(&kept[0])
			if n := i % market.ChunkLen; p.Pool%3 == 1 {
				var pools [market.ChunkLen]uint32
				pools[n] = p.Pool
				renewed.Reclaim(i-n, pools[:], 1<<n, 1<<n, kept[:])
			}
			var got Results
			renewed.Prepare(p.Pool)
			renewed.Renew(i, p.Pool, &kept[0], &got)
			fresh.Rank(i, &want)
			if !sameFields(reflect.ValueOf(got), reflect.ValueOf(want.Results())) {
				t.Fatalf("seed %d row %d: renewed it is %+v; want %+v", seed, i, got, want)
			}
		}
	}
}
