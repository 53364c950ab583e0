package gate

import (
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/storage/accounts"
)

// Gate checks requests against a book of keys.
type Gate struct {
	// LeaseWait bounds each wait for a lease. New sets it to defaultLeaseWait.
	LeaseWait time.Duration

	book    *accounts.Book
	clock   accounts.Clock
	metrics gateMetrics
}

// Ticket is the state of one admitted request.
type Ticket = accounts.Ticket

// defaultLeaseWait is far longer than the group commit that a lease needs, which takes a
// millisecond or two, and some hundred on saturated processors. If the disk takes longer,
// the request is a 503, in less time than clients of a frozen disk are promised.
const defaultLeaseWait = time.Second

// New returns a gate over a book of keys.
func New(book *accounts.Book, clock accounts.Clock, set *metrics.Set) *Gate {
	return &Gate{
		LeaseWait: defaultLeaseWait, book: book, clock: clock, metrics: newGateMetrics(set),
	}
}

// gateMetrics counts refusals. The reason for a 401 is reported only here.
type gateMetrics struct {
	missing, repeated, malformed, unknown, revoked, suspended *metrics.Counter
	origin, burst, quota, lease, stalled, waits               *metrics.Counter
}

func newGateMetrics(set *metrics.Set) gateMetrics {
	c := set.NewCounter
	return gateMetrics{
		missing:   c(`tidemark_edge_unauthorized_total{reason="missing"}`),
		repeated:  c(`tidemark_edge_unauthorized_total{reason="repeated"}`),
		malformed: c(`tidemark_edge_unauthorized_total{reason="malformed"}`),
		unknown:   c(`tidemark_edge_unauthorized_total{reason="unknown"}`),
		revoked:   c(`tidemark_edge_unauthorized_total{reason="revoked"}`),
		suspended: c(`tidemark_edge_unauthorized_total{reason="suspended"}`),
		origin:    c(`tidemark_edge_refused_total{reason="origin"}`),
		burst:     c(`tidemark_edge_refused_total{reason="burst"}`),
		quota:     c(`tidemark_edge_refused_total{reason="quota"}`),
		lease:     c(`tidemark_edge_refused_total{reason="lease"}`),
		stalled:   c(`tidemark_edge_refused_total{reason="stalled"}`),
		waits:     c(`tidemark_edge_lease_waits_total`),
	}
}
