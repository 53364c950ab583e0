package load

import (
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
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
	All        uint64         // answers
	Statuses   map[int]uint64 // how many answers had each
	Failures   uint64         // answers with a status that was not expected
	Unanswered uint64         // requests whose connection broke or that were never answered
	Unsent     uint64         // requests of an open loop that found no connection in time
	Charged    int64          // units, as the answers say
	Expected   int64          // units, by the statuses
	Free       uint64         // answers that cost nothing, and said why
	Problems   []string
}

// Tick is a stretch of TickLength.
type Tick struct {
	Requests uint64
	Slowest  time.Duration
}

// TickLength is the resolution of a Result's Series.
const TickLength = 100 * time.Millisecond

const (
	slowest     = int64(time.Minute / time.Microsecond)
	digits      = 3
	maxProblems = 8 // the first of them tell what is wrong
)

func newCounts(length time.Duration) Counts {
	return Counts{
		Latency: hdrhistogram.New(1, slowest, digits), Statuses: map[int]uint64{},
		Series: make([]Tick, (length+TickLength-1)/TickLength),
	}
}

// countAnswer enters a complete response.
func (c *Counts) countAnswer(p *Part, status int, charged int64, body []byte) {
	c.All++
	c.Statuses[status]++
	c.Charged += charged
	if status == 200 || status == 404 {
		c.Expected += p.Units
	}
	if status != 200 && !slices.Contains(p.Accept, status) {
		c.Failures++
		c.note(fmt.Sprintf("%s was answered %d: %.100s", p.Name, status, body))
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

// note keeps the first few problems, each once.
func (c *Counts) note(text string) {
	if len(c.Problems) < maxProblems && !slices.Contains(c.Problems, text) {
		c.Problems = append(c.Problems, text)
	}
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

	c.All += o.All
	for status, n := range o.Statuses {
		c.Statuses[status] += n
	}
	c.Failures += o.Failures
	c.Unanswered += o.Unanswered
	c.Unsent += o.Unsent
	c.Charged += o.Charged
	c.Expected += o.Expected
	c.Free += o.Free
	for _, p := range o.Problems {
		c.note(p)
	}
}
