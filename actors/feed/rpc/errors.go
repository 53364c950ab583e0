package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	geth "github.com/ethereum/go-ethereum/rpc"
)

var (
	// errMoved is a chain that changed while it was read: nothing is wrong
	// with the node, but what was read is not one picture.
	errMoved    = errors.New("the chain changed while it was read")
	errNotThere = errors.New("the node does not have it")
	errTooMuch  = errors.New("the node refuses to answer that much at once")
	errTooLarge = fmt.Errorf("answer is larger than %d bytes", maxBody)
)

// joined is the errors of several URLs on one line.
type joined []error

func (j joined) Unwrap() []error { return j }

func (j joined) Error() string {
	text := make([]string, len(j))
	for i, err := range j {
		text[i] = err.Error()
	}
	return strings.Join(text, "; ")
}

// refusesBatch reports whether a node may answer the same calls in smaller
// batches: it knows none (and answered with a single object), or not so many.
func refusesBatch(err error) bool {
	var shape *json.UnmarshalTypeError
	var status geth.HTTPError
	return errors.As(err, &shape) ||
		errors.As(err, &status) && status.StatusCode >= 400 && status.StatusCode < 500 &&
			status.StatusCode != http.StatusTooManyRequests &&
			status.StatusCode != http.StatusUnauthorized &&
			status.StatusCode != http.StatusForbidden
}

// plain returns err without what may hold a secret: the URL, and the body of
// an error page.
func plain(err error) error {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		return inURL.Err
	}
	var status geth.HTTPError
	if errors.As(err, &status) {
		status.Body = nil
		return status
	}
	return err
}

// callError returns the error of a call, if any, with the name of its method.
func callError(c *geth.BatchElem) error {
	if c.Error == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", c.Method, short{c.Error})
}

// firstError returns the first error of any of the calls.
func firstError(calls []geth.BatchElem) error {
	for i := range calls {
		if err := callError(&calls[i]); err != nil {
			return err
		}
	}
	return nil
}

// maxMessage is how much of a node's message is kept.
const maxMessage = 300

// short is an error whose text, which a node chose, is cut and on one line.
type short struct{ error }

func (s short) Error() string {
	text := strings.Join(strings.Fields(s.error.Error()), " ")
	return fmt.Sprintf("%.*s", maxMessage, text)
}

func (s short) Unwrap() error { return s.error }

// isLimit reports whether a node answered that it was asked too often.
func isLimit(err error) bool {
	var status geth.HTTPError
	if errors.As(err, &status) && status.StatusCode == http.StatusTooManyRequests {
		return true
	}
	var answered geth.Error
	if !errors.As(err, &answered) {
		return false
	}
	text := strings.ToLower(answered.Error())
	for _, sign := range []string{
		"rate limit", "too many requests", "request limit", "request count", "quota",
		"capacity", "credits", "throttl", "compute units", "per second",
	} {
		if strings.Contains(text, sign) {
			return true
		}
	}
	return false
}

// isTooMuch reports whether fewer blocks may be answered where these were not:
// any refusal of the call itself, unless it is of the caller; an answer too
// large to send; or no answer in time.
func isTooMuch(err error) bool {
	var answered geth.Error
	var status geth.HTTPError
	return errors.As(err, &answered) && !isLimit(err) ||
		errors.As(err, &status) && status.StatusCode == http.StatusRequestEntityTooLarge ||
		errors.Is(err, errTooLarge) || errors.Is(err, context.DeadlineExceeded)
}

// isAnswer reports whether err is what a node answered to a call, not the
// failure to get an answer.
func isAnswer(err error) bool {
	var answered geth.Error
	return errors.As(err, &answered)
}

func isNotThere(err error) bool { return errors.Is(err, errNotThere) }
