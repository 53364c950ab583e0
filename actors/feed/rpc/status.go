package rpc

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// meters are the metrics of one chain's feed. Endpoints are named, never by
// their address: it can hold a provider's key.
type meters struct {
	set   *metrics.Set
	chain market.ChainID

	requests       []*metrics.Counter // by endpoint
	failures       *metrics.Counter
	falsePositives *metrics.Counter
	reorgs         *metrics.Counter
	forks          *metrics.Counter
	missed         *metrics.Counter
	events         *metrics.Counter
	noReceipts     *metrics.Counter
	rate           *metrics.Gauge
}

func newMeters(set *metrics.Set, chain market.ChainID) *meters {
	name := func(s string) string { return fmt.Sprintf(`tidemark_feed_%s{chain="%d"}`, s, chain) }
	return &meters{
		set: set, chain: chain,
		failures:       new(metrics.Counter),
		falsePositives: set.NewCounter(name("bloom_false_positives_total")),
		reorgs:         set.NewCounter(name("reorgs_total")),
		forks:          set.NewCounter(name("head_conflicts_total")),
		missed:         set.NewCounter(name("short_answers_total")),
		events:         set.NewCounter(name("events_total")),
		noReceipts:     set.NewCounter(name("receipts_missing_total")),
		rate:           set.NewGauge(name("events_per_second"), nil),
	}
}

// requestCounter returns the counter of an endpoint's calls.
func (m *meters) requestCounter(name string) *metrics.Counter {
	c := m.set.GetOrCreateCounter(
		fmt.Sprintf(`tidemark_feed_requests_total{chain="%d",endpoint=%q}`, m.chain, name))
	m.requests = append(m.requests, c)
	return c
}

// countFailure counts a failure of an endpoint.
func (m *meters) countFailure(name string, kind endpoint.Kind) {
	m.failures.Inc()
	m.set.GetOrCreateCounter(fmt.Sprintf(
		`tidemark_feed_errors_total{chain="%d",endpoint=%q,kind=%q}`, m.chain, name, string(kind))).Inc()
}

// requestsSent returns the calls sent to all endpoints.
func (m *meters) requestsSent() (n uint64) {
	for _, c := range m.requests {
		n += c.Get()
	}
	return n
}

// Status is how a feed is doing. Counters are since the process started.
type Status struct {
	Endpoint    string // name of the one that answered last
	Failures    int    // calls of Next that failed in a row; 0: all is well
	LastError   string // the newest error, also when another URL made up for it
	LastErrorAt time.Time
	Finalized   uint64 // the newest settled block; 0: not known

	Requests       uint64 // calls sent, each of a batch counted
	Errors         uint64 // failures of a URL
	FalsePositives uint64 // headers that hinted at events that were not there
	Reorgs         uint64
	ShortAnswers   uint64 // answers that turned out to lack events
	Events         uint64
	NoReceipts     uint64  // transactions whose gas stays unknown
	EventsPerSec   float64 // lately
}

// status is what Status takes from atomics beside the counters.
type status struct {
	name      atomic.Pointer[string]
	problem   atomic.Pointer[problem]
	failures  atomic.Int64
	finalized atomic.Uint64
}

type problem struct {
	text string
	at   time.Time
}

// Status may be called from any goroutine at any time.
func (f *Feed) Status() Status {
	s := Status{
		Failures:       int(f.status.failures.Load()),
		Finalized:      f.status.finalized.Load(),
		Requests:       f.m.requestsSent(),
		Errors:         f.m.failures.Get(),
		FalsePositives: f.m.falsePositives.Get(),
		Reorgs:         f.m.reorgs.Get(),
		ShortAnswers:   f.m.missed.Get(),
		Events:         f.m.events.Get(),
		NoReceipts:     f.m.noReceipts.Get(),
		EventsPerSec:   f.m.rate.Get(),
	}

	if name := f.status.name.Load(); name != nil {
		s.Endpoint = *name
	}

	if p := f.status.problem.Load(); p != nil {
		s.LastError, s.LastErrorAt = p.text, p.at
	}
	return s
}

func (f *Feed) noteError(err error) {
	f.status.problem.Store(&problem{text: err.Error(), at: f.cfg.Clock.Now()})
}

// Finalized returns the newest settled block; 0 while it is not known.
func (f *Feed) Finalized() uint64 { return f.status.finalized.Load() }
