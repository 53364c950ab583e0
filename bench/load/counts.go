package load

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tidemark/bench/report"
)

// Counts is what the answers of a run add up to. Throughput, sizes and
// latencies are those of good answers alone: to refuse is quick, and no work
// done.
type Counts struct {
	Requests uint64                  // good answers (2xx) within the measured time
	Refused  uint64                  // other answers within it
	Bytes    uint64                  // bodies of the good ones
	Latency  *hdrhistogram.Histogram // of the good ones, in microseconds
	Series   []Tick                  // the same over time

	// The rest includes the warm-up and what was under way at the end.
	report.Answers
	Charged  int64 // units, as the answers say
	Expected int64 // units, by the statuses
}

// Tick is a stretch of TickLength.
type Tick struct {
	Requests uint64
	Slowest  time.Duration
}

// TickLength is the resolution of a Result's Series.
const TickLength = 100 * time.Millisecond

const (
	slowest = int64(time.Minute / time.Microsecond)
	digits  = 3
)

func newCounts(length time.Duration) Counts {
	return Counts{
		Latency: hdrhistogram.New(1, slowest, digits),
		Series:  make([]Tick, (length+TickLength-1)/TickLength),
		Answers: report.Answers{Statuses: map[int]uint64{}},
	}
}

// countAnswer enters a complete response.
func (c *Counts) countAnswer(p *Part, status int, charged int64, body []byte) {
	c.Statuses[status]++
	c.Charged += charged
	switch {
	case p.Units == AnyUnits:
		c.Expected += charged
	case status == 200 || status == 404:
		c.Expected += p.Units
	}
	if status != 200 && !slices.Contains(p.Accept, status) {
		c.Failures++
		c.Note("%s was answered %d: %.100s", p.Name, status, body)
	}
}

// refused is the least status of a response that says what went wrong.
const refused = 400

// countLatency enters the latency of a response that came at a time after the
// warm-up.
func (c *Counts) countLatency(status, length int, took, at time.Duration) {
	if status >= refused {
		c.Refused++
		return
	}

	c.Requests++
	c.Bytes += uint64(length)
	if err := c.Latency.RecordValue(min(max(took.Microseconds(), 1), slowest)); err != nil {
		panic("BUG: a clamped latency is outside of its histogram: " + err.Error())
	}
	tick := &c.Series[min(int(at/TickLength), len(c.Series)-1)]
	tick.Requests++
	tick.Slowest = max(tick.Slowest, took)
}

// addCounts enters what a worker counted in the same stretch of time.
func (c *Counts) addCounts(o *Counts) {
	c.Requests += o.Requests
	c.Refused += o.Refused
	c.Bytes += o.Bytes
	c.Latency.Merge(o.Latency)
	for i := range c.Series {
		c.Series[i].Requests += o.Series[i].Requests
		c.Series[i].Slowest = max(c.Series[i].Slowest, o.Series[i].Slowest)
	}

	c.Add(&o.Answers)
	c.Charged += o.Charged
	c.Expected += o.Expected
}
