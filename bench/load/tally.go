package load

import (
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Tick is a stretch of TickLength.
type Tick struct {
	Requests uint64
	Slowest  time.Duration
}

// TickLength is the resolution of a Result's Series.
const TickLength = 100 * time.Millisecond

// PartResult is what was measured of one part of the mix.
type PartResult struct {
	Name     string
	Requests uint64
	Bytes    uint64
	Latency  *hdrhistogram.Histogram
}

// StatusCount is how many answers had a status, warm-up included.
type StatusCount struct {
	Status int
	Count  uint64
}

// tally is what a worker counts. Latencies are in microseconds.
type tally struct {
	warmup     time.Duration
	length     time.Duration
	latency    *hdrhistogram.Histogram
	parts      []PartResult
	series     []Tick
	statuses   []StatusCount
	requests   uint64 // within the measured time
	bytes      uint64
	all        uint64
	failures   uint64
	unanswered uint64
	unsent     uint64
	charged    int64
	expected   int64
	free       uint64
	problems   []string
}

const (
	slowest     = int64(time.Minute / time.Microsecond)
	digits      = 3
	maxProblems = 8 // the first of them tell what is wrong
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, slowest, digits) }

func newTally(cfg *Config) tally {
	t := tally{
		warmup: cfg.Warmup, length: cfg.Warmup + cfg.Length, latency: newHistogram(),
		series: make([]Tick, (cfg.Length+TickLength-1)/TickLength),
	}
	for i := range cfg.Mix {
		t.parts = append(t.parts, PartResult{Name: cfg.Mix[i].Name, Latency: newHistogram()})
	}
	return t
}

// count enters a complete response. What comes within the warm-up, or after the
// end, only counts for charges and statuses.
func (t *tally) count(p *Part, c *conn, now time.Duration) {
	t.all++
	t.charged += c.head.charged
	t.expected += p.price(c.head.status)
	t.status(c.head.status, 1)
	if !p.accepts(c.head.status) {
		t.failures++
		t.problem(fmt.Sprintf("%s was answered %d: %.100s", p.Name, c.head.status, c.body))
	}
	if now < t.warmup || now > t.length {
		return
	}
	took := now - c.due
	micros := min(max(int64(took/time.Microsecond), 1), slowest)
	part := &t.parts[c.part]
	t.requests++
	t.bytes += uint64(c.head.length)
	part.Requests++
	part.Bytes += uint64(c.head.length)
	record(t.latency, micros)
	record(part.Latency, micros)
	tick := &t.series[min(int((now-t.warmup)/TickLength), len(t.series)-1)]
	tick.Requests++
	tick.Slowest = max(tick.Slowest, took)
}

func record(h *hdrhistogram.Histogram, micros int64) {
	if err := h.RecordValue(micros); err != nil {
		panic("BUG: a clamped latency is outside of its histogram: " + err.Error())
	}
}

func (t *tally) status(status int, n uint64) {
	i := slices.IndexFunc(t.statuses, func(s StatusCount) bool { return s.Status == status })
	if i < 0 {
		t.statuses = append(t.statuses, StatusCount{Status: status})
		i = len(t.statuses) - 1
	}
	t.statuses[i].Count += n
}

func (t *tally) problem(text string) {
	if len(t.problems) < maxProblems && !slices.Contains(t.problems, text) {
		t.problems = append(t.problems, text)
	}
}

// add enters what another worker counted.
func (t *tally) add(o *tally) {
	t.latency.Merge(o.latency)
	for i := range t.parts {
		t.parts[i].Requests += o.parts[i].Requests
		t.parts[i].Bytes += o.parts[i].Bytes
		t.parts[i].Latency.Merge(o.parts[i].Latency)
	}
	for i := range t.series {
		t.series[i].Requests += o.series[i].Requests
		t.series[i].Slowest = max(t.series[i].Slowest, o.series[i].Slowest)
	}
	for _, s := range o.statuses {
		t.status(s.Status, s.Count)
	}
	for _, p := range o.problems {
		t.problem(p)
	}
	t.requests += o.requests
	t.bytes += o.bytes
	t.all += o.all
	t.failures += o.failures
	t.unanswered += o.unanswered
	t.unsent += o.unsent
	t.charged += o.charged
	t.expected += o.expected
	t.free += o.free
}
