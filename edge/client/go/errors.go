package tidemark

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// APIError is what every failed answer has in common. The types that embed it say
// which failure it is; errors.As finds either.
type APIError struct {
	Status     int           // of the answer
	Message    string        // in plain words; branch on the type instead
	RequestID  string        // under which the node's log has the request
	RetryAfter time.Duration // 0 when the answer does not say
}

func (e *APIError) Error() string { return fmt.Sprintf("tidemark: %d %s", e.Status, e.Message) }

// The failures, by status. All but the last three stand: asking again gives
// the same answer.
type (
	BadRequest   struct{ APIError } // 400: a parameter is malformed or not known
	Unauthorized struct{ APIError } // 401: the key is missing, unknown or revoked
	Forbidden    struct{ APIError } // 403: the key is valid, but not from here
	NotFound     struct{ APIError } // 404: no such position, pool or route
	QuotaSpent   struct{ APIError } // 429: the month's units are spent
	RateLimited  struct{ APIError } // 429: too many requests a second
	Unavailable  struct{ APIError } // 503: not now
	ServerError  struct{ APIError } // another 5xx: a fault of the service
)

// Unwrap lets errors.As find the part that all failures share.
func (e *BadRequest) Unwrap() error   { return &e.APIError }
func (e *Unauthorized) Unwrap() error { return &e.APIError }
func (e *Forbidden) Unwrap() error    { return &e.APIError }
func (e *NotFound) Unwrap() error     { return &e.APIError }
func (e *QuotaSpent) Unwrap() error   { return &e.APIError }
func (e *RateLimited) Unwrap() error  { return &e.APIError }
func (e *Unavailable) Unwrap() error  { return &e.APIError }
func (e *ServerError) Unwrap() error  { return &e.APIError }

// errorOf is the failure that an answer tells of.
func errorOf(answer *http.Response, body []byte) error {
	var told ErrorBody
	if json.Unmarshal(body, &told) != nil || told.Error == "" {
		told.Error = http.StatusText(answer.StatusCode) // not from the node: a proxy's page
	}
	e := APIError{
		Status: answer.StatusCode, Message: told.Error, RequestID: answer.Header.Get("X-Request-Id"),
	}
	if seconds, err := strconv.ParseInt(answer.Header.Get("Retry-After"), 10, 64); err == nil && seconds > 0 {
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
	case e.Status == http.StatusTooManyRequests && told.RetryAfterSec > 0:
		return &QuotaSpent{e} // only the quota's body repeats the wait
	case e.Status == http.StatusTooManyRequests:
		return &RateLimited{e}
	case e.Status == http.StatusServiceUnavailable:
		return &Unavailable{e}
	case e.Status >= http.StatusInternalServerError:
		return &ServerError{e}
	}
	return &e
}
