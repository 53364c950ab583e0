package gate

import (
	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

// The headers of CORS that are read or written in more than one place.
const (
	headerOrigin      = "Origin"
	headerAllowOrigin = "Access-Control-Allow-Origin"
)

const (
	// AllowedMethods are the methods of every route but those with long answers.
	AllowedMethods = "GET, HEAD, OPTIONS"
	// LongMethods are the methods of routes with long answers.
	LongMethods = "GET, OPTIONS"

	allowedHeaders = HeaderKey + ", " + HeaderRequestID + ", " + HeaderLastEvent
	// preflightAge is how many seconds a browser may cache a preflight answer.
	// A revocation must take effect within a minute, so it is at most that.
	preflightAge = "60"

	// exposedHeaders are the response headers that scripts may read.
	exposedHeaders = "X-Units-Charged, X-Quota-Limit, X-Quota-Remaining, X-Quota-Reset, " +
		"RateLimit-Policy, RateLimit, " + HeaderGeneration + ", " + HeaderRequestID + ", Retry-After"
)

// The 403s of a valid key that is used from the wrong origin.
var (
	errServerOrigin = render.Forbidden(
		"this is a server key; requests with an Origin header are refused")
	errMissingOrigin = render.Forbidden("this is a browser key; it needs an Origin header")
	errOtherOrigin   = render.Forbidden("this browser key is not allowed from that origin")
)

// checkOrigin checks a valid key against the Origin header. An allowed origin
// may read the answer, errors included; credentials are never allowed.
func checkOrigin(ctx *fasthttp.RequestCtx, key *accounts.Key) *render.Error {
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
// A preflight needs no key, costs no units and takes no burst token. On a
// metered route an origin is allowed when some active browser key lists it; on
// the other routes every origin is allowed.
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
			return true // a 204 without permission
		}
		ctx.Response.Header.SetCanonical([]byte(headerAllowOrigin), origin)
	}

	SetHeader(ctx, "Access-Control-Allow-Methods", AllowedMethods)
	SetHeader(ctx, "Access-Control-Allow-Headers", allowedHeaders)
	SetHeader(ctx, "Access-Control-Max-Age", preflightAge)
	return true
}

// AllowAnyOrigin lets scripts of every origin read the answer.
func AllowAnyOrigin(ctx *fasthttp.RequestCtx) { SetHeader(ctx, headerAllowOrigin, "*") }
