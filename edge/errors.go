package edge

import (
	"errors"
	"fmt"
	"net"

	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
	"tidemark/edge/render"
)

// The answers to what is not well-formed HTTP. Each closes the connection:
// it is unclear where the next request begins.
var (
	errVersion = malformed(fasthttp.StatusHTTPVersionNotSupported,
		"HTTP/1.1 or HTTP/1.0 is served")
	errBareLF     = malformed(fasthttp.StatusBadRequest, "a line of the request's head does not end in CRLF")
	errBlankLines = malformed(fasthttp.StatusBadRequest,
		"more than one empty line stands before the request line")
	errFolded = malformed(fasthttp.StatusBadRequest, "a header is folded over several lines")
	errSpace  = malformed(fasthttp.StatusBadRequest, "a header's name has a space")
	errFrame  = malformed(fasthttp.StatusBadRequest,
		"Content-Length and Transfer-Encoding are both given")
	errEncoding = malformed(fasthttp.StatusBadRequest,
		"the only Transfer-Encoding that is read is chunked")
	errChunks = malformed(fasthttp.StatusBadRequest,
		"the request's body has more around its chunks than in them")
	errBody   = malformed(fasthttp.StatusBadRequest, "a request with this method has no body")
	errTarget = malformed(fasthttp.StatusBadRequest,
		"the request target is neither a path nor an http or https URL")
	errLongTarget = malformed(fasthttp.StatusRequestURITooLong, fmt.Sprintf(
		"the request target is too long; it cannot exceed %d bytes", maxTarget))
	errHost = malformed(fasthttp.StatusBadRequest,
		"the request target names another host than Host does")
	errExpect = malformed(fasthttp.StatusExpectationFailed, "no request here has a body to expect")
	errHead   = malformed(fasthttp.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf(
		"the request's headers are too large; line and headers cannot exceed %d bytes", maxHead))
	errLarge = malformed(fasthttp.StatusRequestEntityTooLarge, fmt.Sprintf(
		"the request's body is too large; it cannot exceed %d bytes", maxBody))
	errSlow = malformed(fasthttp.StatusRequestTimeout, "the request did not arrive in time")
	errHTTP = malformed(fasthttp.StatusBadRequest, "the request is not well-formed HTTP")
)

// errMethod is the 405; its Allow header says the same.
var errMethod = &render.Error{
	Code:    fasthttp.StatusMethodNotAllowed,
	Message: "method not allowed; allowed are " + gate.AllowedMethods,
}

func malformed(code int, message string) *render.Error {
	return &render.Error{Code: code, Message: message, Close: true}
}

// parseError is the answer to what fasthttp could not read as a request.
func parseError(err error) *render.Error {
	var told *render.Error // by the framer
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.As(err, &told):
		return told
	case errors.As(err, &small):
		return errHead
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return errLarge
	case errors.As(err, &network) && network.Timeout():
		return errSlow
	}

	return errHTTP
}

// sendError sends an error's status, headers and body.
func sendError(ctx *fasthttp.RequestCtx, e *render.Error) {
	ctx.SetStatusCode(e.Code)
	ctx.SetContentType(contentJSON)
	if e.Code == fasthttp.StatusTooManyRequests || e.Retry > 0 {
		seconds := fasthttp.AppendUint(nil, int(max(1, e.RetryAfter())))
		ctx.Response.Header.SetCanonical([]byte("Retry-After"), seconds)
	}
	if e.Close {
		ctx.SetConnectionClose()
	}
	ctx.SetBody(e.AppendBody(nil))
}
