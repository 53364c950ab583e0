package endpoint

import (
	"net/http"
	"testing"
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
