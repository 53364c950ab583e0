package bench

import (
	"context"
	"errors"
	"runtime"
	"time"

	"tidemark/bench/report"
)

// Some rows of the table are about pieces of the node alone. They are measured
// in this process, on the cores that ask, by the code that a node runs; no
// node runs meanwhile.

// pace is what one operation of a piece took.
type pace struct {
	nanos  float64
	allocs float64
}

// perSecond is the same as a rate.
func (p pace) perSecond() float64 { return 1e9 / max(p.nanos, 1e-3) }

// timed calls f, which does some operations and says how many, for the
// suite's length in every round, and returns the median of the rounds. What
// the first call makes ready is not measured.
func (s *suite) timed(ctx context.Context, f func() (int, error)) (p pace, err error) {
	if _, err := f(); err != nil {
		return p, err
	}
	var nanos, allocs []float64
	for range s.Rounds {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		done, from := 0, time.Now()
		for done == 0 || time.Since(from) < s.Length/partLength {
			n, err := f()
			if err != nil || ctx.Err() != nil {
				return p, errors.Join(err, ctx.Err())
			}
			done += n
		}
		took := time.Since(from)
		runtime.ReadMemStats(&after)
		nanos = append(nanos, float64(took.Nanoseconds())/float64(done))
		allocs = append(allocs, float64(after.Mallocs-before.Mallocs)/float64(done))
	}
	return pace{median(nanos), median(allocs)}, nil
}

// partLength: pieces repeat themselves soon enough.
const partLength = 4

// enterPace writes a piece down.
func enterPace(out *report.Scenario, name string, p pace) {
	out.Values = append(out.Values,
		report.Value{Name: name, Value: p.nanos, Unit: "ns"},
		report.Value{Name: name + ", allocations", Value: p.allocs})
}
