package edge

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/storage/accounts"
)

// The 503s of metering: nothing was charged, and a second later it may do.
var (
	errLease   = unavailable("the account's units are being renewed", time.Second)
	errStalled = unavailable("metering is not available", time.Second)
)

// reserve holds a request's units before the work. The first request after
// idleness waits here for one synced write; every other one waits for nothing.
func (g *gate) reserve(t *ticket, units int64) *Error {
	v := g.book.Reserve(t, units)
	if v == accounts.Asleep {
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

// awaitLease asks for a lease until there is one, or something final to say.
func (g *gate) awaitLease(t *ticket, units int64) accounts.Verdict {
	g.metrics.waits.Inc()
	timeout := time.NewTimer(g.leaseWait)
	defer timeout.Stop()
	for {
		select {
		case <-g.book.Want(t.Key.Cell):
		case <-timeout.C:
			return accounts.Asleep
		}
		if v := g.book.Reserve(t, units); v != accounts.Asleep {
			return v
		}
	}
}

// settle ends an admitted request that a route answered: charged of the
// reserved units are billed, the others given back, the headers set. charged
// is 0 or what was reserved.
func (g *gate) settle(ctx *fasthttp.RequestCtx, t *ticket, r accounts.Route, charged int64) {
	g.book.Settle(t, r, charged)
	standing(ctx, t, charged)
}

// refuse ends an admitted request that no route answered.
func (g *gate) refuse(ctx *fasthttp.RequestCtx, t *ticket) { standing(ctx, t, 0) }

// standing sets the headers of every metered answer after authentication.
func standing(ctx *fasthttp.RequestCtx, t *ticket, charged int64) {
	var buf [20]byte
	ctx.Response.Header.SetCanonical([]byte("X-Units-Charged"),
		strconv.AppendInt(buf[:0], charged, 10))
	limits(ctx, t)
	setHeader(ctx, "Access-Control-Expose-Headers", exposedHeaders)
}
