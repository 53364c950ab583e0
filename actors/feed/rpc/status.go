package rpc

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/rankings/market"
)

// meters are the metrics of one chain's feed.
type meters struct {
	requests       *metrics.Counter
	failures       *metrics.Counter
	falsePositives *metrics.Counter
	reorgs         *metrics.Counter
	events         *metrics.Counter
	noReceipts     *metrics.Counter
	rate           *metrics.FloatCounter
}

func newMeters(set *metrics.Set, chain market.ChainID) *meters {
	name := func(s string) string { return fmt.Sprintf(`tidemark_feed_%s{chain="%d"}`, s, chain) }
	return &meters{
		requests:       set.NewCounter(name("requests_total")),
		failures:       set.NewCounter(name("errors_total")),
		falsePositives: set.NewCounter(name("bloom_false_positives_total")),
		reorgs:         set.NewCounter(name("reorgs_total")),
		events:         set.NewCounter(name("events_total")),
		noReceipts:     set.NewCounter(name("receipts_missing_total")),
		rate:           set.NewFloatCounter(name("events_per_second")),
	}
}

// Status is how a feed is doing. Counters are since the process started.
type Status struct {
	URL         string // host of the URL that answered last
	Failures    int    // calls of Next that failed in a row; 0: all is well
	LastError   string // the newest error, also when another URL made up for it
	LastErrorAt time.Time

	Requests       uint64 // calls sent, each of a batch counted
	Errors         uint64 // failures of a URL
	FalsePositives uint64 // headers that hinted at events that were not there
	Reorgs         uint64
	Events         uint64
	NoReceipts     uint64  // transactions whose gas stays unknown
	EventsPerSec   float64 // lately
}

// standing is what Status takes from atomics beside the counters.
type standing struct {
	url      atomic.Pointer[string]
	problem  atomic.Pointer[problem]
	failures atomic.Int64
}

type problem struct {
	text string
	at   time.Time
}

// Status may be called from any goroutine at any time.
func (f *Feed) Status() Status {
	s := Status{
		Failures:       int(f.now.failures.Load()),
		Requests:       f.m.requests.Get(),
		Errors:         f.m.failures.Get(),
		FalsePositives: f.m.falsePositives.Get(),
		Reorgs:         f.m.reorgs.Get(),
		Events:         f.m.events.Get(),
		NoReceipts:     f.m.noReceipts.Get(),
		EventsPerSec:   f.m.rate.Get(),
	}
	if url := f.now.url.Load(); url != nil {
		s.URL = *url
	}
	if p := f.now.problem.Load(); p != nil {
		s.LastError, s.LastErrorAt = p.text, p.at
	}
	return s
}

func (f *Feed) note(err error) {
	f.now.problem.Store(&problem{text: err.Error(), at: f.cfg.Clock.Now()})
}
