package edge

import (
	"fmt"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
)

// Error is an answer that is not a 200: what the client is told, and what
// only the log is.
type Error struct {
	Code    int
	Message string        // for the client; never empty
	Cause   error         // for the log; nil when the message says it all
	Retry   time.Duration // sent as Retry-After, at least 1 s; 0 sends none
	Quota   bool          // the monthly quota's 429: its body repeats the wait
	Close   bool          // the connection cannot go on: where the next request begins is unsure
	Charged bool          // the answer costs units: it says that something is not there
}

func (e *Error) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("%d %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%d %s: %v", e.Code, e.Message, e.Cause)
}

func (e *Error) Unwrap() error { return e.Cause }

// RetryAfter returns the whole seconds of the wait, rounded up.
func (e *Error) RetryAfter() int64 { return int64((e.Retry + time.Second - 1) / time.Second) }

// AppendBody appends the JSON body of the answer.
func (e *Error) AppendBody(dst []byte) []byte {
	dst = append(dst, `{"error":`...)
	dst = render.String(dst, e.Message)
	if e.Quota {
		dst = append(dst, `,"retryAfterSec":`...)
		dst = strconv.AppendInt(dst, max(1, e.RetryAfter()), 10)
	}
	return append(dst, '}')
}

// unauthorized is a 401: no key, or none that counts.
func unauthorized(message string) *Error {
	return &Error{Code: fasthttp.StatusUnauthorized, Message: message}
}

// forbidden is a 403: a key that counts, used from where it must not be.
func forbidden(message string) *Error {
	return &Error{Code: fasthttp.StatusForbidden, Message: message}
}

// notFound is a 404.
func notFound(message string) *Error {
	return &Error{Code: fasthttp.StatusNotFound, Message: message}
}

// absent is the 404 of a position or pool that does not exist: the work of
// looking was done.
func absent(format string, args ...any) *Error {
	return &Error{
		Code: fasthttp.StatusNotFound, Message: fmt.Sprintf(format, args...), Charged: true,
	}
}

// tooMany is a 429 for requests that come too fast.
func tooMany(message string, retry time.Duration) *Error {
	return &Error{Code: fasthttp.StatusTooManyRequests, Message: message, Retry: retry}
}

// overQuota is a 429 for a month whose units are used up.
func overQuota(message string, retry time.Duration) *Error {
	return &Error{
		Code: fasthttp.StatusTooManyRequests, Message: message, Retry: retry, Quota: true,
	}
}

// unavailable is a 503 that a retry can cure.
func unavailable(message string, retry time.Duration) *Error {
	return &Error{Code: fasthttp.StatusServiceUnavailable, Message: message, Retry: retry}
}

// internal is a 500: our fault, told to the log and to the client only by
// the request's id.
func internal(cause error) *Error {
	const message = "internal error; the log has it under this X-Request-Id"
	return &Error{Code: fasthttp.StatusInternalServerError, Message: message, Cause: cause}
}
