package gate

import (
	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// Headers of requests and answers that the gate knows.
const (
	HeaderRequestID  = "X-Request-Id"
	HeaderGeneration = "X-Generation"

	headerOrigin      = "Origin"
	headerAllowOrigin = "Access-Control-Allow-Origin"
)

const (
	// AllowedMethods are those that every route has.
	AllowedMethods = "GET, HEAD, OPTIONS"

	allowedHeaders = HeaderKey + ", " + HeaderRequestID
	// preflightAge is how many seconds a browser may keep the answer to a
	// preflight: at most the minute within which a revocation takes effect.
	preflightAge = "60"

	// exposedHeaders are those that a browser lets its page read.
	exposedHeaders = "X-Units-Charged, X-Quota-Limit, X-Quota-Remaining, X-Quota-Reset, " +
		"RateLimit-Policy, RateLimit, " + HeaderGeneration + ", " + HeaderRequestID + ", Retry-After"
)

// The 403s of a valid key that is used from the wrong place.
var (
	errServerOrigin  = render.Forbidden("this is a server key; it is refused with an Origin header")
	errMissingOrigin = render.Forbidden("this is a browser key; it needs an Origin header")
	errOtherOrigin   = render.Forbidden("this browser key is not bound to that origin")
)

// allowOrigin checks a valid key against the Origin header and lets a listed
// origin read the answer, errors included. Credentials are never allowed.
func allowOrigin(ctx *fasthttp.RequestCtx, key *accounts.Key) *render.Error {
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

// Preflight answers a CORS preflight and reports whether the request was one.
// It takes no key, units or burst token. On a metered route an origin is
// allowed when some active browser key lists it; elsewhere every origin is.
func (g *Gate) Preflight(ctx *fasthttp.RequestCtx, metered bool) bool {
	if !ctx.IsOptions() {
		return false
	}
	h := &ctx.Request.Header
	origin := h.Peek(headerOrigin)
	if len(origin) == 0 || len(h.Peek("Access-Control-Request-Method")) == 0 {
		return false
	}

	ctx.SetStatusCode(fasthttp.StatusNoContent)
	if !metered {
		AllowAnyOrigin(ctx)
	} else {
		SetHeader(ctx, "Vary", "Origin")
		if !g.book.Listed(origin) {
			return true
		}
		ctx.Response.Header.SetCanonical([]byte(headerAllowOrigin), origin)
	}

	SetHeader(ctx, "Access-Control-Allow-Methods", AllowedMethods)
	SetHeader(ctx, "Access-Control-Allow-Headers", allowedHeaders)
	SetHeader(ctx, "Access-Control-Max-Age", preflightAge)
	return true
}

// AllowAnyOrigin lets every origin read the answer of a free route.
func AllowAnyOrigin(ctx *fasthttp.RequestCtx) { SetHeader(ctx, headerAllowOrigin, "*") }
