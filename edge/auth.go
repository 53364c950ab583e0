package edge

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/valyala/fasthttp"

	"tidemark/storage/accounts"
)

// gate is what stands before every metered route: whose key, from where, how
// fast, how much is left. serve calls it in the order of api.md section 3:
//
//	preflight                answered at once
//	admit                    401, 403, 429 burst
//	(no such route, parameters: the caller's 404, 405, 400)
//	reserve                  429 quota, 503
//	(work)
//	settle or refuse         headers, units billed or given back
//
// An admitted request ends in exactly one settle (a route answered it) or
// refuse (none did), whatever happens between; both only set headers, so the
// body and status are the caller's, before or after. Nobody may reset the
// response's headers after admit.
type gate struct {
	book      *accounts.Book
	clock     accounts.Clock
	leaseWait time.Duration // tests shorten it
	ids       requestIDs
	metrics   gateMetrics
}

// ticket is one request's way through the gate.
type ticket = accounts.Ticket

// leaseWait bounds the wait of the first request after idleness: a group
// commit takes a millisecond or two; a disk that needs longer is a 503.
const leaseWait = time.Second

func newGate(book *accounts.Book, clock accounts.Clock, set *metrics.Set) *gate {
	return &gate{
		book: book, clock: clock, leaseWait: leaseWait,
		ids: newRequestIDs(), metrics: newGateMetrics(set),
	}
}

// gateMetrics counts what the gate refuses; the reason of a 401 is told here
// and nowhere else.
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

const headerKey = "KC-APIKey"

// greet sets the headers that every answer of a route behind a key has.
func (g *gate) greet(ctx *fasthttp.RequestCtx) {
	setHeader(ctx, "Vary", "Origin")
	setHeader(ctx, "Cache-Control", "private, no-store")
	g.ids.set(ctx)
}

// errKey is the one answer to a missing, malformed, unknown, revoked key and
// to the key of a suspended account.
var errKey = unauthorized("missing or invalid API key; send it in the " + headerKey + " header")

// admit authenticates a request of a metered route and takes its burst token.
// now carries a monotonic reading. On an error the response's headers are set.
func (g *gate) admit(ctx *fasthttp.RequestCtx, now time.Time) (ticket, *Error) {
	key := g.authenticate(&ctx.Request.Header)
	if key == nil {
		setHeader(ctx, "WWW-Authenticate", `ApiKey header="`+headerKey+`"`)
		return ticket{}, errKey
	}
	t := g.book.Admit(key, g.clock.At(now))
	if err := allowOrigin(ctx, key); err != nil {
		g.metrics.origin.Inc()
		t.Look()
		g.refuse(ctx, &t)
		return t, err
	}
	if !t.Take() {
		g.metrics.burst.Inc()
		g.refuse(ctx, &t)
		return t, errBurst(&t)
	}
	return t, nil
}

// authenticate resolves the key header in memory; nil is a 401.
func (g *gate) authenticate(h *fasthttp.RequestHeader) *accounts.Key {
	values := h.PeekAll(headerKey)
	switch {
	case len(values) == 0 || len(values) == 1 && len(values[0]) == 0:
		g.metrics.missing.Inc()
		return nil
	case len(values) > 1:
		g.metrics.repeated.Inc()
		return nil
	}
	key, reason := g.book.Resolve(values[0])
	switch reason {
	case accounts.Accepted:
		return key
	case accounts.Malformed:
		g.metrics.malformed.Inc()
	case accounts.Unknown:
		g.metrics.unknown.Inc()
	case accounts.Revoked:
		g.metrics.revoked.Inc()
	case accounts.Suspended:
		g.metrics.suspended.Inc()
	}
	return nil
}

const headerRequestID = "X-Request-Id"

// requestIDs names requests: a counter run through a permutation, so that ids
// of one process never repeat and those of two look nothing alike.
type requestIDs struct {
	seed uint64
	last *atomic.Uint64
}

func newRequestIDs() requestIDs {
	var b [8]byte
	rand.Read(b[:])
	return requestIDs{binary.LittleEndian.Uint64(b[:]), new(atomic.Uint64)}
}

// set puts the client's own id on the answer when it is well-formed, else a
// fresh one.
func (r *requestIDs) set(ctx *fasthttp.RequestCtx) {
	name := []byte(headerRequestID) // as fasthttp keeps it
	if own := ctx.Request.Header.PeekCanonical(name); isRequestID(own) {
		ctx.Response.Header.SetCanonical(name, own)
		return
	}
	x := r.seed + r.last.Add(1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	x ^= x >> 31
	var b [16]byte
	for i := range b {
		b[i] = "0123456789abcdef"[x>>60]
		x <<= 4
	}
	ctx.Response.Header.SetCanonical(name, b[:])
}

// isRequestID is [A-Za-z0-9_-]{1,64}.
func isRequestID(id []byte) bool {
	if len(id) == 0 || len(id) > 64 {
		return false
	}
	for _, c := range id {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// setHeader sets a header whose name is written as it goes out.
func setHeader(ctx *fasthttp.RequestCtx, name, value string) {
	ctx.Response.Header.SetCanonical([]byte(name), []byte(value))
}
