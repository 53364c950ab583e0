package edge

import (
	"github.com/valyala/fasthttp"

	"tidemark/storage/accounts"
)

const (
	headerOrigin      = "Origin"
	headerAllowOrigin = "Access-Control-Allow-Origin"

	allowedMethods = "GET, HEAD, OPTIONS"
	allowedHeaders = headerKey + ", " + headerRequestID
	// preflightAge is how many seconds a browser may keep the answer to a
	// preflight; short of the minute that a revocation may take.
	preflightAge = "60"

	exposedHeaders = "X-Units-Charged, X-Quota-Limit, X-Quota-Remaining, X-Quota-Reset, " +
		"RateLimit-Policy, RateLimit, X-Generation, X-Request-Id, Retry-After"
)

// The 403s of a key that is valid, but not from there.
var (
	errServerOrigin  = forbidden("this is a server key; it is refused with an Origin header")
	errMissingOrigin = forbidden("this is a browser key; it needs an Origin header")
	errOtherOrigin   = forbidden("this browser key is not bound to that origin")
)

// allowOrigin checks a valid key against the Origin header, and grants a
// listed origin to read the answer, errors included. Never credentials.
func allowOrigin(ctx *fasthttp.RequestCtx, key *accounts.Key) *Error {
	origins := ctx.Request.Header.PeekAll(headerOrigin)
	switch {
	case key.Kind == accounts.Server && len(origins) > 0:
		return errServerOrigin
	case key.Kind == accounts.Server:
		return nil
	case len(origins) == 0:
		return errMissingOrigin
	case len(origins) > 1 || !key.Allows(origins[0]):
		return errOtherOrigin
	}
	ctx.Response.Header.SetCanonical([]byte(headerAllowOrigin), origins[0])
	return nil
}

// preflight answers a CORS preflight and reports whether the request was one.
// It takes no key, units or burst token. On a metered route an origin is
// granted when some active browser key lists it; elsewhere every origin is.
func (g *gate) preflight(ctx *fasthttp.RequestCtx, metered bool) bool {
	if !ctx.IsOptions() {
		return false
	}
	h := &ctx.Request.Header
	origin := h.Peek(headerOrigin)
	if len(origin) == 0 || len(h.Peek("Access-Control-Request-Method")) == 0 {
		return false
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	if metered {
		setHeader(ctx, "Vary", "Origin")
	}
	if metered && !g.book.Listed(origin) {
		return true
	}
	if metered {
		ctx.Response.Header.SetCanonical([]byte(headerAllowOrigin), origin)
	} else {
		openToAll(ctx)
	}
	setHeader(ctx, "Access-Control-Allow-Methods", allowedMethods)
	setHeader(ctx, "Access-Control-Allow-Headers", allowedHeaders)
	setHeader(ctx, "Access-Control-Max-Age", preflightAge)
	return true
}

// openToAll lets every origin read the answer of a free route.
func openToAll(ctx *fasthttp.RequestCtx) { setHeader(ctx, headerAllowOrigin, "*") }
