package endpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An error says what the provider said, with the status if there was one.
func TestErrorTexts(t *testing.T) {
	f := func(e Error, want string) {
		t.Helper()
		if got := e.Error(); got != want {
			t.Errorf("%+v is %q; want %q", e, got, want)
		}
	}

	f(Error{Kind: Refused, Status: 400, Text: "bad block"}, "status 400: bad block")
	f(Error{Kind: Refused, Text: "bad block"}, "bad block")
	f(Error{Kind: ServerError, Status: 502}, "status 502 Bad Gateway")
	f(Error{Kind: TimedOut}, "timeout")
}

// Errors that are none of an endpoint are of an answer that was not understood.
func TestKindsOfErrors(t *testing.T) {
	refused := &Error{Kind: Refused, Text: "no"}
	f := func(err error, kind Kind, answer bool) {
		t.Helper()
		if got := KindOf(err); got != kind || IsAnswer(err) != answer {
			t.Errorf("%v is %q, an answer: %t; want %q, %t", err, got, IsAnswer(err), kind, answer)
		}
	}

	f(nil, "", false)
	f(refused, Refused, true)
	f(fmt.Errorf("eth_call: %w", refused), Refused, true)
	f(errors.New("no JSON"), Malformed, false)

	calls := []Call{{Method: "a"}, {Method: "b", Error: refused}, {Method: "c", Error: io.EOF}}
	if err := FirstError(calls); !errors.Is(err, refused) || err.Error() != "b: no" {
		t.Errorf("the first error is %v", err)
	}
	if err := FirstError(calls[:1]); err != nil {
		t.Errorf("there is an error %v", err)
	}
}

// A refusal is found in whatever a provider sends: an object, an array, or a bare message.
func TestRefusalIn(t *testing.T) {
	f := func(body string, code int, text string) {
		t.Helper()
		if c, got := refusalIn([]byte(body), 7, "before"); c != code || got != text {
			t.Errorf("%s: %d %q; want %d %q", body, c, got, code, text)
		}
	}

	f(`{"error":{"code":-3,"message":"no"}}`, -3, "no")
	f(`{"error":{"code":-3}}`, -3, "")
	f(`{"error":{"message":"no"}}`, 0, "no")
	f(`{"error":{},"message":"else"}`, 7, "else")
	f(`{"error":"bare"}`, 7, "bare")
	f(`{"error":"","message":"else"}`, 7, "else")
	f(`{"message":"alone"}`, 7, "alone")
	f(`[{"error":{"code":-3,"message":"no"}},{"message":"second"}]`, -3, "no")
	f(`[]`, 7, "before")
	f(`{}`, 7, "before")
	f(`<html>`, 7, "before")
}

// Every status has its kind; what the page says of the rate counts more.
func TestStatuses(t *testing.T) {
	s := scrub{Replacer: strings.NewReplacer("s3cret", "…")}
	f := func(status int, body string, kind Kind, code int, text string) {
		t.Helper()
		var out Error
		s.describeStatus(&out, &statusError{status, []byte(body)})
		if out.Kind != kind || out.Status != status || out.Code != code || out.Text != text {
			t.Errorf("%d %s: %+v; want %s, %d %q", status, body, out, kind, code, text)
		}
	}

	f(429, "", Limited, 0, "")
	f(499, "", Refused, 0, "")
	f(500, "", ServerError, 0, "")
	f(503, errorBody(-32005, "limit exceeded"), ServerError, -32005, "limit exceeded")
	f(401, errorBody(1, "who are you, s3cret?"), Unauthorized, 1, "who are you, …?")
	f(403, "", Unauthorized, 0, "")
	f(403, errorBody(1, "not for you"), Refused, 1, "not for you")
	f(403, errorBody(1, "daily quota"), Limited, 1, "daily quota")
	f(400, errorBody(1, "bad\n\tblock"), Refused, 1, "bad block")
}

// A refusal is of the rate by its code or its words, unless it is of one request.
func TestSoundsLimited(t *testing.T) {
	f := func(code int, text string, want bool) {
		t.Helper()
		if got := soundsLimited(&Error{Code: code, Text: text}); got != want {
			t.Errorf("%d %q sounds limited: %t; want %t", code, text, got, want)
		}
	}

	f(429, "a range of blocks", true)
	f(428, "", false)
	f(limitExceededCode, "", true)
	f(limitExceededCode, "Block Range too wide", false)
	f(0, "no", false)
	for _, w := range rateWords {
		f(0, "Your "+strings.ToUpper(w)+".", true)
		for _, size := range sizeWords {
			f(0, w+" of "+size, false)
		}
	}
}

// timeout is an error of a connection.
type timeout bool

func (timeout) Error() string   { return "timeout" }
func (t timeout) Timeout() bool { return bool(t) }
func (timeout) Temporary() bool { return false }

// What a connection failed with is of the time, of the connection, or of what came.
func TestBrokenRequests(t *testing.T) {
	s := scrub{Replacer: strings.NewReplacer()}
	f := func(err error, head string, kind Kind, code int, text string) {
		t.Helper()
		got := AsError(s.requestError(err, &exchange{retryAfter: time.Second, head: []byte(head)}))
		if got.Kind != kind || got.Code != code || got.Text != text || got.RetryAfter != time.Second {
			t.Errorf("%v, %q: %+v; want %s, %d %q", err, head, got, kind, code, text)
		}
	}

	f(fmt.Errorf("reading: %w", errOversized), "", Oversized, 0, "answer is larger than 67108864 bytes")
	f(context.DeadlineExceeded, "", TimedOut, 0, "no answer in time")
	f(os.ErrDeadlineExceeded, "", TimedOut, 0, "no answer in time")
	f(timeout(true), "", TimedOut, 0, "no answer in time")
	f(timeout(false), "", Malformed, 0, "timeout")
	f(io.EOF, "", Unreachable, 0, "the connection broke")
	f(io.ErrUnexpectedEOF, "", Unreachable, 0, "the connection broke")
	f(net.ErrClosed, "", Unreachable, 0, "the connection broke")
	for _, broke := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		f(fmt.Errorf("reading: %w", broke), "", Unreachable, 0, "the connection broke")
	}
	f(fmt.Errorf("reading: %w", syscall.ECONNRESET), "", Unreachable, 0, "connection reset by peer")
	f(fmt.Errorf("reading: %w", context.DeadlineExceeded), "", TimedOut, 0, "no answer in time")
	f(fmt.Errorf("reading: %w", timeout(true)), "", TimedOut, 0, "no answer in time")
	f(syscall.ECONNRESET, "", Unreachable, 0, "connection reset by peer")
	f(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "", Unreachable, 0, "connection refused")
	f(&net.DNSError{Name: "node"}, "", Unreachable, 0, "the host is not known")
	f(errors.New("no JSON"), "<html>", Malformed, 0, "no JSON")
	f(errors.New("no JSON"), errorBody(-3, "no"), Refused, -3, "no")
	f(errors.New("no JSON"), errorBody(-3, "daily quota"), Limited, -3, "daily quota")
	f(errors.New("no JSON"), `{"message":"bare"}`, Malformed, 0, "bare")
}

// The error of a call is what the provider said of it.
func TestCallErrors(t *testing.T) {
	s := scrub{Replacer: strings.NewReplacer()}
	f := func(err error, want Error) {
		t.Helper()
		got := AsError(s.callError(err, &exchange{retryAfter: time.Second}))
		if *got != want {
			t.Errorf("%v: %+v; want %+v", err, *got, want)
		}
	}

	f(&refusal{-3, "no"}, Error{Kind: Refused, Code: -3, Text: "no", RetryAfter: time.Second})
	f(&refusal{-3, ""}, Error{Kind: Refused, Code: -3, Text: "error -3", RetryAfter: time.Second})
	f(&refusal{-3, "daily quota"}, Error{Kind: Limited, Code: -3, Text: "daily quota", RetryAfter: time.Second})
	f(errMissing, Error{Kind: Malformed, Text: errUnanswered})
	if err := s.callError(nil, new(exchange)); err != nil {
		t.Errorf("no error is %v", err)
	}
}

// A message is kept on one line, and no more of it than says what is wrong.
func TestOneLine(t *testing.T) {
	s := scrub{Replacer: strings.NewReplacer("key", "…")}
	if got := s.oneLine("  a\tkey\n\nb "); got != "a … b" {
		t.Errorf("got %q", got)
	}
	if got := s.oneLine(strings.Repeat("x", maxText+1)); len(got) != maxText {
		t.Errorf("%d bytes are kept; want %d", len(got), maxText)
	}

	// However long it is, little memory is used for it.
	var before, after runtime.MemStats
	long := strings.Repeat("x ", 4<<20)
	runtime.ReadMemStats(&before)
	got := s.oneLine(long)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; len(got) != maxText || took > 1<<20 {
		t.Errorf("%d bytes are kept and %d were taken for them", len(got), took)
	}
}

// What is asked is an http or https URL, at a rate that can be.
func TestConfigRefused(t *testing.T) {
	f := func(c Config, want string) {
		t.Helper()
		_, err := New(c)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%+v: %v; want %q", c, err, want)
		}
	}

	const noURL = "is not an http or https URL"
	f(Config{URL: "http://127.0.0.1:1"}, "")
	f(Config{URL: "https://127.0.0.1:1/key"}, "")
	f(Config{URL: "ftp://127.0.0.1"}, noURL)
	f(Config{URL: "http://"}, noURL)
	f(Config{URL: "http://[::1"}, noURL)
	f(Config{URL: ""}, noURL)
	f(Config{URL: "http://x", RequestsPerSecond: -1}, "cannot be limited to -1 requests and 0 compute units a second")
	f(Config{URL: "http://x", ComputeUnitsPerSecond: -2}, "cannot be limited to 0 requests and -2 compute units a second")
}

// Of an answer is read what is allowed, its beginning is kept, and one byte more is an
// error.
func TestBodies(t *testing.T) {
	f := func(size, left int, want error) {
		t.Helper()
		x := new(exchange)
		text := bytes.Repeat([]byte("x"), size)
		b := &body{ReadCloser: io.NopCloser(bytes.NewReader(text)), left: left, x: x}
		got, err := io.ReadAll(b)
		if !errors.Is(err, want) || err == nil && len(got) != size {
			t.Errorf("%d bytes of at most %d: %d, %v; want %v", size, left, len(got), err, want)
		}
		if keeps := min(size, maxHead, left+1); len(x.head) != keeps {
			t.Errorf("%d bytes of at most %d: %d are kept; want %d", size, left, len(x.head), keeps)
		}
	}

	f(0, 10, nil)
	f(10, 10, nil)
	f(11, 10, errOversized)
	f(maxHead, 1<<20, nil)
	f(maxHead+1, 1<<20, nil)
	f(100_000, 99_999, errOversized)
}

// An endpoint learns from its answers: how long they take, and that it was asked too often.
func TestLearnsFromAnswers(t *testing.T) {
	p := newProvider(t)
	e := p.endpoint(t, nil)
	first := e.deadline.get()
	for range 3 {
		if _, err := ask(t, e, 1, (*Endpoint).Ask); err != nil {
			t.Fatal(err)
		}
	}
	if got := e.deadline.get(); got >= first || e.pace.calls.Limiter != nil {
		t.Errorf("after quick answers a request may take %s, limited %t; want less than %s, and no limit",
			got, e.pace.calls.Limiter != nil, first)
	}

	limited := true
	p.refuse = func(w http.ResponseWriter, _ int) bool {
		if limited {
			limited = false
			w.WriteHeader(429)
			return true
		}
		return false
	}
	if _, err := ask(t, e, 1, (*Endpoint).Ask); err != nil {
		t.Fatal(err)
	}
	if e.pace.calls.Limiter == nil {
		t.Error("after a refusal calls are not limited")
	}
}

// Whatever part of a URL could be a key or name a provider is taken out of texts; short
// words of it stay.
func TestScrub(t *testing.T) {
	u, err := url.Parse("https://me:pass%20word@node.example:8545/v2/a%2Fsecret?key=topsecret&n=12")
	if err != nil {
		t.Fatal(err)
	}

	s := newScrub(u)
	for text, want := range map[string]string{
		"dial node.example:8545: refused":        "dial …: refused",
		"lookup node.example: no such host":      "lookup …: no such host",
		"key topsecret is over its limit of 12":  "key … is over its limit of 12",
		"a/secret of v2 and a%2Fsecret are gone": "a/… of v2 and … are gone",
		"as me:pass%20word":                      "as …",
		u.String() + " is gone":                  "… is gone",
	} {
		if got := s.Replace(text); got != want {
			t.Errorf("%q becomes %q; want %q", text, got, want)
		}
	}
}

// A key that the end of what is read of a message cuts is not told in part.
func TestScrubOfACutKey(t *testing.T) {
	key := strings.Repeat("k", 200)
	u, err := url.Parse("https://node.example/" + key)
	if err != nil {
		t.Fatal(err)
	}

	s := newScrub(u)
	for at := range len(key) {
		text := strings.Repeat(" ", maxRead-at) + key + " is over its limit"
		if got := s.oneLine(text); strings.Contains(got, "k") {
			t.Fatalf("cut after %d bytes, the key is told as %q", at, got)
		}
	}
}

// A size that was refused is tried again after a long time.
func TestBatchForgetsARefusal(t *testing.T) {
	b := newBatch()
	b.refused(50)
	if got := b.get(); got != 25 {
		t.Errorf("after a refusal of 50 there are %d calls in a request; want 25", got)
	}

	most := 0
	for range forget - 1 {
		b.answered(b.get())
		most = max(most, b.get())
	}
	if most != 49 {
		t.Errorf("up to %d calls were in a request; want 49, one less than was refused", most)
	}
	for range 10 * regrow {
		b.answered(b.get())
	}
	if got := b.get(); got != mostBatch {
		t.Errorf("much later there are %d calls in a request; want %d", got, mostBatch)
	}
}
