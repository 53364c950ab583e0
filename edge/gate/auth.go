package gate

import (
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// HeaderKey is the header that carries the API key.
const HeaderKey = "KC-APIKey"

// errKey is the one answer to a missing, malformed, unknown or revoked key, and
// to the key of a suspended account.
var errKey = render.Unauthorized("missing or invalid API key; send it in the " + HeaderKey + " header")

// Admit authenticates a request of a metered route and takes its burst token.
// now carries a monotonic reading. On an error the response's headers are set
// and there is nothing to settle.
func (g *Gate) Admit(ctx *fasthttp.RequestCtx, now time.Time) (Ticket, *render.Error) {
	key := g.authenticate(&ctx.Request.Header)
	if key == nil {
		SetHeader(ctx, "WWW-Authenticate", `ApiKey header="`+HeaderKey+`"`)
		return Ticket{}, errKey
	}

	t := g.book.Admit(key, g.clock.At(now))
	if err := allowOrigin(ctx, key); err != nil {
		g.metrics.origin.Inc()
		t.Look()
		g.Refuse(ctx, &t)
		return t, err
	}

	if !t.Take() {
		g.metrics.burst.Inc()
		g.Refuse(ctx, &t)
		return t, errBurst(&t)
	}
	return t, nil
}

// authenticate resolves the key header in memory; nil is a 401.
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
