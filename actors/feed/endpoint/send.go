package endpoint

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

// exchange is what is kept of one HTTP answer beside its calls' results.
type exchange struct {
	retryAfter time.Duration
	head       []byte
}

type exchangeKey struct{}

// roundTripper ends answers that are too large and keeps what the client above
// does not hand on.
type roundTripper struct {
	http.RoundTripper
	clock Clock
}

func (t *roundTripper) CloseIdleConnections() {
	if own, ok := t.RoundTripper.(*http.Transport); ok {
		own.CloseIdleConnections()
	}
}

func (t *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	x := r.Context().Value(exchangeKey{}).(*exchange)
	x.retryAfter = retryAfter(resp.Header.Get("Retry-After"), t.clock.Now())
	resp.Body = &body{ReadCloser: resp.Body, left: maxBody, x: x}
	return resp, nil
}

// maxRedirects is how many redirects are followed: one to https and one to another path.
const maxRedirects = 3

// SameHost is the CheckRedirect of a client whose addresses hold keys. Redirects within a host
// are followed, unless they leave TLS. One to another would tell that host the address, in the
// Referer header, and could have this machine ask hosts that only it can reach; it is the
// answer itself.
func SameHost(next *http.Request, via []*http.Request) error {
	plain := via[0].URL.Scheme == "https" && next.URL.Scheme != "https"
	if plain || next.URL.Hostname() != via[0].URL.Hostname() || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// retryAfter reads the header: seconds or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if s, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(s)*time.Second, maxRetryAfter)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

type body struct {
	io.ReadCloser
	left int
	x    *exchange
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	b.x.head = append(b.x.head, p[:min(n, maxHead-len(b.x.head))]...)
	if b.left -= n; b.left < 0 {
		return 0, errOversized
	}
	return n, err
}

const (
	// attempts is how often a request that fails in passing is sent before the
	// endpoint counts as failed; one that failed lately is tried once.
	attempts = 3
	// betweenAttempts is the pause before the second; it doubles.
	betweenAttempts = 100 * time.Millisecond
)

// send sends one request and tries again what fails in passing. The error is
// of the request; those of calls are in their elements.
func (e *Endpoint) send(ctx context.Context, calls []Call) error {
	tries := 1
	if e.healthy() {
		tries = attempts
	}

	var err error
	for i := range tries {
		if i > 0 {
			if err := e.clock.Sleep(ctx, betweenAttempts<<(i-1)); err != nil {
				return err
			}
		}
		if err = e.sendOnce(ctx, calls); err == nil || ctx.Err() != nil || !maySucceedLater(err) {
			return err
		}
	}

	return err
}

// maySucceedLater reports whether the same request may well succeed the next time.
func maySucceedLater(err error) bool {
	switch e := AsError(err); e.Kind {
	case TimedOut, Unreachable:
		return true
	case Malformed:
		return e.Text != errNotBatch
	case ServerError:
		return e.Status != http.StatusNotImplemented
	}
	return false
}

const errNotBatch = "a batch was answered with a single object"

func (e *Endpoint) sendOnce(ctx context.Context, calls []Call) error {
	if err := e.pace.wait(ctx, e.clock, calls); err != nil {
		return err
	}
	e.requests.Add(len(calls))

	x := new(exchange)
	limited, cancel := context.WithTimeout(context.WithValue(ctx, exchangeKey{}, x), e.deadline.get())
	defer cancel()
	started := time.Now()
	err := e.post(limited, calls)
	if ctx.Err() != nil {
		return ctx.Err()
	}

	if err != nil {
		err = e.scrub.requestError(err, x)
		if KindOf(err) == TimedOut {
			e.deadline.passed()
		}
		if len(calls) > 1 && len(x.head) > 0 && x.head[0] == '{' && KindOf(err) == Malformed {
			return &Error{Kind: Malformed, Text: errNotBatch}
		}
		return err
	}
	e.deadline.answered(time.Since(started))
	for i := range calls {
		calls[i].Error = e.scrub.callError(calls[i].Error, x)
	}
	return nil
}

// statusError is an HTTP answer without success, with the beginning of its body.
type statusError struct {
	status int
	body   []byte
}

func (e *statusError) Error() string { return http.StatusText(e.status) }

func (e *Endpoint) newRequest(ctx context.Context, calls []Call) (*http.Request, error) {
	body, err := encodeRequest(calls)
	if err != nil {
		return nil, err
	}
	return http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
}

// post sends one request and reads the answers into the calls.
func (e *Endpoint) post(ctx context.Context, calls []Call) error {
	req, err := e.newRequest(ctx, calls)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := e.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()

	if resp.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxHead))
		return &statusError{resp.StatusCode, text}
	}
	if n := resp.ContentLength; n > maxBody {
		return oversized("answer has %d bytes; cannot exceed %d", n, maxBody)
	}
	if err := decodeInTurn(resp.Body, &e.room, calls); err != nil {
		return err
	}
	_, _ = io.CopyN(io.Discard, resp.Body, maxHead) // to its end, so that the connection is used again
	return nil
}
