package load

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tidemark/bench/report"
)

// Counts is what the answers of a run add up to. Throughput, sizes and
// latencies are those of good answers alone: to refuse is quick.
type Counts struct {
	report.Measure                         // rates and latencies only of a Result
	Histogram      *hdrhistogram.Histogram // of latencies, in microseconds
	Late           *hdrhistogram.Histogram // what the client may have added to each
	Series         []report.Point          // the same over time, a point every tickLength
	bytes          uint64                  // bodies of good answers

	// The rest includes the warm-up and what was under way at the end.
	report.Answers
	Charged  int64 // units, as the answers say
	Expected int64 // units, by the statuses
}

const (
	slowest    = int64(time.Minute / time.Microsecond)
	digits     = 3
	tickLength = 100 * time.Millisecond
)

func newCounts(length time.Duration) Counts {
	c := Counts{
		Histogram: hdrhistogram.New(1, slowest, digits),
		Late:      hdrhistogram.New(1, slowest, digits),
		Series:    make([]report.Point, (length+tickLength-1)/tickLength),
		Answers:   report.Answers{Statuses: map[int]uint64{}},
	}
	for i := range c.Series {
		c.Series[i].Seconds = float64(i) * tickLength.Seconds()
	}
	return c
}

// countAnswer enters the complete response of a connection, and reports whether its status was
// expected.
func (c *Counts) countAnswer(of *conn) bool {
	p, status, charged := of.part, of.head.status, of.head.charged
	c.Statuses[status]++
	c.Charged += charged

	switch {
	case p.Units == AnyUnits:
		c.Expected += charged
	case status == 200 || status == 404:
		c.Expected += p.Units
	}
	if status == 200 || slices.Contains(p.Accept, status) {
		return true
	}

	c.Failures++
	name := p.Name
	if name == ByPath {
		name = of.path()
	}
	c.Note("%s was answered %d: %.100s", name, status, of.body)
	return false
}

// good reports whether a response counts as throughput.
func good(status int) bool { return status/100 == 2 }

// countLatency enters the latency of a response.
func (c *Counts) countLatency(status int, took time.Duration) {
	if good(status) {
		record(c.Histogram, took)
	}
}

// countThroughput enters a response that came in the measured time, and when in it.
func (c *Counts) countThroughput(status, length int, took, at time.Duration) {
	if !good(status) {
		c.Refused++
		return
	}

	c.Requests++
	c.bytes += uint64(length)
	tick := &c.Series[min(int(at/tickLength), len(c.Series)-1)]
	tick.PerSecond += float64(time.Second / tickLength)
	tick.Slowest = max(tick.Slowest, took.Microseconds())
}

// countLate enters how late the client was, at most, with a request and its answer.
func (c *Counts) countLate(late time.Duration) { record(c.Late, late) }

func record(h *hdrhistogram.Histogram, d time.Duration) {
	if err := h.RecordValue(min(max(d.Microseconds(), 1), slowest)); err != nil {
		panic("BUG: a clamped time is outside of its histogram: " + err.Error())
	}
}

// addCounts enters what a worker counted in the same stretch of time.
func (c *Counts) addCounts(o *Counts) {
	c.Requests += o.Requests
	c.Refused += o.Refused
	c.bytes += o.bytes
	c.Histogram.Merge(o.Histogram)
	c.Late.Merge(o.Late)
	for i := range c.Series {
		c.Series[i].PerSecond += o.Series[i].PerSecond
		c.Series[i].Slowest = max(c.Series[i].Slowest, o.Series[i].Slowest)
	}

	c.Add(&o.Answers)
	c.Charged += o.Charged
	c.Expected += o.Expected
}
