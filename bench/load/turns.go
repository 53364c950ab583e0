package load

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Side is one of the things that are measured in turns.
type Side func(context.Context) (*Result, error)

// InTurns measures one side after the other, round by round, so that what else the
// machine does falls on all of them. Every other round goes backwards, so that each side
// comes as often before another one as after it: what one leaves behind costs the next.
// It returns the rounds of every side; with an error those that it has, of which the last
// may be shorter than others.
func InTurns(ctx context.Context, rounds int, sides ...Side) ([][]*Result, error) {
	all := make([][]*Result, len(sides))
	for round := range rounds {
		for i := range sides {
			if round%2 == 1 {
				i = len(sides) - 1 - i
			}

			r, err := sides[i](ctx)
			if err == nil || r != nil && r.Requests > 0 {
				all[i] = append(all[i], r)
			}
			if err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// Middle returns the round of which a figure is the median.
func Middle(rounds []*Result, figure func(*Result) float64) *Result {
	by := func(a, b *Result) int { return cmp.Compare(figure(a), figure(b)) }
	return slices.SortedFunc(slices.Values(rounds), by)[len(rounds)/2]
}

// Throughput is a round's good answers a second.
func Throughput(r *Result) float64 { return r.PerSecond }

// Tail is a round's p99 in microseconds. Of an open loop all rounds have the same throughput.
func Tail(r *Result) float64 { return float64(r.Quantile(99).Microseconds()) }

// Median returns the middle of values, the greater one of two; 0 of none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// MedianRange returns a range that holds the median of what the values were drawn from in 95
// of 100 cases, however they are distributed: the order statistics of a binomial of 1/2. Of
// fewer than six values it is all of them, and of none 0.
func MedianRange(values []float64) (low, high float64) {
	n := len(values)
	if n == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(values))
	out := int((float64(n) - 1.96*math.Sqrt(float64(n))) / 2) // values on either side that are left out
	out = min(max(out, 0), (n-1)/2)
	return sorted[out], sorted[n-1-out]
}

// Ratios returns those of a to b, round by round: of throughputs, and the inverse of those of
// the servers' CPU time for an answer, so that more is better in both. CPU that is not known
// is left out.
func Ratios(as, bs []*Result) (throughput, cpu []float64) {
	for i := range as {
		throughput = append(throughput, as[i].PerSecond/max(bs[i].PerSecond, 1))
		if x, y := as[i].ServerMicros, bs[i].ServerMicros; x > 0 && y > 0 {
			cpu = append(cpu, y/x)
		}
	}
	return throughput, cpu
}
