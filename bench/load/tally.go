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
	All        uint64 // answers
	Statuses   []StatusCount
	Failures   uint64 // answers with a status that was not expected
	Unanswered uint64 // requests whose connection broke or that were never answered
	Unsent     uint64 // requests of an open loop that found no connection in time
	Charged    int64  // units, as the answers say
	Expected   int64  // units, by the statuses
	Free       uint64 // answers that cost nothing, and said why
	Problems   []string
}

// Tick is a stretch of TickLength.
type Tick struct {
	Requests uint64
	Slowest  time.Duration
}

// TickLength is the resolution of a Result's Series.
const TickLength = 100 * time.Millisecond

// StatusCount is how many answers had a status.
type StatusCount struct {
	Status int    `json:"status"`
	Count  uint64 `json:"count"`
}

const (
	slowest     = int64(time.Minute / time.Microsecond)
	digits      = 3
	maxProblems = 8 // the first of them tell what is wrong
)

func newCounts(length time.Duration) Counts {
	return Counts{
		Latency: hdrhistogram.New(1, slowest, digits),
		Series:  make([]Tick, (length+TickLength-1)/TickLength),
	}
}

// tally is what one worker counts.
type tally struct {
	Counts
	warmup time.Duration
	end    time.Duration // of the measured time
}

// count enters a complete response.
func (t *tally) count(p *Part, c *conn, now time.Duration) {
	status := c.head.status
	t.All++
	t.Charged += c.head.charged
	t.Expected += p.price(status)
	t.countStatus(status, 1)
	if !p.accepts(status) {
		t.Failures++
		t.note(fmt.Sprintf("%s was answered %d: %.100s", p.Name, status, c.body))
	}

	if now < t.warmup || now > t.end {
		return
	}
	if status >= refused {
		t.Refused++
		return
	}

	took := now - c.due
	t.Requests++
	t.Bytes += uint64(c.head.length)
	if err := t.Latency.RecordValue(min(max(took.Microseconds(), 1), slowest)); err != nil {
		panic("BUG: a clamped latency is outside of its histogram: " + err.Error())
	}
	tick := &t.Series[min(int((now-t.warmup)/TickLength), len(t.Series)-1)]
	tick.Requests++
	tick.Slowest = max(tick.Slowest, took)
}

func (c *Counts) countStatus(status int, n uint64) {
	i := slices.IndexFunc(c.Statuses, func(s StatusCount) bool { return s.Status == status })
	if i < 0 {
		c.Statuses = append(c.Statuses, StatusCount{Status: status})
		i = len(c.Statuses) - 1
	}
	c.Statuses[i].Count += n
}

// note keeps the first few problems, each once.
func (c *Counts) note(text string) {
	if len(c.Problems) < maxProblems && !slices.Contains(c.Problems, text) {
		c.Problems = append(c.Problems, text)
	}
}

// Add enters what another worker, or another round, counted; the latencies and
// the series are those of the same stretch of time.
func (c *Counts) Add(o *Counts) {
	c.Requests += o.Requests
	c.Refused += o.Refused
	c.Bytes += o.Bytes
	c.Latency.Merge(o.Latency)
	for i := range c.Series {
		c.Series[i].Requests += o.Series[i].Requests
		c.Series[i].Slowest = max(c.Series[i].Slowest, o.Series[i].Slowest)
	}

	c.All += o.All
	for _, s := range o.Statuses {
		c.countStatus(s.Status, s.Count)
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
	slices.SortFunc(c.Statuses, func(a, b StatusCount) int { return a.Status - b.Status })
}
