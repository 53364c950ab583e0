package gate

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// The 503s of metering. Nothing was charged, and a retry a second later may
// succeed.
var (
	errLease   = render.Unavailable("the account's units are being renewed", time.Second)
	errStalled = render.Unavailable("metering is not available", time.Second)
)

// errQuota is the 429 of a month with fewer units left than the request costs.
func errQuota(t *Ticket) *render.Error {
	q := t.Quota()
	reserved := ""
	if q.Reserved > 0 {
		reserved = strconv.FormatInt(q.Reserved, 10) + " are reserved for requests that an " +
			"interrupted server may have answered; "
	}
	return render.OverQuota("monthly quota: "+strconv.FormatInt(q.Left, 10)+" of "+
		strconv.FormatInt(q.Limit, 10)+" units are left, and this request costs more; "+reserved+
		"the quota resets at "+t.Span.Reset, time.Duration(q.ResetInNs))
}

// Reserve holds a request's units before the work. The first request after an
// idle second waits here for one synced write; no other request waits.
func (g *Gate) Reserve(t *Ticket, units int64) *render.Error {
	v := g.book.Reserve(t, units)
	if v == accounts.Unleased {
		v = g.awaitLease(t, units)
	}

	switch v {
	case accounts.Granted:
		return nil
	case accounts.OverQuota:
		g.metrics.quota.Inc()
		return errQuota(t)
	case accounts.Stalled:
		g.metrics.stalled.Inc()
		return errStalled
	}

	g.metrics.lease.Inc()
	return errLease
}

// awaitLease asks for a lease until the units are held, or cannot be.
func (g *Gate) awaitLease(t *Ticket, units int64) accounts.Verdict {
	g.metrics.waits.Inc()
	timeout := time.NewTimer(g.LeaseWait)
	defer timeout.Stop()

	for {
		select {
		case <-g.book.Want(t.Key.Cell):
		case <-timeout.C:
			return accounts.Unleased
		}
		if v := g.book.Reserve(t, units); v != accounts.Unleased {
			return v
		}
	}
}

// Settle ends an admitted request that a route answered: charged of the
// reserved units are billed, the others given back, the headers set. charged
// is 0 or what was reserved. It returns what was billed.
func (g *Gate) Settle(
	ctx *fasthttp.RequestCtx, t *Ticket, r accounts.Route, charged int64,
) (billed int64) {
	billed = g.book.Settle(t, r, charged)
	setHeaders(ctx, t, billed)
	return billed
}

// Refuse ends an admitted request that no route answered.
func (g *Gate) Refuse(ctx *fasthttp.RequestCtx, t *Ticket) { setHeaders(ctx, t, 0) }

// setHeaders sets the headers of every metered answer after authentication.
func setHeaders(ctx *fasthttp.RequestCtx, t *Ticket, charged int64) {
	var buf [20]byte
	ctx.Response.Header.SetCanonical([]byte("X-Units-Charged"),
		strconv.AppendInt(buf[:0], charged, 10))
	setLimits(ctx, t)
	SetHeader(ctx, "Access-Control-Expose-Headers", exposedHeaders)
}
