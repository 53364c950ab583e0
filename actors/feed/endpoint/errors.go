package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// Kind is what went wrong, as metrics and the caller's next step need it.
type Kind string

// The kinds of failures.
const (
	Limited      Kind = "rate_limit"   // asked too often
	Refused      Kind = "refused"      // answered with an error
	Unauthorized Kind = "unauthorized" // no access at all
	TimedOut     Kind = "timeout"      // no whole answer in time
	Unreachable  Kind = "unreachable"  // no connection, or it broke
	ServerError  Kind = "server_error" // a status of 5xx
	Malformed    Kind = "malformed"    // not an answer to what was asked
	Oversized    Kind = "oversized"    // larger than limits.go allows
	Absent       Kind = "absent"       // the answer is that there is none
	Inconsistent Kind = "inconsistent" // the answer contradicts another one
	WrongChain   Kind = "wrong_chain"  // the provider serves another chain
)

// Kinds lists every kind, for metrics.
var Kinds = []Kind{Limited, Refused, Unauthorized, TimedOut, Unreachable, ServerError, Malformed,
	Oversized, Absent, Inconsistent, WrongChain}

// Error is a failure of a request or of one call. Its text is scrubbed.
type Error struct {
	Kind       Kind
	Status     int    // of HTTP; 0: none came or 200
	Code       int    // of JSON-RPC; 0: none
	Text       string // of the provider, on one line
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	switch {
	case e.Text != "" && e.Status != 0:
		return fmt.Sprintf("status %d: %s", e.Status, e.Text)
	case e.Text != "":
		return e.Text
	case e.Status != 0:
		return fmt.Sprintf("status %d %s", e.Status, http.StatusText(e.Status))
	}
	return string(e.Kind)
}

// AsError returns the *Error in err. Any other error is taken as a malformed
// answer, since every failure to get one is an *Error already.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: Malformed, Text: err.Error()}
}

// KindOf returns the kind of an error, and none of nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	return AsError(err).Kind
}

// IsAnswer reports whether err is what a provider answered to a call, not the
// failure to get an answer.
func IsAnswer(err error) bool { return KindOf(err) == Refused }

// requestError makes an *Error of what a request failed with. x is what came back.
func (s scrub) requestError(err error, x *exchange) error {
	out := &Error{RetryAfter: x.retryAfter}
	var status *statusError
	var large *oversizedError
	switch {
	case errors.As(err, &status):
		s.describeStatus(out, status)
	case errors.As(err, &large):
		out.Kind, out.Text = Oversized, large.Error()
	case isTimeout(err):
		out.Kind, out.Text = TimedOut, "no answer in time"
	case isBroken(err):
		out.Kind, out.Text = Unreachable, reasonOf(err)
	default:
		out.Kind, out.Text = Malformed, s.oneLine(err.Error())
		out.Code, out.Text = refusalIn(x.head, out.Code, out.Text)
		if out.Code != 0 {
			out.Text = s.oneLine(out.Text)
			out.Kind = refusalKind(out)
		}
	}

	return out
}

// describeStatus reads an error page: many providers put a JSON-RPC error into
// its body, which says more than the status.
func (s scrub) describeStatus(out *Error, status *statusError) {
	out.Status = status.status
	code, text := refusalIn(status.body, 0, "")
	out.Code, out.Text = code, s.oneLine(text)

	switch got := status.status; {
	case got == http.StatusTooManyRequests:
		out.Kind = Limited
	case got >= http.StatusInternalServerError:
		out.Kind = ServerError
	case got == http.StatusUnauthorized, got == http.StatusForbidden && text == "",
		got < http.StatusBadRequest: // a redirect to another host
		out.Kind = Unauthorized
	default:
		out.Kind = refusalKind(out)
	}
}

// refusalIn finds a JSON-RPC error in a body: as an object, in an array, or as
// a bare message.
func refusalIn(body []byte, code int, text string) (int, string) {
	type answer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	var one answer
	var many []answer
	if json.Unmarshal(body, &many) == nil && len(many) > 0 {
		one = many[0]
	} else if json.Unmarshal(body, &one) != nil {
		return code, text
	}

	var inner refusal
	var bare string
	switch {
	case json.Unmarshal(one.Error, &inner) == nil && (inner.Code != 0 || inner.Message != ""):
		return inner.Code, inner.Message
	case json.Unmarshal(one.Error, &bare) == nil && bare != "":
		return code, bare
	case one.Message != "":
		return code, one.Message
	}

	return code, text
}

// callError makes an *Error of the error of one call of an answered request.
func (s scrub) callError(err error, x *exchange) error {
	if err == nil {
		return nil
	}
	var answered *refusal
	if errors.As(err, &answered) {
		out := &Error{
			Code: answered.Code, Text: s.oneLine(answered.Message), RetryAfter: x.retryAfter,
		}
		if out.Text == "" {
			out.Text = fmt.Sprintf("error %d", out.Code)
		}
		out.Kind = refusalKind(out)
		return out
	}

	return &Error{Kind: Malformed, Text: s.oneLine(err.Error())}
}

const errUnanswered = "the answer to a batch lacks this call"

// Words by which providers say that they were asked too often, and words that
// show that the same message is about one request.
var (
	rateWords = []string{
		"rate limit", "rate-limit", "ratelimit", "too many requests", "request limit",
		"request count", "quota", "capacity", "credits", "throttl", "compute units", "per second",
	}
	sizeWords = []string{
		"range", "block", "logs", "result", "size", "batch", "large", "narrow", "response",
	}
)

// JSON-RPC errors with a meaning of their own: the status of HTTP, used as a
// code; "limit exceeded", of the rate where nothing else is named; and a failure
// inside of the provider.
const (
	tooManyRequestsCode = http.StatusTooManyRequests
	limitExceededCode   = -32005
	internalErrorCode   = -32603
)

// refusalKind returns the kind of what was refused with a code and a text.
func refusalKind(e *Error) Kind {
	if soundsLimited(e) {
		return Limited
	}
	return Refused
}

// soundsLimited reports whether a refusal is of the rate. Messages about a
// range, a size or a batch are not, whatever else stands in them.
func soundsLimited(e *Error) bool {
	if e.Code == tooManyRequestsCode {
		return true
	}
	text := strings.ToLower(e.Text)
	if containsAny(text, sizeWords) {
		return false
	}
	return e.Code == limitExceededCode || containsAny(text, rateWords)
}

// passingWords are how providers say that a call failed for no fault of its own.
var passingWords = []string{
	"internal error", "temporar", "try again", "unavailable", "overloaded", "busy",
}

// passingAnswer reports whether a call of an answered request may well succeed
// the next time.
func passingAnswer(err error) bool {
	e := AsError(err)
	return e.Text == errUnanswered || e.Kind == Refused &&
		(e.Code == internalErrorCode || containsAny(strings.ToLower(e.Text), passingWords))
}

func containsAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

func isBroken(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) || errors.As(err, &dns) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET)
}

// reasonOf says why a connection failed without naming what it was to.
func reasonOf(err error) string {
	var dns *net.DNSError
	var errno syscall.Errno
	switch {
	case errors.As(err, &dns):
		return "the host is not known"
	case errors.As(err, &errno):
		return errno.Error()
	}
	return "the connection broke"
}
