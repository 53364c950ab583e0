package edge

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// codes are all that can be answered.
var codes = []int{
	200, 204, 304, 400, 401, 403, 404, 405, 408, 413, 414, 417, 429, 431, 500, 503, 505,
}

// secondsBuckets reach from a cached page, some 5 µs, to the longest wait of an
// answer, 2 s.
var secondsBuckets = []float64{
	5e-6, 10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 500e-6,
	1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 100e-3, 200e-3, 500e-3, 1, 2,
}

// serverMetrics are the server's own; gate, pages and listener have theirs.
type serverMetrics struct {
	set      *metrics.Set
	seconds  [numRoutes][]atomic.Pointer[metrics.PrometheusHistogram] // by index in codes; made when first used
	units    [numRoutes]*metrics.Counter                              // charged; nil for a route that costs none
	inFlight *metrics.Gauge
	panics   *metrics.Counter
	broken   *metrics.Counter // connections that ended in an error
	stale    *metrics.Counter // answers of data older than the freshness
}

func newServerMetrics(set *metrics.Set) *serverMetrics {
	m := &serverMetrics{
		set:      set,
		inFlight: set.NewGauge(`tidemark_edge_requests_in_flight`, nil),
		panics:   set.NewCounter(`tidemark_edge_panics_total`),
		broken:   set.NewCounter(`tidemark_edge_connections_broken_total`),
		stale:    set.NewCounter(`tidemark_edge_answers_total{flag="stale"}`),
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

// observe counts an answer and how long it took. A series is made by the first
// answer of its route and status, since most pairs never occur.
func (m *serverMetrics) observe(r route, status int, took time.Duration) {
	i := slices.Index(codes, status)
	if i < 0 {
		panic("BUG: an answer of a status that is not in the list")
	}

	seconds := m.seconds[r][i].Load()
	if seconds == nil {
		seconds = m.set.GetOrCreatePrometheusHistogramExt(fmt.Sprintf(
			`tidemark_edge_request_seconds{route=%q,status="%d"}`, routes[r].name, status), secondsBuckets)
		m.seconds[r][i].Store(seconds)
	}
	seconds.Update(took.Seconds())
}
