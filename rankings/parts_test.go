package rankings

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/rankings/block"
	"tidemark/rankings/index"
	"tidemark/rankings/market"
)

func TestOffset(t *testing.T) {
	f := func(page, limit, want uint64) {
		t.Helper()
		q := PositionQuestion{Page: page, Limit: limit}
		if got := q.Offset(); got != want {
			t.Fatalf("page %d of %d starts at %d; want %d", page, limit, got, want)
		}
	}

	f(1, 20, 0)
	f(2, 20, 20)
	f(1251, 20, 25_000)
	f(999_999_999_999_999_999, 1, 999_999_999_999_999_998)
	f(999_999_999_999_999_999, 100, maxOffset)
	f(math.MaxUint64, math.MaxUint64, maxOffset)
	f(0, 20, 0)
	f(5, 0, 0)
}

func TestDescending(t *testing.T) {
	values := []float64{math.Inf(1), 1e300, 2, 1 + 1e-15, 1, 5e-324, 0, -5e-324, -1, -2, math.Inf(-1)}
	for i := range values[1:] {
		if a, b := descending(values[i]), descending(values[i+1]); a >= b {
			t.Fatalf("%v has key %x, %v has %x", values[i], a, values[i+1], b)
		}
	}
	if zero, minus := descending(0), descending(math.Copysign(0, -1)); zero != minus {
		t.Fatalf("0 has key %x, -0 has %x", zero, minus)
	}
	if descending(market.Unknown) <= descending(math.Inf(-1)) {
		t.Fatal("an unknown value does not sort last")
	}
}

func TestSorter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := &index.Sorter{Pause: func() {}}
	f := func(n int, key func() uint64) {
		t.Helper()
		keys, places := make([]uint64, n), []uint32{}
		for i := range keys {
			if keys[i] = key(); r.IntN(10) > 0 {
				places = append(places, uint32(i))
			}
		}
		want := slices.Clone(places)
		slices.SortStableFunc(want, func(a, b uint32) int {
			if keys[a] < keys[b] {
				return -1
			} else if keys[a] > keys[b] {
				return 1
			}
			return 0
		})
		got := []uint32{}
		for _, w := range s.SortPlaces(keys, places) {
			got = append(got, uint32(w))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d keys: not in order", n)
		}
	}

	f(0, r.Uint64)
	f(1, r.Uint64)
	f(2, r.Uint64)
	f(100_000, r.Uint64)
	f(50_000, func() uint64 { return r.Uint64N(50) })
	f(50_000, func() uint64 { return 7 })
	f(50_000, func() uint64 { return 1<<63 + r.Uint64N(1<<33) })
	f(50_000, func() uint64 { return descending(math.Floor(r.NormFloat64()*1e3) / 16) })
	f(20_000, func() uint64 { return uint64(r.IntN(3))<<40 + r.Uint64N(100) })
	f(20_000, func() uint64 { return math.MaxUint64 * (r.Uint64() & 1) })
}

// TestShortestList: of several lists of candidates the shortest is read, whichever comes first.
func TestShortestList(t *testing.T) {
	f := func(want []uint32, lists ...[]uint32) {
		t.Helper()
		var f filter
		for _, rows := range lists {
			f.limitTo(rows)
		}
		if f.listed != (len(lists) > 0) || !slices.Equal(f.candidates, want) {
			t.Errorf("of the lists %d: %d, listed %t; want %d", lists, f.candidates, f.listed, want)
		}
	}

	f(nil)
	f([]uint32{4, 7}, []uint32{4, 7})
	f([]uint32{9}, []uint32{4, 7}, []uint32{9})
	f([]uint32{9}, []uint32{9}, []uint32{4, 7})
	f(nil, []uint32{4, 7}, nil)
	f(nil, nil, []uint32{4, 7})
}

// TestHoldingsAdd: what an owner has on two chains is the sum of both, part by part.
func TestHoldingsAdd(t *testing.T) {
	a, b := Holdings{Open: 1, Closed: 2, Unknown: 3}, Holdings{Open: 10, Closed: 20, Unknown: 30}
	a.UnderlyingValueUsd.Add(4)
	b.UnderlyingValueUsd.Add(40)
	a.PendingFeesUsd.Add(market.Unknown)
	b.PendingFeesUsd.Add(50)
	a.PnlUsd.Add(market.Unknown)
	b.PnlUsd.Add(market.Unknown)

	a.Add(&b)
	if a.Open != 11 || a.Closed != 22 || a.Unknown != 33 {
		t.Errorf("%d open, %d closed and %d unknown positions; want 11, 22 and 33", a.Open, a.Closed, a.Unknown)
	}
	if a.UnderlyingValueUsd.Usd() != 44 || a.PendingFeesUsd.Usd() != 50 || market.Known(a.PnlUsd.Usd()) {
		t.Errorf("worth %v, fees %v, gain %v; want 44, 50 and unknown",
			a.UnderlyingValueUsd.Usd(), a.PendingFeesUsd.Usd(), a.PnlUsd.Usd())
	}
}

// TestTokenPools: the TVL of a token's pools is the sum of those that are known, and unknown if
// none is.
func TestTokenPools(t *testing.T) {
	f := func(want float64, tvl ...float64) {
		t.Helper()
		var got TokenPools
		for _, usd := range tvl {
			got.add(usd)
		}
		if got.Pools != uint32(len(tvl)) || got.TVLUsd != want && (market.Known(got.TVLUsd) || market.Known(want)) {
			t.Errorf("pools with %v have %+v; want %v", tvl, got, want)
		}
	}

	unknown := market.Unknown
	f(0)
	f(5, 5)
	f(12, 5, 7)
	f(unknown, unknown)
	f(unknown, unknown, unknown)
	f(5, unknown, 5)
	f(5, 5, unknown)
	f(12, unknown, 5, unknown, 7)
	f(0, unknown, 0)
}

// TestSameRows changes a row of a table: only the chunk with it is compared.
func TestSameRows(t *testing.T) {
	var table market.Table[int]
	for i := range 3 * market.ChunkLen {
		table.Append(i)
	}
	before := table.Freeze()
	f := func(changed, n uint32, same bool, compared int) {
		t.Helper()
		thawed := market.Thaw(before)
		*thawed.Mut(changed) = -1
		after, calls := thawed.Freeze(), 0
		got := sameRows(&before, &after, n, func(a, b *int) bool { calls++; return *a == *b }, func() {})
		if got != same || calls != compared {
			t.Errorf("with row %d changed, the first %d are the same: %t after %d comparisons; want %t after %d",
				changed, n, got, calls, same, compared)
		}
	}

	const chunk = market.ChunkLen
	f(0, 3*chunk, false, 1)
	f(chunk+2, 3*chunk, false, 3)
	f(chunk+2, chunk+2, true, 2)
	f(chunk+2, chunk, true, 0)
	f(3*chunk-1, 2*chunk, true, 0)
	f(3*chunk-1, 3*chunk, false, chunk)
	f(0, 3*chunk+1, false, 0)
}

// TestScan reads the rows that match in steps, each of which ends with enough rows or with its
// budget, from a list of candidates and from words of rows.
func TestScan(t *testing.T) {
	f := func(listed bool, steps ...[3]int) { // most, budget, and how many rows it finds
		t.Helper()
		filter := &filter{n: 640, tests: []func(uint32) bool{func(row uint32) bool { return row%2 == 0 }}}
		if listed {
			for row := range uint32(100) {
				filter.candidates = append(filter.candidates, 3*row)
			}
			filter.listed = true
		}

		var s scanner
		var found []uint32
		for i, step := range steps {
			before, budget, done := len(found), step[1], false
			found, done = s.scan(filter, found, uint64(step[0]), &budget)
			if len(found)-before != step[2] || done != (i == len(steps)-1) {
				t.Errorf("listed %t, step %d of at most %d rows finds %d, done %t; want %d", listed, i, step[0], len(found)-before, done, step[2])
			}
		}
		if !slices.IsSorted(found) || len(slices.Compact(slices.Clone(found))) != len(found) {
			t.Errorf("listed %t: found %v", listed, found)
		}
	}

	f(true, [3]int{10, 1000, 10}, [3]int{1000, 20, 10}, [3]int{7, 3, 1}, [3]int{1000, 1000, 29})
	f(false, [3]int{10, 1000, 32}, [3]int{33, 1000, 64}, [3]int{1000, 66, 64}, [3]int{1000, 10_000, 160})
}

// TestFewRows counts a search at once if its runs have few candidates together. Nothing is left
// to be read then.
func TestFewRows(t *testing.T) {
	const unlisted = -1
	f := func(known bool, candidates ...int) {
		t.Helper()
		s, unread := &Search{}, 0
		for _, n := range candidates {
			all := &filter{n: 1 << 20, listed: n != unlisted}
			all.addTest(func(row uint32) bool { return false })
			if all.listed {
				all.candidates = make([]uint32, n)
				unread += n
			} else {
				unread += 1 << 20
			}
			s.runs = append(s.runs, run{order: new(block.Order), filter: all})
		}

		if got := s.Unread(); got != unread {
			t.Errorf("lists of %v rows: %d rows are to be read; want %d", candidates, got, unread)
		}
		counted := s.countFew()
		if n, ok := counted.Total(); ok != known || n != 0 {
			t.Errorf("lists of %v rows: the total is %d, known %t; want %t", candidates, n, ok, known)
		}
		if got := counted.Unread(); known && got != 0 || !known && got != unread {
			t.Errorf("lists of %v rows: then %d rows are to be read", candidates, got)
		}
	}

	f(true, 0)
	f(true, fewRows)
	f(false, fewRows+1)
	f(true, fewRows-1, 1)
	f(false, fewRows, 1)
	f(false, unlisted)
	f(false, unlisted, 0)
	f(false, 0, unlisted)
}

// A stretch of leaves has at most so many rows, or is one leaf, and no longer one would do.
func TestLastLeafWithin(t *testing.T) {
	sums := []uint32{0, 3, 3, 7, 8, 12}
	order := &block.Order{Keys: make([]uint64, len(sums)-1)}

	for _, way := range []direction{forward, backward} {
		r := &run{order: order, direction: way, sums: sums}
		for from := range order.Leaves() {
			for d := range uint64(14) {
				want := from + 1
				for want < order.Leaves() && uint64(r.rowsBefore(want+1)-r.rowsBefore(from)) <= d {
					want++
				}
				if got := r.lastLeafWithin(from, d); got != want {
					t.Errorf("direction %d: %d rows from leaf %d on end at leaf %d; want %d", way, d, from, got, want)
				}
			}
		}
	}
}
