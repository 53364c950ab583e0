package tidemark

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// APIError has what every failed answer has in common. The types that embed it
// tell which failure it is; errors.As finds either.
type APIError struct {
	Status     int           // of the answer
	Message    string        // for people; branch on the type or the status
	RequestID  string        // the id of the request in the node's log
	RetryAfter time.Duration // 0 when the answer has no Retry-After
}

func (e *APIError) Error() string { return fmt.Sprintf("tidemark: %d %s", e.Status, e.Message) }

// The failures, by status. Only the last three are worth a retry soon.
type (
	BadRequest   struct{ APIError } // 400: a parameter is malformed or unknown
	Unauthorized struct{ APIError } // 401: the key is missing, unknown or revoked
	Forbidden    struct{ APIError } // 403: the key must not be used from this origin
	NotFound     struct{ APIError } // 404: no such position, pool or route
	Gone         struct{ APIError } // 410: the named generations are not kept any more
	QuotaSpent   struct{ APIError } // 429: the month's units are used up
	RateLimited  struct{ APIError } // 429: too many requests per second
	Unavailable  struct{ APIError } // 503: temporarily unavailable
	ServerError  struct{ APIError } // another 5xx: a fault of the service
)

// Unwrap lets errors.As find the embedded APIError.
func (e *BadRequest) Unwrap() error   { return &e.APIError }
func (e *Unauthorized) Unwrap() error { return &e.APIError }
func (e *Forbidden) Unwrap() error    { return &e.APIError }
func (e *NotFound) Unwrap() error     { return &e.APIError }
func (e *Gone) Unwrap() error         { return &e.APIError }
func (e *QuotaSpent) Unwrap() error   { return &e.APIError }
func (e *RateLimited) Unwrap() error  { return &e.APIError }
func (e *Unavailable) Unwrap() error  { return &e.APIError }
func (e *ServerError) Unwrap() error  { return &e.APIError }

// newError returns the failure that an answer describes.
func newError(answer *http.Response, body []byte) error {
	var told ErrorBody
	if json.Unmarshal(body, &told) != nil || told.Error == "" {
		told.Error = http.StatusText(answer.StatusCode) // a proxy answered, not the node
	}

	e := APIError{
		Status: answer.StatusCode, Message: told.Error, RequestID: answer.Header.Get("X-Request-Id"),
	}
	seconds, err := strconv.ParseInt(answer.Header.Get("Retry-After"), 10, 64)
	if err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}

	switch {
	case e.Status == http.StatusBadRequest:
		return &BadRequest{e}
	case e.Status == http.StatusUnauthorized:
		return &Unauthorized{e}
	case e.Status == http.StatusForbidden:
		return &Forbidden{e}
	case e.Status == http.StatusNotFound:
		return &NotFound{e}
	case e.Status == http.StatusGone:
		return &Gone{e}
	case e.Status == http.StatusTooManyRequests && told.RetryAfterSec > 0:
		return &QuotaSpent{e} // only its body has retryAfterSec
	case e.Status == http.StatusTooManyRequests:
		return &RateLimited{e}
	case e.Status == http.StatusServiceUnavailable:
		return &Unavailable{e}
	case e.Status >= http.StatusInternalServerError:
		return &ServerError{e}
	}
	return &e
}
