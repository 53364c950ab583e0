package edge

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
	"tidemark/edge/render"
)

// The answers to malformed HTTP. Each closes the connection, since it is unclear
// where the next request begins.
var (
	errVersion = refusal(fasthttp.StatusHTTPVersionNotSupported,
		"unsupported HTTP version; supported are HTTP/1.1 and HTTP/1.0")
	errPlain = refusal(fasthttp.StatusBadRequest,
		"the request came without TLS; this address takes https only")
	errBareLF = refusal(fasthttp.StatusBadRequest,
		"a line of the request head does not end in CRLF")
	errBlankLines = refusal(fasthttp.StatusBadRequest,
		"more than one empty line before the request line")
	errFolded = refusal(fasthttp.StatusBadRequest,
		"a header is continued on the next line; that is not supported")
	errSpaceInName = refusal(fasthttp.StatusBadRequest, "a header name contains a space")
	errTwoLengths  = refusal(fasthttp.StatusBadRequest,
		"Content-Length and Transfer-Encoding are both given")
	errEncoding = refusal(fasthttp.StatusBadRequest,
		"unsupported Transfer-Encoding; supported is chunked")
	errChunkOverhead = refusal(fasthttp.StatusBadRequest,
		fmt.Sprintf("the chunked body is too large; with its chunk headers it cannot exceed %d bytes",
			maxBodyBytes))
	errBody   = refusal(fasthttp.StatusBadRequest, "requests with this method must have no body")
	errTarget = refusal(fasthttp.StatusBadRequest,
		"the request target is neither a path nor an http or https URL")
	errLongTarget = refusal(fasthttp.StatusRequestURITooLong, fmt.Sprintf(
		"the request target is too long; it cannot exceed %d bytes", maxTarget))
	errHost = refusal(fasthttp.StatusBadRequest,
		"the host in the request target differs from the Host header")
	errNoHost = refusal(fasthttp.StatusBadRequest,
		"a request of HTTP/1.1 needs one Host header, and it must not be empty")
	errExpect = refusal(fasthttp.StatusExpectationFailed,
		"Expect: 100-continue is not supported; no route reads a body")
	errHeadTooLarge = refusal(fasthttp.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf(
		"the request headers are too large; request line and headers cannot exceed %d bytes", maxHead))
	errManyHeaders = refusal(fasthttp.StatusRequestHeaderFieldsTooLarge, fmt.Sprintf(
		"a request with a body cannot have more than %d headers", maxBodyHeaders))
	errBodyTooLarge = refusal(fasthttp.StatusRequestEntityTooLarge, fmt.Sprintf(
		"the request body is too large; it cannot exceed %d bytes", maxBody))
	errTimeout = refusal(fasthttp.StatusRequestTimeout, "the request did not arrive in time")
	errNotHTTP = refusal(fasthttp.StatusBadRequest, "the request is not well-formed HTTP")
)

// errMethod is the 405. The Allow header lists the same methods.
func errMethod(allowed string) *render.Error {
	return &render.Error{
		Code: fasthttp.StatusMethodNotAllowed, Message: "method not allowed; allowed are " + allowed,
	}
}

// errTwoEvents is the error for a stream that is to go on after two events.
var errTwoEvents = errors.New("more than one " + gate.HeaderLastEvent + " header is given")

func refusal(code int, message string) *render.Error {
	return &render.Error{Code: code, Message: message, Close: true}
}

// errorOfParse returns the answer to a request that fasthttp could not parse.
func errorOfParse(err error) *render.Error {
	var told *render.Error // from the framer
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.As(err, &told):
		return told
	case errors.As(err, &small):
		return errHeadTooLarge
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return errBodyTooLarge
	case errors.As(err, &network) && network.Timeout():
		return errTimeout
	case strings.Contains(err.Error(), "host header"): // fasthttp has no exported error
		return errNoHost
	}

	return errNotHTTP
}

// sendError sends the status, headers and body of an error.
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
