package edge

import (
	"fmt"
	"slices"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// codes are all statuses that the server sends.
var codes = []int{
	200, 204, 304, 400, 401, 403, 404, 405, 408, 413, 414, 417, 429, 431, 500, 503, 505,
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
	requests          [numRoutes][]*metrics.Counter // by index in codes
	seconds           [numRoutes]*metrics.PrometheusHistogram
	inFlight          *metrics.Counter
	panics            *metrics.Counter
	brokenConnections *metrics.Counter // connections that ended in an error
	stale             *metrics.Counter // answers of data older than the freshness
}

func newServerMetrics(set *metrics.Set) *serverMetrics {
	m := &serverMetrics{
		inFlight:          set.NewCounter(`tidemark_edge_requests_in_flight`),
		panics:            set.NewCounter(`tidemark_edge_panics_total`),
		brokenConnections: set.NewCounter(`tidemark_edge_connections_broken_total`),
		stale:             set.NewCounter(`tidemark_edge_answers_total{flag="stale"}`),
	}

	for i := range routes {
		for _, code := range codes {
			m.requests[i] = append(m.requests[i], set.NewCounter(fmt.Sprintf(
				`tidemark_edge_requests_total{route=%q,code="%d"}`, routes[i].name, code)))
		}
		m.seconds[i] = set.NewPrometheusHistogramExt(fmt.Sprintf(
			`tidemark_edge_request_seconds{route=%q}`, routes[i].name), secondsBuckets)
	}

	return m
}

func (m *serverMetrics) observeRequest(r *request) {
	m.countAnswer(r.route, r.ctx.Response.StatusCode())
	m.seconds[r.route].Update(time.Since(r.now).Seconds())
}

func (m *serverMetrics) countAnswer(r route, code int) {
	i := slices.Index(codes, code)
	if i < 0 {
		panic(fmt.Sprintf("BUG: status %d is not in codes", code))
	}
	m.requests[r][i].Inc()
}
