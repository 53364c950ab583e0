package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// Call is one JSON-RPC call. Result is a Stream or what encoding/json fills; a
// null answer leaves one that is a pointer to a pointer nil.
type Call struct {
	Method string
	Args   []any
	Result any
	Error  error // after it
}

// Config says where an endpoint is and what may be asked of it. Zero values
// are the defaults.
type Config struct {
	Name string // in logs and metrics, instead of the URL
	URL  string // http or https

	RequestsPerSecond     float64       // calls, each of a batch counted; 0: no limit
	ComputeUnitsPerSecond float64       // 0: no limit
	Timeout               time.Duration // the longest that a request may take; 0: 20 s

	Clock     Clock
	Transport http.RoundTripper // nil: connections of its own
	Requests  *metrics.Counter  // counts calls sent; nil: not counted
}

const (
	defaultTimeout = 20 * time.Second
	// maxIdle is how many connections are kept open: those of AskAtOnce, of sixteen
	// ranges and of what they need. With fewer, an answer would cost a handshake.
	maxIdle = mostInFlight + 32
	// readBuffer is what is read of an answer at once, of several MB where logs are
	// dense.
	readBuffer = 64 << 10
)

func ownTransport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost, t.ReadBufferSize = maxIdle, readBuffer
	t.MaxResponseHeaderBytes = maxHeaders
	return t
}

// Endpoint is one URL. It may be used by several goroutines.
type Endpoint struct {
	Name string

	url      string
	http     *http.Client
	clock    Clock
	scrub    scrub
	requests *metrics.Counter

	pace     *pace
	batch    batch
	inFlight inFlight
	room     room // of its answers
	deadline deadline
	rest     rest
}

// New makes an endpoint. It asks nothing yet.
func New(c Config) (*Endpoint, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("is not an http or https URL")
	}
	if c.RequestsPerSecond < 0 || c.ComputeUnitsPerSecond < 0 {
		return nil, fmt.Errorf("cannot be limited to %g requests and %g compute units a second",
			c.RequestsPerSecond, c.ComputeUnitsPerSecond)
	}

	e := &Endpoint{
		Name: c.Name, url: c.URL, clock: c.Clock.OrSystem(), scrub: newScrub(u),
		requests: cmp.Or(c.Requests, new(metrics.Counter)),
		pace:     newPace(c.RequestsPerSecond, c.ComputeUnitsPerSecond), batch: newBatch(),
		deadline: newDeadline(cmp.Or(c.Timeout, defaultTimeout)),
		room:     room{name: "one endpoint", most: endpointRoom, of: &shared},
	}
	if c.Transport == nil {
		c.Transport = ownTransport()
	}
	e.http = &http.Client{
		Transport: &roundTripper{c.Transport, e.clock}, CheckRedirect: SameHost,
	}
	return e, nil
}

// Close frees the connections.
func (e *Endpoint) Close() { e.http.CloseIdleConnections() }

// Call sends one call. A null answer leaves result, a pointer to a pointer, nil.
func (e *Endpoint) Call(ctx context.Context, result any, method string, args ...any) error {
	calls := []Call{{Method: method, Args: args, Result: result}}
	if err := e.Ask(ctx, calls); err != nil {
		return err
	}
	return FirstError(calls)
}

// FirstError returns the first error of any of the calls, with its method.
func FirstError(calls []Call) error {
	for i := range calls {
		if err := CallError(&calls[i]); err != nil {
			return err
		}
	}
	return nil
}

// CallError returns the error of a call, if any, with its method.
func CallError(c *Call) error {
	if c.Error == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", c.Method, c.Error)
}

// maxLimitedPause is the longest that Ask itself waits for a rate limit. When
// a provider asks for more, the caller may have another one.
const maxLimitedPause = 5 * time.Second

// Ask sends calls, as many in one request as the provider takes. The error is
// of a request that could not be made to succeed; those of single calls stay in
// their elements. Calls that the provider put off are sent again as long as
// some are answered; what was answered is kept.
func (e *Endpoint) Ask(ctx context.Context, calls []Call) error {
	pending := make([]int, len(calls))
	for i := range calls {
		pending[i] = i
	}
	stalled, progress := 0, false // requests in a row without any answer
	again := attempts - 1

	for len(pending) > 0 {
		part := e.takeCalls(calls, pending)
		err := e.askPart(ctx, part)
		if err != nil && KindOf(err) != Limited {
			return err
		}

		left := slices.Clone(pending[len(part):])
		putOff, failed := 0, 0
		for k, i := range pending[:len(part)] {
			calls[i].Error = part[k].Error
			switch {
			case err != nil || part[k].Error != nil && KindOf(part[k].Error) == Limited:
				putOff++
			case part[k].Error != nil && passingAnswer(part[k].Error) && again > 0 && e.healthy():
				failed++
			default:
				continue
			}
			left = append(left, i)
		}
		pending = left

		if stalled++; putOff+failed < len(part) {
			stalled, progress = 0, true
		}
		if failed > 0 {
			again--
		}
		if putOff > 0 {
			if err := e.backOff(ctx, part, err, stalled, progress); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeCalls copies the next calls that fit into one request.
func (e *Endpoint) takeCalls(calls []Call, pending []int) []Call {
	part := make([]Call, 0, min(e.batch.get(), len(pending)))
	for _, i := range pending[:cap(part)] {
		part = append(part, Call{Method: calls[i].Method, Args: calls[i].Args, Result: calls[i].Result})
	}
	return part[:e.pace.callsThatFit(part)]
}

const (
	// maxStalled is how many refusals in a row of single calls end an Ask that
	// has had answers before: what those were worth would be lost.
	maxStalled = 6
	// firstStalled is how many end one that had none, at an endpoint that has not
	// failed lately.
	firstStalled = 3
)

// backOff slows down after a rate limit and waits. It gives up where nothing of a
// single call gets through or the provider wants a long pause.
func (e *Endpoint) backOff(
	ctx context.Context, part []Call, err error, stalled int, progress bool,
) error {
	limit := err
	for i := range part {
		if limit == nil && part[i].Error != nil && KindOf(part[i].Error) == Limited {
			limit = part[i].Error
		}
	}
	e.pace.refused(e.clock.Now())

	pause := max(AsError(limit).RetryAfter, firstPause<<min(stalled, 3)/2)
	patience := 0
	switch {
	case progress:
		patience = maxStalled
	case e.healthy():
		patience = firstStalled
	}
	if pause > maxLimitedPause || len(part) == 1 && stalled > patience {
		return limit
	}
	if err != nil || stalled > 0 {
		e.batch.shrink()
	}
	return e.clock.Sleep(ctx, pause)
}

// askPart sends one request, in smaller parts where the provider refuses the
// batch and not the calls.
func (e *Endpoint) askPart(ctx context.Context, part []Call) error {
	err := e.send(ctx, part)
	if len(part) == 1 || ctx.Err() != nil {
		return err
	}
	if !mayRefuseBatch(part, err) {
		if err == nil {
			e.batch.answered(len(part))
		}
		return err
	}

	// One of them alone tells whether it was the batch.
	alone := []Call{{Method: part[0].Method, Args: part[0].Args, Result: part[0].Result}}
	aloneErr := e.send(ctx, alone)
	if aloneErr != nil {
		return aloneErr
	}
	if err == nil && alone[0].Error != nil && sameRefusal(alone[0].Error, part[0].Error) {
		e.batch.answered(len(part))
		return nil
	}
	e.batch.refused(len(part))
	part[0].Error = alone[0].Error
	for rest := part[1:]; len(rest) > 0; {
		k := min(e.batch.get(), len(rest))
		if err := e.askPart(ctx, rest[:k]); err != nil {
			return err
		}
		rest = rest[k:]
	}
	return nil
}

// mayRefuseBatch reports whether the same calls may be answered in a smaller
// batch: the request was refused or not understood as a whole, or every call
// has the same error.
func mayRefuseBatch(part []Call, err error) bool {
	if err != nil {
		switch e := AsError(err); e.Kind {
		case Refused, Unauthorized, Malformed, Oversized, TimedOut:
			return true
		case ServerError:
			return e.Status == http.StatusInternalServerError
		}
		return false
	}

	for i := range part {
		if part[i].Error == nil || !sameRefusal(part[i].Error, part[0].Error) {
			return false
		}
	}

	return KindOf(part[0].Error) != Limited
}

func sameRefusal(a, b error) bool {
	x, y := AsError(a), AsError(b)
	return x.Kind == y.Kind && x.Code == y.Code && x.Text == y.Text
}
