package render

import (
	"fmt"
	"strconv"
	"time"
)

// Error is an answer that is not a 200: what the client is told, and what only
// the log is told.
type Error struct {
	Code    int
	Message string        // for the client; never empty
	Cause   error         // for the log; nil when the message says it all
	Retry   time.Duration // sent as Retry-After, at least 1 s; 0 sends none
	Quota   bool          // the monthly quota's 429: its body repeats the wait
	Close   bool          // close the connection: it is unclear where the next request begins
	Units   int64         // what it costs; no more than was reserved for a 200

	// Generations is the X-Generation header of an error that was computed from
	// data; empty for the others, which name what is published.
	Generations string
}

func (e *Error) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("%d %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%d %s: %v", e.Code, e.Message, e.Cause)
}

func (e *Error) Unwrap() error { return e.Cause }

// RetryAfter returns the wait in whole seconds, rounded up.
func (e *Error) RetryAfter() int64 { return int64((e.Retry + time.Second - 1) / time.Second) }

// AppendBody appends the JSON body of the answer.
func (e *Error) AppendBody(dst []byte) []byte {
	dst = append(dst, `{"error":`...)
	dst = String(dst, e.Message)
	if e.Quota {
		dst = append(dst, `,"retryAfterSec":`...)
		dst = strconv.AppendInt(dst, max(1, e.RetryAfter()), 10)
	}
	return append(dst, '}')
}

// BadRequest is the 400 of parameters that cannot be understood.
func BadRequest(cause error) *Error { return &Error{Code: 400, Message: cause.Error()} }

// Unauthorized is a 401: no valid key.
func Unauthorized(message string) *Error { return &Error{Code: 401, Message: message} }

// Forbidden is a 403: a valid key that must not be used from where it was.
func Forbidden(message string) *Error { return &Error{Code: 403, Message: message} }

// NoRoute is the 404 of a path that leads nowhere. It is free.
func NoRoute(message string) *Error { return &Error{Code: 404, Message: message} }

// absentUnits is what it costs to ask for what does not exist, on any route:
// the work of looking was done, and no more.
const absentUnits = 1

// Absent is the 404 of a position or pool that does not exist.
func Absent(generations, format string, args ...any) *Error {
	return &Error{
		Code: 404, Message: fmt.Sprintf(format, args...), Units: absentUnits, Generations: generations,
	}
}

// TooMany is the 429 of requests that come too fast.
func TooMany(message string, retry time.Duration) *Error {
	return &Error{Code: 429, Message: message, Retry: retry}
}

// OverQuota is the 429 of a month with too few units left.
func OverQuota(message string, retry time.Duration) *Error {
	return &Error{Code: 429, Message: message, Retry: retry, Quota: true}
}

// Unavailable is a 503 that a retry can cure.
func Unavailable(message string, retry time.Duration) *Error {
	return &Error{Code: 503, Message: message, Retry: retry}
}

// Internal is a 500. The cause goes to the log, under the request's id.
func Internal(cause error) *Error {
	const message = "internal error; the log has it under this X-Request-Id"
	return &Error{Code: 500, Message: message, Cause: cause}
}
