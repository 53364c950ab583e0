package gate

import (
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// HeaderKey is the header that carries the API key.
const HeaderKey = "KC-APIKey"

// errKey is the 401. It is the same for a missing, malformed, unknown or
// revoked key and for a suspended account, so that it reveals nothing about
// keys.
var errKey = render.Unauthorized(
	"missing or invalid API key; send it in the " + HeaderKey + " header")

// errBurst is the 429 for a request that exceeds the burst limit.
func errBurst(t *Ticket) *render.Error {
	p := &t.Terms.Plan
	among := ""
	if n := t.Nodes(); n > 1 {
		among = ", shared by " + strconv.FormatInt(n, 10) + " nodes"
	}
	return render.TooMany("too many requests: plan "+p.ID+" allows "+
		strconv.FormatInt(p.RequestsPerSecond, 10)+" per second and bursts of up to "+
		strconv.FormatInt(p.Burst, 10)+among, time.Duration(t.Burst.RetryNs))
}

// Expect asks for the memory that Admit looks at first, so that it is there by then.
func (g *Gate) Expect(ctx *fasthttp.RequestCtx) {
	g.book.Expect(ctx.Request.Header.Peek(HeaderKey))
}

// Admit authenticates a request to a metered route, checks its origin and takes
// a burst token. now must carry a monotonic clock reading. On error the
// response headers are already set, and the request must not be settled.
func (g *Gate) Admit(ctx *fasthttp.RequestCtx, now time.Time) (Ticket, *render.Error) {
	key := g.authenticate(&ctx.Request.Header)
	if key == nil {
		SetHeader(ctx, "WWW-Authenticate", `ApiKey header="`+HeaderKey+`"`)
		return Ticket{}, errKey
	}

	t := g.book.Admit(key, g.clock.At(now))
	if err := checkOrigin(ctx, key); err != nil {
		// A 403 reports the burst bucket without taking a token from it.
		g.metrics.origin.Inc()
		t.PeekBurst()
		SetMeter(ctx, &t, 0)
		return t, err
	}
	if !t.TakeToken() {
		g.metrics.burst.Inc()
		SetMeter(ctx, &t, 0)
		return t, errBurst(&t)
	}
	return t, nil
}

// authenticate returns the key that the request carries, or nil when it is not
// valid. It counts the reason, which the client is not told.
func (g *Gate) authenticate(h *fasthttp.RequestHeader) *accounts.Key {
	values := h.PeekAll(HeaderKey)
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
