package bench

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/bench/load"
	"tidemark/bench/process"
	"tidemark/bench/report"
)

// delays are readings of what makes answers late besides the work for them.
type delays struct {
	at       time.Time
	waits    time.Duration      // of the node's threads, ready to run without a core
	counters map[string]float64 // of the node
}

// readDelays reads a node of ours; of another one nothing but the time is known.
func (s *suite) readDelays() delays {
	d := delays{at: time.Now()}
	if s.node.Child != nil {
		d.waits, d.counters = process.Waits(s.node.Pid()), s.node.Counters()
	}
	return d
}

const (
	collectionsCount = "go_gc_duration_seconds_count"
	collectionsCPU   = "go_gc_cpu_seconds_total"
	waitsToRun       = "go_sched_latencies_seconds_bucket" // of goroutines, by le
)

// setSince sets where the time of late answers went since earlier readings: in the client,
// before a thread of the node had a core, before a goroutine that was ready ran, or in the
// garbage collector. A request that no thread has read yet is none of these: it waits for
// work without a pause.
func (d *delays) setSince(before *delays, r *load.Result, out *report.Scenario) {
	for _, p := range r.ClientLate {
		out.Set("client late, p"+strconv.FormatFloat(p.Percent, 'f', -1, 64), float64(p.Micros)/1e3, "ms")
	}

	if d.counters == nil {
		return
	}
	share := (d.waits - before.waits).Seconds() / d.at.Sub(before.at).Seconds()
	out.Set("threads waited for a core", 100*share, "% of the time")
	out.Set("goroutines waited to run, p99", waitedToRun(before.counters, d.counters, 0.99)*1e3, "ms")

	since := func(name string) float64 { return d.counters[name] - before.counters[name] }
	count := since(collectionsCount)
	out.Set("collections", count, "")
	if count > 0 {
		out.Set("CPU a collection", since(collectionsCPU)/count*1e3, "ms")
	}
}

// waitedToRun returns a quantile of how long goroutines were ready before they ran, in
// seconds, from a histogram of counts up to a bound each. 0: none waited.
func waitedToRun(before, after map[string]float64, quantile float64) float64 {
	upTo := map[float64]float64{}
	most := 0.0
	for name, n := range after {
		label, ok := strings.CutPrefix(name, waitsToRun+`{le="`)
		bound, err := strconv.ParseFloat(strings.TrimSuffix(label, `"}`), 64)
		if ok && err == nil {
			upTo[bound] = n - before[name]
			most = max(most, upTo[bound])
		}
	}

	for _, bound := range slices.Sorted(maps.Keys(upTo)) {
		if upTo[bound] >= quantile*most {
			return bound
		}
	}
	return 0
}
