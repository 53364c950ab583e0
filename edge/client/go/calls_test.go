package tidemark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// scripted returns a client whose requests are answered without a connection.
func scripted(answer func(*http.Request) *http.Response) *Client {
	c := New("http://node/", "tm_srv_test")
	c.HTTP = &http.Client{Transport: roundTrip(answer)}
	return c
}

// say is an answer of a node.
func say(status int, body string) *http.Response {
	w := httptest.NewRecorder()
	w.WriteHeader(status)
	fmt.Fprint(w, body)
	return w.Result()
}

// TestCalls checks what each call asks for, and that it returns the answer.
func TestCalls(t *testing.T) {
	var asked, body string
	c := scripted(func(r *http.Request) *http.Response {
		asked = r.URL.String()
		key, accept := r.Header.Get("KC-APIKey"), r.Header.Get("Accept")
		if r.Method != "GET" || accept != "application/json" || key != "tm_srv_test" {
			t.Errorf("%s %s with %v", r.Method, asked, r.Header)
		}
		return say(200, body)
	})

	type answer = func(context.Context) (any, error)
	call := func(text string, do answer, path string) {
		t.Helper()
		body = text
		got, err := do(t.Context())
		if err != nil || asked != "http://node"+path {
			t.Errorf("asked %s, %v; want %s", asked, err, path)
		}
		if reflect.Indirect(reflect.ValueOf(got)).IsZero() {
			t.Errorf("%s: the answer is lost: %+v", path, got)
		}
	}

	const id = "0xab"
	at := "/v1/positions/42161/swapdex-v4/7"
	pool := "/v1/pools/42161/swapdex-v4/0xab"
	positions := PositionsQuery{ChainID: 1, Owner: "0x1"}
	call(`{"positions":[{}]}`, func(x context.Context) (any, error) { return c.Positions(x, positions) },
		"/v1/positions?chainId=1&owner=0x1")
	pools := PoolsQuery{Fee: Pips(0), MinTVLUsd: USD(0)}
	call(`{"pools":[{}]}`, func(x context.Context) (any, error) { return c.Pools(x, pools) },
		"/v1/pools?fee=0&minTvlUsd=0")
	call(`{"positionId":"7"}`, func(x context.Context) (any, error) { return c.Position(x, 42161, "7") }, at)
	call(`{"chainId":1}`, func(x context.Context) (any, error) { return c.Explain(x, 42161, "7") }, at+"/explain")
	call(`{"range":"30d"}`, func(x context.Context) (any, error) { return c.PositionCharts(x, 42161, "7", "30d") },
		at+"/charts?range=30d")
	call(`{"range":"30d"}`, func(x context.Context) (any, error) { return c.PositionCharts(x, 42161, "7", "") }, at+"/charts")
	call(`{"range":"30d"}`, func(x context.Context) (any, error) { return c.PositionChartsByHour(x, 42161, "7") },
		at+"/charts?interval=1h")
	call(`{"poolId":"0xab"}`, func(x context.Context) (any, error) { return c.Pool(x, 42161, id) }, pool)
	call(`{"range":"30d"}`, func(x context.Context) (any, error) { return c.PoolCharts(x, 42161, id, "all") },
		pool+"/charts?range=all")
	call(`{"range":"30d"}`, func(x context.Context) (any, error) { return c.PoolChartsByHour(x, 42161, id) },
		pool+"/charts?interval=1h")
	call(`{"owner":"0x1"}`, func(x context.Context) (any, error) { return c.Owner(x, "0x/1") }, "/v1/owners/0x%2F1")
	call(`{"address":"0x1"}`, func(x context.Context) (any, error) { return c.Token(x, 42161, "0x/1") },
		"/v1/tokens/42161/0x%2F1")
	call(`{"unitsUsed":3}`, func(x context.Context) (any, error) { return c.Usage(x) }, "/v1/usage")
	call(`[{"chainId":1}]`, func(x context.Context) (any, error) { return c.Chains(x) }, "/v1/chains")
	call(`[{"name":"x"}]`, func(x context.Context) (any, error) { return c.Protocols(x) }, "/v1/protocols")
	call(`{"plans":[{}]}`, func(x context.Context) (any, error) { return c.Plans(x) }, "/v1/plans")
	call(`{"units":[{}]}`, func(x context.Context) (any, error) { return c.Units(x) }, "/v1/pricing/units")
	call(`{"pools":{"total":3}}`, func(x context.Context) (any, error) { return c.Stats(x) }, "/v1/stats")
	call(`{"status":"ok"}`, func(x context.Context) (any, error) { return c.Health(x) }, "/health")
}

// TestNoKey checks that a client without a key sends none.
func TestNoKey(t *testing.T) {
	c := scripted(func(r *http.Request) *http.Response {
		if _, has := r.Header["Kc-Apikey"]; has {
			t.Errorf("sent %v", r.Header)
		}
		return say(200, `{}`)
	})
	c.Key = ""
	if _, err := c.Health(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestUnreadable checks that an answer which is not what the API answers is an error
// that names the call, and that a list which fails has no rows.
func TestUnreadable(t *testing.T) {
	c := scripted(func(*http.Request) *http.Response { return say(200, `<html>a proxy</html>`) })
	if _, err := c.Stats(t.Context()); err == nil || !strings.Contains(err.Error(), "/v1/stats") {
		t.Errorf("got %v; want an error that names the call", err)
	}
	if got, err := c.Chains(t.Context()); err == nil || got != nil {
		t.Errorf("got %v, %v; want an error", got, err)
	}

	c.URL, c.Attempts = "http://no de", 1
	if _, err := c.Stats(t.Context()); err == nil {
		t.Error("a bad address is no error")
	}
	var refused error
	for _, err := range c.Stream(t.Context(), StreamQuery{Owner: "0x1"}) {
		refused = err
	}
	if refused == nil {
		t.Error("a stream of a bad address is no error")
	}
}

// broken is a body whose connection breaks after some bytes.
type broken struct{ io.Reader }

func (broken) Close() error { return nil }

// breakAfter returns an answer whose connection breaks after a text.
func breakAfter(status int, text string) *http.Response {
	r := say(status, "")
	r.Body = broken{io.MultiReader(strings.NewReader(text), failing{})}
	return r
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// TestBrokenConnections checks that a call whose answer breaks off, or that gets none, is
// tried again, and how often.
func TestBrokenConnections(t *testing.T) {
	f := func(what string, tries int, answers ...*http.Response) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			c := scripted(func(*http.Request) *http.Response {
				asked++
				return answers[min(asked, len(answers))-1]
			})
			got, err := c.Stats(t.Context())
			if asked != tries || (err == nil) != (tries < defaultAttempts) || err == nil && got.Pools.Total != 3 {
				t.Errorf("%s: %+v, %v after %d tries; want %d", what, got, err, asked, tries)
			}
		})
	}

	ok := func() *http.Response { return say(200, `{"pools":{"total":3}}`) }
	f("an answer that breaks off", 2, breakAfter(200, `{"po`), ok())
	f("an error that breaks off", 2, breakAfter(500, `{"er`), ok())
	f("a refusal that breaks off", 2, breakAfter(404, `{"er`), ok())
	f("and no other", defaultAttempts, breakAfter(200, ""))

	gone := &http.Client{Transport: transport(func() (*http.Response, error) { return nil, errors.New("no route") })}
	synctest.Test(t, func(t *testing.T) {
		c := New("http://node", "")
		c.HTTP = gone
		begun := time.Now()
		if _, err := c.Stats(t.Context()); err == nil || time.Since(begun) < 3*time.Second {
			t.Errorf("no node: %v after %s; want an error after three waits", err, time.Since(begun))
		}
	})
}

type transport func() (*http.Response, error)

func (f transport) RoundTrip(*http.Request) (*http.Response, error) { return f() }

// TestRetryAfter checks how long a client waits: as long as it is told, up to MaxWait.
func TestRetryAfter(t *testing.T) {
	f := func(status int, after string, waits time.Duration, again bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			c := scripted(func(*http.Request) *http.Response {
				if asked++; asked > 1 {
					return say(200, `{"pools":{"total":3}}`)
				}
				r := say(status, `{"error":"later"}`)
				r.Header.Set("Retry-After", after)
				return r
			})
			c.MaxWait = 10 * time.Second
			begun := time.Now()
			_, err := c.Stats(t.Context())
			took := time.Since(begun)
			if (err == nil) != again || took.Truncate(time.Second) > waits || took < waits/2 {
				t.Errorf("%d, Retry-After %q: %v after %s; want %s", status, after, err, took, waits)
			}
		})
	}

	f(429, "10", 10*time.Second, true)
	f(429, "11", 0, false)
	f(503, "3", 3*time.Second, true)
	f(500, "0", time.Second, true)
	f(500, "-5", time.Second, true)
	f(500, "soon", time.Second, true)
	f(428, "1", 0, false)
	f(499, "1", 0, false)
}

// TestOtherStatuses checks a status without a type of its own, and the texts of errors.
func TestOtherStatuses(t *testing.T) {
	f := func(status int, body, want string) {
		t.Helper()
		c := scripted(func(*http.Request) *http.Response { return say(status, body) })
		c.Attempts = 1
		_, err := c.Stats(t.Context())
		if err == nil || err.Error() != want {
			t.Errorf("%d %s: %v; want %s", status, body, err, want)
		}
	}

	f(418, `{"error":"tea"}`, "tidemark: 418 tea")
	f(418, `{}`, "tidemark: 418 I'm a teapot")
	f(429, `{"error":"fast","retryAfterSec":0}`, "tidemark: 429 fast")
	f(502, `<html>`, "tidemark: 502 Bad Gateway")

	c := scripted(func(*http.Request) *http.Response { return say(418, `{"error":"tea"}`) })
	_, err := c.Stats(t.Context())
	if as[*ServerError](err) || as[*BadRequest](err) || !as[*APIError](err) {
		t.Errorf("418 is a %T", err)
	}
}

// TestExportPools checks that an export of pools is read as one of positions, and how it
// ends without its last line.
func TestExportPools(t *testing.T) {
	f := func(body, want string, cut *CutExport) {
		t.Helper()
		c := scripted(func(r *http.Request) *http.Response {
			if got := r.URL.String(); got != "http://node/v1/pools/export?after=4&search=usdc" {
				t.Errorf("asked %s", got)
			}
			w := say(200, body)
			w.Header.Set("X-Generation", "1:7")
			return w
		})

		var got []string
		var failed error
		for p, err := range c.ExportPools(t.Context(), PoolsQuery{Search: "usdc", Page: 2, Limit: 9}, 4) {
			if failed = err; err == nil {
				got = append(got, p.PoolID)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("got %q; want %s", got, want)
		}
		if text := fmt.Sprint(failed); cut == nil && failed != nil || cut != nil && text != cut.Error() {
			t.Errorf("the error is %v; want %v", failed, cut)
		}
	}

	const rows = "{\"rank\":5,\"poolId\":\"0xa\"}\n{\"rank\":6,\"poolId\":\"0xb\"}\n"
	f(rows+`{"end":true,"more":false}`+"\n", "0xa 0xb", nil)
	f(rows+`{"end":false,"error":"spent"}`+"\n", "0xa 0xb", &CutExport{6, "1:7", "spent", nil})
	f(rows, "0xa 0xb", &CutExport{6, "1:7", "the connection broke: EOF", nil})
	f(rows+"{\"rank\":}\n", "0xa 0xb", &CutExport{6, "1:7", "invalid character '}' looking for beginning of value", nil})
	f(rows+"{\"end\":}\n", "0xa 0xb", &CutExport{6, "1:7", "invalid character '}' looking for beginning of value", nil})
}

// TestExportEndsEarly checks that a loop that is left asks for no more, and that an
// export which is refused says why, and behind its first rows also where to go on.
func TestExportEndsEarly(t *testing.T) {
	asked := 0
	c := scripted(func(*http.Request) *http.Response {
		asked++
		if asked >= 2 {
			return say(404, `{"error":"the generation is gone"}`)
		}
		w := say(200, "{\"rank\":1,\"positionId\":\"1\"}\n"+`{"end":true,"more":true}`+"\n")
		w.Header.Set("X-Generation", "1:7")
		return w
	})
	for range c.ExportPositions(t.Context(), PositionsQuery{}, 0) {
		break
	}
	if asked != 1 {
		t.Errorf("a loop that was left asked %d times; want once", asked)
	}

	asked = 0
	var got []string
	var failed error
	for p, err := range c.ExportPositions(t.Context(), PositionsQuery{}, 0) {
		if failed = err; err == nil {
			got = append(got, p.PositionID)
		}
	}
	if len(got) != 1 || !as[*NotFound](failed) || asked != 2 {
		t.Errorf("got %q, %v after %d calls; want one row and the 404", got, failed, asked)
	}

	var cut *CutExport
	if !errors.As(failed, &cut) || cut.After != 1 || cut.Generation != "1:7" {
		t.Errorf("the error is %#v; want where to go on", failed)
	}
	for _, failed = range c.ExportPositions(t.Context(), PositionsQuery{}, 0) {
	}
	if as[*CutExport](failed) {
		t.Errorf("an export without rows ends with %v; want the answer's error", failed)
	}
}

// TestOnAnswer checks that the headers of every answer are told, those of failures and of
// streams too.
func TestOnAnswer(t *testing.T) {
	statuses := []int{503, 200, 404, 200, 401}
	asked := 0
	c := scripted(func(*http.Request) *http.Response {
		asked++
		w := say(statuses[asked-1], `{}`)
		w.Header.Set("X-Generation", fmt.Sprint("1:", asked))
		w.Header.Set("Retry-After", "1")
		return w
	})
	var got []string
	c.OnAnswer = func(status int, header http.Header) {
		got = append(got, fmt.Sprint(status, " ", header.Get("X-Generation")))
	}

	_, _ = c.PositionBatch(t.Context(), "1-1")
	_, _ = c.Pool(t.Context(), 1, "0xa")
	for range c.Stream(t.Context(), StreamQuery{Owner: "0x1"}) {
	}
	if want := "503 1:1, 200 1:2, 404 1:3, 200 1:4, 401 1:5"; strings.Join(got, ", ") != want {
		t.Errorf("told %q; want %s", got, want)
	}
}

// TestAllPoolsEnds checks that a loop over pools that is left asks for no more, and that
// an error ends it.
func TestAllPoolsEnds(t *testing.T) {
	asked := 0
	c := scripted(func(*http.Request) *http.Response {
		if asked++; asked == 2 {
			return say(400, `{"error":"the generation is gone"}`)
		}
		return say(200, `{"pools":[{"poolId":"0xa"},{"poolId":"0xb"}],"pagination":{"hasMore":true}}`)
	})
	for range c.AllPools(t.Context(), PoolsQuery{}) {
		break
	}
	if asked != 1 {
		t.Errorf("a loop that was left asked %d times; want once", asked)
	}

	rows, failed := 0, error(nil)
	asked = 0
	for _, err := range c.AllPools(t.Context(), PoolsQuery{}) {
		if failed = err; err == nil {
			rows++
		}
	}
	if rows != 2 || !as[*BadRequest](failed) || asked != 2 {
		t.Errorf("%d rows, %v after %d calls; want two rows and the 400", rows, failed, asked)
	}
}
