package render

import (
	"fmt"
	"strconv"
	"time"

	"tidemark/rankings/market"
)

// Error is an answer other than 200: a message for the client and a cause for the
// log.
type Error struct {
	Code    int
	Message string        // for the client; never empty
	Cause   error         // for the log; nil if the message is complete
	Retry   time.Duration // sent as Retry-After, rounded up to seconds; 0 sends none
	Quota   bool          // the 429 of a monthly quota, whose body repeats the wait
	Close   bool          // close the connection: the start of the next request is unclear
	Units   int64         // price of the answer; at most what was reserved for a 200
	Untaken bool          // the request gets its burst token back: no work was begun

	// Generations is the X-Generation header of an error that was computed from
	// data. If it is empty, the header names the published generations.
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

// BadRequest is the 400 for parameters that are not valid.
func BadRequest(cause error) *Error { return &Error{Code: 400, Message: cause.Error()} }

// Unauthorized is the 401 for a request without a valid key.
func Unauthorized(message string) *Error { return &Error{Code: 401, Message: message} }

// Forbidden is the 403 for a valid key that may not be used from this origin.
func Forbidden(message string) *Error { return &Error{Code: 403, Message: message} }

// NoRoute is the 404 for a path without a route. It is free.
func NoRoute(message string) *Error { return &Error{Code: 404, Message: message} }

// absentUnits is the price of a 404 for a position or pool, on any route: only the
// lookup was done.
const absentUnits = 1

// Absent is the 404 for a position or pool that does not exist.
func Absent(generations, format string, args ...any) *Error {
	return &Error{
		Code: 404, Message: fmt.Sprintf(format, args...), Units: absentUnits, Generations: generations,
	}
}

// AbsentToken is the 404 for a token that no pool of a chain has. It is free.
func AbsentToken(generations string, chain market.ChainID) *Error {
	return &Error{
		Code: 404, Message: fmt.Sprintf("no such token on chain %d", chain), Generations: generations,
	}
}

// TooMany is the 429 for exceeding the burst rate limit.
func TooMany(message string, retry time.Duration) *Error {
	return &Error{Code: 429, Message: message, Retry: retry}
}

// OverQuota is the 429 for a month with too few units left.
func OverQuota(message string, retry time.Duration) *Error {
	return &Error{Code: 429, Message: message, Retry: retry, Quota: true}
}

// Unavailable is a 503; a retry can succeed.
func Unavailable(message string, retry time.Duration) *Error {
	return &Error{Code: 503, Message: message, Retry: retry}
}

// Busy is the 503 for work that was not begun. It costs no units and no burst token.
func Busy(message string, retry time.Duration) *Error {
	return &Error{Code: 503, Message: message, Retry: retry, Untaken: true}
}

// Internal is a 500. The cause is logged with the request's id.
func Internal(cause error) *Error {
	const message = "internal error; the log has it under this X-Request-Id"
	return &Error{Code: 500, Message: message, Cause: cause}
}
