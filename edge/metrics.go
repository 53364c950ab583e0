package edge

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// codes are all statuses that the server sends.
var codes = []int{
	200, 204, 304, 400, 401, 403, 404, 405, 408, 410, 413, 414, 417, 429, 431, 500, 503, 505,
}

// secondsBuckets range from a cached page, about 5 µs, to the longest wait of an
// answer, 2 s.
var secondsBuckets = []float64{
	5e-6, 10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 500e-6,
	1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 100e-3, 200e-3, 500e-3, 1, 2,
}

// serverMetrics are the server's metrics; gate, pages and listener have their
// own.
type serverMetrics struct {
	set *metrics.Set

	// By route and index in codes. A histogram is made when it is first used,
	// since most pairs never occur.
	seconds [numRoutes][]atomic.Pointer[metrics.PrometheusHistogram]

	units             [numRoutes]*metrics.Counter // charged; nil for a free route
	inFlight          *metrics.Gauge
	panics            *metrics.Counter
	brokenConnections *metrics.Counter // connections that ended in an error
	stale             *metrics.Counter // answers of data older than the freshness
}

func newServerMetrics(set *metrics.Set) *serverMetrics {
	m := &serverMetrics{
		set:               set,
		inFlight:          set.NewGauge(`tidemark_edge_requests_in_flight`, nil),
		panics:            set.NewCounter(`tidemark_edge_panics_total`),
		brokenConnections: set.NewCounter(`tidemark_edge_connections_broken_total`),
		stale:             set.NewCounter(`tidemark_edge_answers_total{flag="stale"}`),
	}

	for i := range routes {
		m.seconds[i] = make([]atomic.Pointer[metrics.PrometheusHistogram], len(codes))
		if routes[i].access != free && routes[i].meter.Units() > 0 {
			m.units[i] = set.NewCounter(fmt.Sprintf(
				`tidemark_edge_units_charged_total{route=%q}`, routes[i].name))
		}
	}

	return m
}

// observe counts an answer and how long it took.
func (m *serverMetrics) observe(r route, status int, took time.Duration) {
	i := slices.Index(codes, status)
	if i < 0 {
		panic(fmt.Sprintf("BUG: status %d is not in codes", status))
	}

	seconds := m.seconds[r][i].Load()
	if seconds == nil {
		seconds = m.set.GetOrCreatePrometheusHistogramExt(fmt.Sprintf(
			`tidemark_edge_request_seconds{route=%q,status="%d"}`, routes[r].name, status), secondsBuckets)
		m.seconds[r][i].Store(seconds)
	}
	seconds.Update(took.Seconds())
}
