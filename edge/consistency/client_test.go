package consistency

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func testClient(t *testing.T, cfg Config, serve http.HandlerFunc) *client {
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	cfg.URL = server.URL + "/"
	return newClient(cfg, &Report{})
}

// A busy node is asked again, when it says so.
func TestBusy(t *testing.T) {
	f := func(status int, retryAfter string, least time.Duration) {
		t.Helper()
		asked := 0
		c := testClient(t, Config{}, func(w http.ResponseWriter, q *http.Request) {
			if asked++; asked == 1 {
				w.Header().Set("Retry-After", retryAfter)
				w.WriteHeader(status)
				return
			}
			w.Write([]byte(`{}`))
		})

		start := time.Now()
		a, err := c.get(t.Context(), "/v1/pools")
		if err != nil || a.status != 200 || asked != 2 || c.report.Requests != 2 {
			t.Errorf("%d: %+v, %v after %d requests", status, a, err, asked)
		}
		if waited := time.Since(start); waited < least {
			t.Errorf("%d: asked again after %s; want at least %s", status, waited, least)
		}
	}

	f(429, "1", time.Second)
	f(503, "0", leastPause)
	f(503, "", leastPause)
}

func TestPauseOf(t *testing.T) {
	f := func(retryAfter string, want time.Duration) {
		t.Helper()
		if got := pauseOf(http.Header{"Retry-After": {retryAfter}}); got != want {
			t.Errorf("Retry-After %q: %s; want %s", retryAfter, got, want)
		}
	}
	f("2", 2*time.Second)
	f("0", leastPause)
	f("2592000", mostPause)
	f("soon", leastPause)
}

// A check that cannot go on says so, and nothing about the answers.
func TestUnfinished(t *testing.T) {
	f := func(cfg Config, serve http.HandlerFunc, want string) {
		t.Helper()
		c := testClient(t, cfg, serve)
		var err error
		for range 3 {
			if _, err = c.get(t.Context(), "/v1/pools"); err != nil {
				break
			}
		}
		var e *Unfinished
		if !errors.As(err, &e) || e.ExitCode() != 2 || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, q *http.Request) {
			w.WriteHeader(status)
			w.Write([]byte(body))
		}
	}
	f(Config{Requests: 2}, answer(200, `{}`), "2 requests are not enough")
	f(Config{}, answer(401, `{}`), "no key was given; give one with --key or TIDEMARK_CHECK_KEY")
	f(Config{Key: "x"}, answer(401, `{}`), "is the key right?")
	f(Config{Key: "x"}, answer(403, `{}`), "is the key right?")
	f(Config{}, answer(200, `{"positions":`), "cannot read the answer")
	f(Config{Timeout: time.Millisecond}, func(w http.ResponseWriter, q *http.Request) {
		time.Sleep(50 * time.Millisecond)
	}, "exceeded")

	ended, stop := context.WithCancel(t.Context())
	stop()
	c := testClient(t, Config{}, answer(503, ``))
	if _, err := c.get(ended, "/v1/pools"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v; want %v", err, context.Canceled)
	}
}

// A check that waits for a busy node says for what, and what ended it.
func TestWaitsAloud(t *testing.T) {
	interrupted := errors.New("interrupted")
	ctx, stop := context.WithCancelCause(t.Context())
	var told []string
	progress := func(what string) {
		told = append(told, what)
		stop(interrupted)
	}
	c := testClient(t, Config{Progress: progress}, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(503)
		w.Write([]byte(`{"error": "chain 1 is temporarily unavailable"}`))
	})

	const why = "/v1/pools is answered 503: chain 1 is temporarily unavailable"
	_, err := c.get(ctx, "/v1/pools")
	if !errors.Is(err, interrupted) || !strings.HasSuffix(err.Error(), ": interrupted; "+why) {
		t.Errorf("%v; want the cause, and %s", err, why)
	}
	if len(told) != 1 || told[0] != why+"; asking again" {
		t.Errorf("told %q; want %q", told, why)
	}
}

// The key and the path are sent as they are.
func TestAsks(t *testing.T) {
	c := testClient(t, Config{Key: "tm_srv_x"}, func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("KC-APIKey") != "tm_srv_x" || q.URL.RequestURI() != "/v1/pools?search=a%2Fb" {
			t.Errorf("asked %s with key %q", q.URL.RequestURI(), q.Header.Get("KC-APIKey"))
		}
		w.Header().Set("X-Generation", "1:17")
		w.Write([]byte(`{"pools": []}`))
	})
	a, err := c.get(t.Context(), "/v1/pools?search=a%2Fb")
	if err != nil || a.generation != "1:17" || a.object()["pools"] == nil {
		t.Errorf("%+v, %v", a, err)
	}
}
