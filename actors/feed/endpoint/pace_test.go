package endpoint

import (
	"testing"
	"time"
)

// Whatever was asked before, no second has more calls than the plan allows: not the
// first, and not the one after a pause. In the long run most of the plan is used.
func TestNoSecondIsAboveThePlan(t *testing.T) {
	f := func(perSecond float64, batch int) {
		t.Helper()
		p := newPace(perSecond, 0)
		calls := make([]Call, batch)
		calls = calls[:p.callsThatFit(calls)]
		start := time.Unix(1_800_000_000, 0)
		now, resumed := start, start.Add(40*time.Second)
		var sent []time.Time // of each call
		for now.Before(resumed.Add(20 * time.Second)) {
			if now.Sub(start) > 20*time.Second && now.Before(resumed) {
				now = resumed
			}
			now = now.Add(p.calls.take(now, len(calls)))
			for range calls {
				sent = append(sent, now)
			}
		}

		first := 0
		for i, at := range sent {
			for at.Sub(sent[first]) >= time.Second {
				first++
			}
			if n := i - first + 1; float64(n) > perSecond {
				t.Fatalf("%g calls a second in requests of %d: %d in the second before %s",
					perSecond, len(calls), n, at.Sub(start))
			}
		}
		if used := float64(len(sent)) / (40 * perSecond); used < 0.85 {
			t.Errorf("%g calls a second in requests of %d: only %.2f of them are used",
				perSecond, len(calls), used)
		}
	}

	f(1, 100)
	f(4, 1)
	f(12, 2)
	f(25, 1)
	f(25, 100)
	f(100, 7)
	f(1000, 100)
}
