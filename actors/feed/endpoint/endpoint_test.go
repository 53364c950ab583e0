package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// provider answers calls of "echo" with their parameter, within limits.
type provider struct {
	*httptest.Server
	mu       sync.Mutex
	clock    *virtual
	requests int
	most     int // calls in one request; 0: any
	refuse   func(w http.ResponseWriter, calls int) bool
	perCall  func(n int) map[string]any // an error instead of the answer
	perSec   float64
	left     float64
	at       time.Time
}

// virtual is a clock that only sleeping moves.
type virtual struct {
	mu  sync.Mutex
	now time.Time
}

func (v *virtual) clock() Clock {
	return Clock{
		Now: func() time.Time { v.mu.Lock(); defer v.mu.Unlock(); return v.now },
		Sleep: func(ctx context.Context, d time.Duration) error {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.now = v.now.Add(max(d, 0))
			return ctx.Err()
		},
	}
}

func newProvider(t *testing.T) *provider {
	p := &provider{clock: &virtual{now: time.Unix(1_800_000_000, 0)}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) endpoint(t *testing.T, change func(*Config)) *Endpoint {
	c := Config{Name: "test", URL: p.URL + "/key/s3cret", Clock: p.clock.clock()}
	if change != nil {
		change(&c)
	}
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// take counts calls against a bucket of one second.
func (p *provider) take(calls int) bool {
	now := p.clock.clock().Now()
	p.left = min(p.perSec, p.left+now.Sub(p.at).Seconds()*p.perSec)
	if p.at.IsZero() {
		p.left = p.perSec
	}
	p.at = now
	if p.left < float64(calls) {
		return false
	}
	p.left -= float64(calls)
	return true
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	var raw json.RawMessage
	_ = json.NewDecoder(r.Body).Decode(&raw)
	type call struct {
		ID     json.RawMessage
		Params []int
	}

	var calls []call
	single := raw[0] != '['
	if single {
		calls = make([]call, 1)
		_ = json.Unmarshal(raw, &calls[0])
	} else {
		_ = json.Unmarshal(raw, &calls)
	}

	if p.refuse != nil && (p.most == 0 || len(calls) > p.most) && p.refuse(w, len(calls)) {
		return
	}

	var out []map[string]any
	for _, c := range calls {
		answer := map[string]any{"jsonrpc": "2.0", "id": c.ID, "result": c.Params[0]}
		if p.perCall != nil {
			if e := p.perCall(c.Params[0]); e != nil {
				answer = map[string]any{"jsonrpc": "2.0", "id": c.ID, "error": e}
			}
		}
		out = append(out, answer)
	}

	if single {
		_ = json.NewEncoder(w).Encode(out[0])
		return
	}
	_ = json.NewEncoder(w).Encode(out)
}

// ask sends n calls by a method and returns how many were answered rightly.
func ask(
	t *testing.T, e *Endpoint, n int, by func(*Endpoint, context.Context, []Call) error,
) (right int, err error) {
	t.Helper()
	got := make([]*int, n)
	calls := make([]Call, n)
	for i := range calls {
		calls[i] = Call{Method: "echo", Args: []any{i}, Result: &got[i]}
	}

	err = by(e, t.Context(), calls)
	for i := range got {
		if got[i] != nil && *got[i] == i && calls[i].Error == nil {
			right++
		}
	}
	return right, err
}

func errorBody(code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`, code, message)
}

// However a provider refuses batches, all calls are answered in smaller ones,
// and the size that it takes is found and kept.
func TestBatchesRefused(t *testing.T) {
	f := func(name string, most int, refuse func(w http.ResponseWriter, calls int)) {
		t.Helper()
		p := newProvider(t)
		p.most = most
		p.refuse = func(w http.ResponseWriter, calls int) bool { refuse(w, calls); return true }
		e := p.endpoint(t, nil)
		if right, err := ask(t, e, 120, (*Endpoint).Ask); right != 120 || err != nil {
			t.Errorf("%s: %d of 120 answered, %v", name, right, err)
		}
		p.requests = 0
		if right, err := ask(t, e, 800, (*Endpoint).Ask); right != 800 || err != nil {
			t.Errorf("%s: %d of 800 answered, %v", name, right, err)
		}
		if least := 800 / most; p.requests > least+least/2+60 {
			t.Errorf("%s: %d requests for 800 calls in batches of %d", name, p.requests, most)
		}
	}

	status := func(code int, body string) func(http.ResponseWriter, int) {
		return func(w http.ResponseWriter, _ int) { w.WriteHeader(code); fmt.Fprint(w, body) }
	}

	f("403", 1, status(403, "forbidden"))
	f("413", 1, status(413, ""))
	f("500", 1, status(500, "oops"))
	f("400 with a quota", 10, status(400, `{"error":"batch size is above the quota of your plan"}`))
	f("above ten", 10, status(400, errorBody(-32600, "batch too large")))
	f("one object", 1, status(200, errorBody(-32600, "no batches")))
	f("one error in an array", 1, status(200, "["+errorBody(-32600, "no batches")+"]"))
	f("405", 20, status(405, ""))
}

// A batch that is answered with a single object is no batch to the provider, and not sent again.
func TestNoBatch(t *testing.T) {
	f := func(answer string, requests int) {
		t.Helper()
		p := newProvider(t)
		p.most = 1
		p.refuse = func(w http.ResponseWriter, _ int) bool { fmt.Fprint(w, answer); return true }
		e := p.endpoint(t, nil)
		right, err := ask(t, e, 2, (*Endpoint).Ask)
		if right != 2 || err != nil || p.requests != requests || e.batch.get() != 1 {
			t.Errorf("%s: %d of 2 are answered after %d requests, %v; want %d; the next have %d calls", answer, right,
				p.requests, err, requests, e.batch.get())
		}
	}

	f(errorBody(-32600, "no batches"), 3)
	f("[broken", 2+attempts)
}

// A batch grows after many that were answered, whatever the answers are.
func TestAnsweredBatches(t *testing.T) {
	f := func(what string, perCall func(int) map[string]any) {
		t.Helper()
		p := newProvider(t)
		p.perCall = perCall
		e := p.endpoint(t, nil)
		for i := range regrow {
			if got := e.batch.get(); got != firstBatch {
				t.Fatalf("%s: after %d answers a request has %d calls; want %d", what, i, got, firstBatch)
			}
			if _, err := ask(t, e, firstBatch, (*Endpoint).Ask); err != nil {
				t.Fatal(err)
			}
		}
		if got := e.batch.get(); got != (firstBatch+mostBatch)/2 {
			t.Errorf("%s: after %d answers a request has %d calls; want %d", what, regrow, got, (firstBatch+mostBatch)/2)
		}
	}

	f("answers", nil)
	f("refusals of every call", func(int) map[string]any {
		return map[string]any{"code": 3, "message": "execution reverted"}
	})
}

// Connections are kept for all that may be under way at once.
func TestOwnTransport(t *testing.T) {
	way, ok := ownTransport().(*http.Transport)
	if !ok || way.MaxIdleConnsPerHost != mostInFlight+32 || way.ReadBufferSize != 64<<10 {
		t.Errorf("%+v", way)
	}
}

// A rate limit puts calls off; those that were answered are kept.
func TestRateLimits(t *testing.T) {
	f := func(name string, perSec float64, configured float64, perCall bool) {
		t.Helper()
		p := newProvider(t)
		p.perSec = perSec
		if perCall {
			p.perCall = func(int) map[string]any {
				if p.take(1) {
					return nil
				}
				return map[string]any{"code": 429, "message": "exceeded compute units per second capacity"}
			}
		} else {
			p.refuse = func(w http.ResponseWriter, calls int) bool {
				if p.take(calls) {
					return false
				}
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(429)
				return true
			}
		}
		e := p.endpoint(t, func(c *Config) { c.RequestsPerSecond = configured })
		from := p.clock.now
		const calls = 2500
		for done := 0; done < calls; done += 100 {
			if right, err := ask(t, e, 100, (*Endpoint).Ask); right != 100 || err != nil {
				t.Fatalf("%s: %d of 100 answered, %v", name, right, err)
			}
		}
		took := p.clock.now.Sub(from).Seconds()
		if used := calls / took / perSec; used < 0.8 || used > 1.1 {
			t.Errorf("%s: %.2f of the limit was used", name, used)
		}
	}

	f("configured", 25, 25, false)
	f("not known", 25, 0, false)
	f("by call, not known", 25, 0, true)
	f("a provider that takes less than was configured", 25, 40, false)
}

func TestRetryAfterHeader(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	f := func(text string, want time.Duration) {
		t.Helper()
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %s; want %s", text, got, want)
		}
	}

	f("", 0)
	f("7", 7*time.Second)
	f("soon", 0)
	f("-3", 0)
	f(now.Add(40*time.Second).UTC().Format(http.TimeFormat), 40*time.Second)
	f(now.Add(-time.Hour).UTC().Format(http.TimeFormat), 0)
	f("999999", maxRetryAfter)
}

// What a refusal is of, whatever words a provider chose.
func TestKinds(t *testing.T) {
	f := func(status int, body string, want Kind) {
		t.Helper()
		p := newProvider(t)
		p.refuse = func(w http.ResponseWriter, _ int) bool {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
			return true
		}
		_, err := ask(t, p.endpoint(t, nil), 1, (*Endpoint).Ask)
		if err == nil {
			var got *int
			err = p.endpoint(t, nil).Call(t.Context(), &got, "echo", 0)
		}
		if KindOf(err) != want {
			t.Errorf("%d %s: %s, %v; want %s", status, body, KindOf(err), err, want)
		}
	}

	f(429, "", Limited)
	f(200, errorBody(-32005, "limit exceeded"), Limited)
	f(200, errorBody(429, "whatever"), Limited)
	f(403, errorBody(-32000, "daily quota reached"), Limited)
	f(400, "["+errorBody(-32005, "limit exceeded")+"]", Limited) // of a batch
	f(400, "[]", Refused)
	f(400, errorBody(-32600, "no capacity for a block range of 2000"), Refused)
	f(413, "", Refused)
	f(200, errorBody(-32005, "query returned more than 10000 results"), Refused)
	f(401, "", Unauthorized)
	f(403, "no", Unauthorized)
	f(503, "", ServerError)
	f(200, "<html>", Malformed)
}

// No error names any part of the address, wherever the provider puts it.
func TestErrorsAreScrubbed(t *testing.T) {
	p := newProvider(t)
	p.refuse = func(w http.ResponseWriter, _ int) bool {
		fmt.Fprint(w, errorBody(-32000, "key s3cret of "+p.URL+" is not known"))
		return true
	}

	var got *int
	err := p.endpoint(t, nil).Call(t.Context(), &got, "echo", 0)
	if err == nil || strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("error %v", err)
	}

	p.Close()
	err = p.endpoint(t, nil).Call(t.Context(), &got, "echo", 0)
	if err == nil || strings.Contains(err.Error(), "127.0.0.1") || KindOf(err) != Unreachable {
		t.Errorf("error %v", err)
	}
}

// A request that hangs costs seconds, not the whole timeout, and slow answers
// are given more time.
func TestDeadline(t *testing.T) {
	d := newDeadline(20 * time.Second)
	if d.get() != firstDeadline {
		t.Errorf("first %s", d.get())
	}
	for range 50 {
		d.answered(10 * time.Millisecond)
	}

	if d.get() != leastDeadline {
		t.Errorf("after fast answers %s", d.get())
	}
	for range 5 {
		d.passed()
	}

	if d.get() != 20*time.Second {
		t.Errorf("after timeouts %s", d.get())
	}
	if d.answered(2 * time.Second); d.get() != 17500*time.Millisecond {
		t.Errorf("after a slow answer %s", d.get())
	}
}

// A redirect is followed within a host only: another would learn the address, with its key.
func TestRedirects(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Host+r.URL.Path+" "+r.Referer())
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			return
		}
		io.WriteString(w, `{"jsonrpc":"2.0","id":0,"result":"0x1"}`)
	}))
	defer server.Close()
	elsewhere := strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/elsewhere"

	f := func(to, want string, requests int) {
		t.Helper()
		asked = nil
		e, err := New(Config{Name: "test", URL: server.URL + "/key/s3cret?to=" + url.QueryEscape(to)})
		if err != nil {
			t.Fatal(err)
		}
		var head string
		got := fmt.Sprint(e.Call(t.Context(), &head, "eth_blockNumber"))
		if got != want || len(asked) != requests {
			t.Errorf("redirected to %s: %s after %q; want %s", to, got, asked, want)
		}
	}
	f("/other", "<nil>", 2)
	f(elsewhere, "status 307 Temporary Redirect", 1)
	f("file:///etc/passwd", "status 307 Temporary Redirect", 1)
}
