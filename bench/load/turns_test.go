package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// Sides are asked there and back again, until one fails.
func TestInTurns(t *testing.T) {
	order, failed := "", errors.New("no answer")
	var sides []Side
	for _, name := range []string{"a", "b", "c"} {
		sides = append(sides, func(context.Context) (*Result, error) {
			if order += name; len(order) > 9 {
				return nil, failed
			}
			r := new(Result)
			r.Requests = uint64(len(order))
			return r, nil
		})
	}

	all, err := InTurns(t.Context(), 3, sides...)
	if err != nil || order != "abccbaabc" {
		t.Fatalf("sides are asked as %s, %v; want abccbaabc", order, err)
	}
	for i, want := range [][3]uint64{{1, 6, 7}, {2, 5, 8}, {3, 4, 9}} {
		for round := range want {
			if got := all[i][round].Requests; got != want[round] {
				t.Errorf("round %d of side %d is answer %d; want %d", round, i, got, want[round])
			}
		}
	}

	if _, err := InTurns(t.Context(), 1, sides...); !errors.Is(err, failed) {
		t.Errorf("the error is %v; want %v", err, failed)
	}

	// What there is until then is kept, with a round that was cut short if it has answers.
	for requests, want := range map[uint64]int{7: 3, 0: 2} {
		asked := 0
		all, err := InTurns(t.Context(), 9, func(context.Context) (*Result, error) {
			r := new(Result)
			if asked++; asked == 3 {
				r.Requests = requests
				return r, failed
			}
			return r, nil
		})
		if !errors.Is(err, failed) || len(all[0]) != want {
			t.Errorf("with %d answers in the third of 9 rounds there are %d, %v; want %d", requests, len(all[0]), err, want)
		}
	}
}

// The middle of three rounds by one figure need not be that by another.
func TestMiddle(t *testing.T) {
	var rounds []*Result
	for _, r := range []struct {
		perSecond float64
		late      int64 // µs, every answer
	}{{300, 90}, {200, 10}, {100, 50}} {
		round := &Result{Counts: newCounts(time.Second)}
		round.PerSecond = r.perSecond
		round.Histogram.RecordValue(r.late)
		rounds = append(rounds, round)
	}

	if got := Middle(rounds, Throughput); got != rounds[1] {
		t.Errorf("the middle by throughput has %v answers a second; want 200", got.PerSecond)
	}
	if got := Middle(rounds, Tail); got != rounds[2] {
		t.Errorf("the middle by p99 has one of %v µs; want 50", Tail(got))
	}
}

// The range of a median is as wide as the values are few, and holds the true one in about 95
// of 100 cases.
func TestMedianRange(t *testing.T) {
	f := func(low, high float64, values ...float64) {
		t.Helper()
		if a, b := MedianRange(values); a != low || b != high {
			t.Errorf("%v gives %v to %v; want %v to %v", values, a, b, low, high)
		}
	}
	f(0, 0)
	f(3, 3, 3)
	f(1, 5, 4, 1, 5, 2, 3)
	f(1, 6, 6, 4, 1, 5, 2, 3)
	f(3, 10, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)

	const cases = 4000
	random, held := rand.New(rand.NewPCG(1, 2)), 0
	for range cases {
		values := make([]float64, 60)
		for i := range values {
			values[i] = random.ExpFloat64() // of median ln 2
		}
		if low, high := MedianRange(values); low <= 0.693147 && 0.693147 <= high {
			held++
		}
	}
	if share := float64(held) / cases; share < 0.93 || share > 0.98 {
		t.Errorf("the median is in %.3f of the ranges; want about 0.95", share)
	}
}
