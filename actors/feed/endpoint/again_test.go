package endpoint

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"
)

// What may succeed the next time is asked again, and nothing else.
func TestAskedAgain(t *testing.T) {
	f := func(e Error, request, answer bool) {
		t.Helper()
		if got := maySucceedLater(&e); got != request {
			t.Errorf("a request that failed with %+v may succeed later: %v; want %v", e, got, request)
		}
		if got := passingAnswer(&e); got != answer {
			t.Errorf("a call that failed with %+v may succeed later: %v; want %v", e, got, answer)
		}
	}

	f(Error{Kind: TimedOut}, true, false)
	f(Error{Kind: Unreachable}, true, false)
	f(Error{Kind: Malformed, Text: "no JSON"}, true, false)
	f(Error{Kind: Malformed, Text: errNotBatch}, false, false)
	f(Error{Kind: ServerError, Status: http.StatusBadGateway}, true, false)
	f(Error{Kind: ServerError, Status: http.StatusNotImplemented}, false, false)
	f(Error{Kind: Refused, Code: internalErrorCode}, false, true)
	f(Error{Kind: Refused, Code: 3, Text: "execution reverted"}, false, false)
	f(Error{Kind: Refused, Code: 3, Text: "Please " + passingWords[0]}, false, true)
	f(Error{Kind: TimedOut, Code: internalErrorCode}, true, false)
	f(Error{Kind: Refused, Text: errUnanswered}, false, true)
}

// An answer's id names one of the calls.
func TestPlaces(t *testing.T) {
	f := func(id string, want int) {
		t.Helper()
		if got := placeOf([]byte(id), 3); got != want {
			t.Errorf("id %s of 3 calls is place %d; want %d", id, got, want)
		}
	}

	f("0", 0)
	f("2", 2)
	f(`"2"`, 2)
	f("3", -1)
	f("-1", -1)
	f("null", -1)
}

// Calls that fail in passing are asked again, without those that were answered, as often as
// a request is; of an endpoint that failed lately they are not.
func TestCallsAskedAgain(t *testing.T) {
	f := func(what string, calls, fails int, failed bool, right, requests int) {
		t.Helper()
		p := newProvider(t)
		p.perCall = func(n int) map[string]any {
			if n%2 == 0 && p.requests <= fails {
				return map[string]any{"code": internalErrorCode, "message": "oops"}
			}
			return nil
		}
		e := p.endpoint(t, nil)
		if failed {
			e.Failed(errors.New("broken"), 0)
		}
		if got, err := ask(t, e, calls, (*Endpoint).Ask); got != right || err != nil || p.requests != requests {
			t.Errorf("%s: %d of %d are answered by %d requests, %v; want %d by %d", what, got, calls, p.requests, err,
				right, requests)
		}
	}

	f("none", 10, 0, false, 10, 1)
	f("once", 10, 1, false, 10, 2)
	f("once, alone", 1, 1, false, 1, 2)
	f("as often as it may", 1, attempts-1, false, 1, attempts)
	f("too often", 1, attempts, false, 0, attempts)
	f("after a failure", 10, 1, true, 5, 1)
}

// A request that fails in passing is sent again after a pause that doubles; one that failed
// lately, or whose caller has gone, is not.
func TestPausesBetweenAttempts(t *testing.T) {
	f := func(what string, status, fails int, failed bool, want ...time.Duration) {
		t.Helper()
		p := newProvider(t)
		p.refuse = func(w http.ResponseWriter, _ int) bool {
			w.WriteHeader(status)
			return true
		}
		var pauses []time.Duration
		e := p.endpoint(t, func(c *Config) {
			c.Clock.Sleep = func(ctx context.Context, d time.Duration) error {
				if d > 0 {
					pauses = append(pauses, d)
				}
				if len(pauses) == fails {
					p.refuse = nil
				}
				return ctx.Err()
			}
		})
		if failed {
			e.Failed(errors.New("broken"), 0)
		}

		right, err := ask(t, e, 1, (*Endpoint).Ask)
		if !slices.Equal(pauses, want) || (right == 1) != (fails <= len(want)) || (err == nil) != (right == 1) {
			t.Errorf("%s: answered %d, %v, after pauses of %v; want %v", what, right, err, pauses, want)
		}
	}

	f("once", 502, 1, false, betweenAttempts)
	f("twice", 502, 2, false, betweenAttempts, 2*betweenAttempts)
	f("always", 502, attempts, false, betweenAttempts, 2*betweenAttempts)
	f("for good", 501, 1, false)
	f("it failed lately", 502, 1, true)
}

// A limit that is met again, or by a whole request, halves the batches; one that some calls of
// a request met once does not.
func TestLimitsHalveBatches(t *testing.T) {
	f := func(err error, stalled, want int) {
		t.Helper()
		e := newProvider(t).endpoint(t, nil)
		part := make([]Call, 10)
		for i := range part {
			part[i].Error = &Error{Kind: Limited}
		}
		if failed := e.backOff(t.Context(), part, err, stalled, true); failed != nil || e.batch.get() != want {
			t.Errorf("%v, stalled %d: %v, then %d calls a request; want %d", err, stalled, failed, e.batch.get(), want)
		}
	}

	f(nil, 0, firstBatch)
	f(nil, 1, firstBatch/2)
	f(&Error{Kind: Limited}, 0, firstBatch/2)
}

// A limit that goes on is waited for ever longer, up to a second, and as long as the provider
// asks for, up to five. A single call is given up after some of them in a row.
func TestPausesOfLimits(t *testing.T) {
	f := func(what string, calls, stalled int, asks time.Duration, progress, failed bool, want time.Duration) {
		t.Helper()
		p := newProvider(t)
		e := p.endpoint(t, nil)
		if failed {
			e.Failed(errors.New("broken"), 0)
		}
		limit := &Error{Kind: Limited, RetryAfter: asks}
		before := p.clock.now
		err := e.backOff(t.Context(), make([]Call, calls), limit, stalled, progress)
		if got := p.clock.now.Sub(before); got != want || (err == nil) != (want > 0) || err != nil && err != error(limit) {
			t.Errorf("%s: %v after %s; want a pause of %s", what, err, got, want)
		}
	}

	for stalled, want := range []time.Duration{125, 250, 500, 1000, 1000} {
		f("again", 2, stalled, 0, true, false, want*time.Millisecond)
	}
	f("as long as asked for", 2, 1, time.Second, true, false, time.Second)
	f("the longest", 2, 1, maxLimitedPause, true, false, maxLimitedPause)
	f("too long", 2, 1, maxLimitedPause+1, true, false, 0)

	f("of a single call", 1, maxStalled, 0, true, false, time.Second)
	f("of a single call, too often", 1, maxStalled+1, 0, true, false, 0)
	f("before any answer", 1, firstStalled, 0, false, false, time.Second)
	f("before any answer, too often", 1, firstStalled+1, 0, false, false, 0)
	f("after a failure", 1, 0, 0, false, true, 125*time.Millisecond)
	f("after a failure, again", 1, 1, 0, false, true, 0)
	f("of many calls", 2, 99, 0, false, true, time.Second)
}
