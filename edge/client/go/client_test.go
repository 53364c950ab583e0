package tidemark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// node is a server that gives scripted answers, and records the paths asked for.
type node struct {
	*httptest.Server
	asked []string
}

type told struct {
	status int
	retry  string
	body   string
}

func serve(t *testing.T, answers ...told) (*node, *Client) {
	n := new(node)
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.asked = append(n.asked, r.URL.String())
		if r.Header.Get("KC-APIKey") != "tm_srv_test" {
			t.Errorf("the key is %q", r.Header.Get("KC-APIKey"))
		}

		// The last answer is repeated.
		a := answers[min(len(n.asked), len(answers))-1]
		if a.retry != "" {
			w.Header().Set("Retry-After", a.retry)
		}
		w.Header().Set("X-Request-Id", "id-1")
		w.Header().Set("X-Generation", "1:7")
		w.WriteHeader(a.status)
		fmt.Fprint(w, a.body)
	}))
	t.Cleanup(n.Close)
	return n, New(n.URL, "tm_srv_test")
}

// TestRedirects checks that the key goes to the host that it is for only.
func TestRedirects(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host gets the key %q", r.Header.Get("KC-APIKey"))
	}))
	defer elsewhere.Close()
	other := strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)
	moved := httptest.NewServer(http.RedirectHandler(other, http.StatusFound))
	defer moved.Close()
	_, err := New(moved.URL, "tm_srv_test").Positions(t.Context(), PositionsQuery{})
	if told := (*APIError)(nil); !errors.As(err, &told) || told.Status != http.StatusFound {
		t.Errorf("got %v; want the redirect", err)
	}

	node, _ := serve(t, told{200, "", `{"positions": []}`})
	near := httptest.NewServer(http.RedirectHandler(node.URL+"/v1/positions", http.StatusFound))
	defer near.Close()
	if _, err := New(near.URL, "tm_srv_test").Positions(t.Context(), PositionsQuery{}); err != nil {
		t.Errorf("a redirect within a host: %v", err)
	}
}

// TestErrors checks that every status has its own type, with all that the answer
// says.
func TestErrors(t *testing.T) {
	f := func(status int, retry, body string, is func(error) bool, wait time.Duration) {
		t.Helper()
		_, c := serve(t, told{status, retry, body})
		c.Attempts = 1
		_, err := c.Pools(t.Context(), PoolsQuery{})
		var e *APIError
		if !is(err) || !errors.As(err, &e) {
			t.Errorf("%d: got %T", status, err)
			return
		}
		if e.Status != status || e.RetryAfter != wait || e.RequestID != "id-1" || e.Message == "" {
			t.Errorf("%d: got %+v", status, e)
		}
	}

	f(400, "", `{"error":"limit 500"}`, as[*BadRequest], 0)
	f(401, "", `{"error":"no key"}`, as[*Unauthorized], 0)
	f(403, "", `{"error":"origin"}`, as[*Forbidden], 0)
	f(404, "", `{"error":"no such pool"}`, as[*NotFound], 0)
	f(410, "", `{"error":"generation is not kept"}`, as[*Gone], 0)
	f(429, "2", `{"error":"too fast"}`, as[*RateLimited], 2*time.Second)
	f(429, "86400", `{"error":"spent","retryAfterSec":86400}`, as[*QuotaSpent], 24*time.Hour)
	f(503, "1", `{"error":"not now"}`, as[*Unavailable], time.Second)
	f(500, "", `{"error":"internal"}`, as[*ServerError], 0)
	f(502, "", `<html>a proxy</html>`, as[*ServerError], 0)
}

func as[T error](err error) bool {
	var want T
	return errors.As(err, &want)
}

// TestRetries checks that temporary failures are retried after Retry-After, and
// others are not.
func TestRetries(t *testing.T) {
	ok := told{200, "", `{"pools":[],"pagination":{"page":1,"limit":1,"total":0,"totalPages":0,"hasMore":false}}`}
	f := func(want int, fails bool, maxWait time.Duration, answers ...told) {
		t.Helper()
		n, c := serve(t, answers...)
		c.MaxWait = maxWait
		from := time.Now()
		_, err := c.Pools(t.Context(), PoolsQuery{})
		if len(n.asked) != want || (err != nil) != fails {
			t.Errorf("got %d attempts, %v; want %d", len(n.asked), err, want)
		}
		if want > 1 && time.Since(from) < 900*time.Millisecond {
			t.Errorf("waited %s; want about 1s", time.Since(from))
		}
	}

	f(1, false, time.Minute, ok)
	f(2, false, time.Minute, told{503, "1", `{"error":"deep"}`}, ok)
	f(2, false, time.Minute, told{429, "1", `{"error":"burst"}`}, ok)
	f(1, true, time.Minute, told{429, "2000000", `{"error":"spent","retryAfterSec":2000000}`}, ok)
	f(1, true, time.Millisecond, told{503, "1", `{"error":"deep"}`}, ok)
	f(1, true, time.Minute, told{404, "1", `{"error":"none"}`}, ok)
	f(1, true, time.Minute, told{400, "", `{"error":"bad"}`}, ok)
}

// TestParameters checks that the arguments of a call become its parameters.
func TestParameters(t *testing.T) {
	n, c := serve(t, told{200, "", `{"positions":[],"missing":["1-7"]}`}, told{200, "", `{}`})
	positions, err := c.PositionBatch(t.Context(), "1-7", "42161-8")
	if err != nil || len(positions.Missing) != 1 || positions.Missing[0] != "1-7" {
		t.Errorf("positions: got %+v, %v", positions, err)
	}
	if _, err := c.PoolBatch(t.Context(), "1-0x12"); err != nil {
		t.Errorf("pools: %v", err)
	}

	for _, page := range []int64{0, 2} {
		if _, err := c.PoolTicks(t.Context(), 1, "0x12", page, page*500); err != nil {
			t.Errorf("ticks: %v", err)
		}
	}

	for _, days := range []string{"", "60d"} {
		if _, err := c.PoolEstimate(t.Context(), 1, "0x12", -600, 0, 2.5, days); err != nil {
			t.Errorf("estimate: %v", err)
		}
	}

	if _, err := c.Owner(t.Context(), "0xaa"); err != nil {
		t.Errorf("owner: %v", err)
	}

	if _, err := c.Tokens(t.Context(), TokensQuery{ChainID: 1, Search: "us d"}); err != nil {
		t.Errorf("tokens: %v", err)
	}
	if _, err := c.Token(t.Context(), 1, "0xaa"); err != nil {
		t.Errorf("token: %v", err)
	}

	const ticks = "/v1/pools/1/swapdex-v4/0x12/ticks"
	const estimate, asked = "/v1/pools/1/swapdex-v4/0x12/estimate?", "tickLower=-600&tickUpper=0&valueUsd=2.5"
	want := []string{
		"/v1/positions/batch?ids=1-7%2C42161-8", "/v1/pools/batch?ids=1-0x12",
		ticks, ticks + "?limit=1000&page=2",
		estimate + asked, estimate + "range=60d&" + asked, "/v1/owners/0xaa",
		"/v1/tokens?chainId=1&search=us+d", "/v1/tokens/1/0xaa",
	}
	if !slices.Equal(n.asked, want) {
		t.Errorf("asked %q; want %q", n.asked, want)
	}
}

// TestBackoff checks that without Retry-After the waits double, from about one
// second on.
func TestBackoff(t *testing.T) {
	c := New("http://localhost", "")
	for attempt, about := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second} {
		for range 100 {
			wait, again := c.retryWait(t.Context(), &ServerError{APIError{Status: 500}}, attempt)
			if !again || wait < about/2 || wait >= about*3/2 {
				t.Fatalf("attempt %d: got %s, %v; want about %s", attempt, wait, again, about)
			}
		}
	}
	if _, again := c.retryWait(t.Context(), &ServerError{APIError{Status: 500}}, defaultAttempts); again {
		t.Errorf("there is another attempt after %d", defaultAttempts)
	}
}

// TestCancel checks that a wait ends when its context does.
func TestCancel(t *testing.T) {
	_, c := serve(t, told{503, "30", `{"error":"deep"}`})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Pools(ctx, PoolsQuery{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want a deadline error", err)
	}
}

// TestAll checks that an iterator reads pages until hasMore is false, that a loop
// may be left and run again, and that an error ends it.
func TestAll(t *testing.T) {
	page := func(n int, more bool) told {
		rows := make([]string, 2)
		for i := range rows {
			rows[i] = fmt.Sprintf(`{"rank":%d,"positionId":"%d"}`, 2*n+i-1, 2*n+i)
		}
		return told{200, "", fmt.Sprintf(
			`{"positions":[%s],"pagination":{"page":%d,"limit":2,"total":6,"totalPages":3,"hasMore":%t}}`,
			strings.Join(rows, ","), n, more)}
	}

	n, c := serve(t, page(1, true), page(2, true), page(3, false), page(1, true), told{404, "", `{"error":"x"}`})
	q := PositionsQuery{Sort: "pnl", Limit: 2, MinValueUsd: USD(0), IncludeRisky: true}
	all := c.AllPositions(t.Context(), q)

	var got []string
	for p, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p.PositionID)
	}
	if strings.Join(got, " ") != "2 3 4 5 6 7" {
		t.Errorf("got %v; want positions 2 to 7", got)
	}
	want := "/v1/positions?generation=1%3A7&includeRisky=true&limit=2&minValueUsd=0&page=2&sort=pnl"
	if len(n.asked) != 3 || n.asked[1] != want || !strings.Contains(n.asked[0], "generation=pin&") {
		t.Errorf("asked %v; want 3 pages, the second as %s", n.asked, want)
	}

	// A loop that is left asks for no further page, and the next one starts anew.
	for range all {
		break
	}
	if len(n.asked) != 4 {
		t.Errorf("a loop that was left asked for %d pages; want 1", len(n.asked)-3)
	}
	for _, err := range all {
		if !as[*NotFound](err) {
			t.Errorf("got %v; want NotFound", err)
		}
	}
}

// TestAllPools checks that the iterator over pools begins at the page of its query
// and reads the largest pages unless the query has a limit.
func TestAllPools(t *testing.T) {
	page := func(id string, more bool) told {
		return told{200, "", fmt.Sprintf(`{"pools":[{"poolId":"%s"}],"pagination":{"hasMore":%t}}`, id, more)}
	}

	f := func(q PoolsQuery, want string) {
		t.Helper()
		n, c := serve(t, page("0xa", true), page("0xb", false))
		var got []string
		for p, err := range c.AllPools(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p.PoolID)
		}
		if strings.Join(got, " ") != "0xa 0xb" || strings.Join(n.asked, " ") != want {
			t.Errorf("got pools %v from %v; want %s", got, n.asked, want)
		}
	}
	f(PoolsQuery{}, "/v1/pools?generation=pin&limit=100&page=1 /v1/pools?generation=1%3A7&limit=100&page=2")
	f(PoolsQuery{Page: 3, Limit: 1, Generation: "1:2"},
		"/v1/pools?generation=1%3A2&limit=1&page=3 /v1/pools?generation=1%3A7&limit=1&page=4")
}

// TestExport checks that an export goes on while the list does, from the same
// generations, and that one that is cut says where.
func TestExport(t *testing.T) {
	rows := func(from, to int, end string) told {
		var text strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintf(&text, "{\"rank\":%d,\"positionId\":\"%d\"}\n", i, i)
		}
		return told{200, "", text.String() + end}
	}

	f := func(after int64, want, asked string, cut *CutExport, answers ...told) {
		t.Helper()
		n, c := serve(t, answers...)
		var got []string
		var failed error
		for p, err := range c.ExportPositions(t.Context(), PositionsQuery{Sort: "pnl", Page: 3, Limit: 7}, after) {
			if failed = err; err == nil {
				got = append(got, p.PositionID)
			}
		}
		if strings.Join(got, " ") != want || strings.Join(n.asked, " ") != asked {
			t.Errorf("got %q from %q; want %q from %q", got, n.asked, want, asked)
		}
		var is *CutExport
		if errors.As(failed, &is) != (cut != nil) || cut != nil && (is.After != cut.After || is.Generation != "1:7" ||
			!strings.Contains(is.Message, cut.Message)) {
			t.Errorf("the error is %v; want %v", failed, cut)
		}
	}

	const all, more = `{"end":true,"rows":2,"generation":"1:7"}` + "\n", `{"end":true,"rows":2,"more":true}` + "\n"
	const first, second = "/v1/positions/export?after=0&sort=pnl", "/v1/positions/export?after=2&generation=1%3A7&sort=pnl"
	f(0, "1 2", first, nil, rows(1, 2, all))
	f(0, "1 2 3", first+" "+second, nil, rows(1, 2, more), rows(3, 3, all))
	f(2, "3", "/v1/positions/export?after=2&sort=pnl", nil, rows(3, 3, all))
	f(0, "1 2", first, &CutExport{After: 2, Message: "the quota"}, rows(1, 2, `{"end":false,"error":"the quota"}`+"\n"))
	f(0, "1 2", first, &CutExport{After: 2, Message: "broke"}, rows(1, 2, ""))
	f(0, "1", first, &CutExport{After: 1, Message: "broke"}, rows(1, 1, `{"rank":2,"posi`))
}

// TestDetail checks that a detail has its row's fields, and that null becomes nil.
func TestDetail(t *testing.T) {
	n, c := serve(t, told{200, "", `{"positionId":"7","rank":null,"metrics":{"pnlUsd":null,"apr":1.5},"transactions":[{"type":"mint"}]}`})
	p, err := c.Position(t.Context(), 1, "7/8")
	if err != nil {
		t.Fatal(err)
	}
	if p.PositionID != "7" || p.Rank != nil || p.Metrics.PnLUsd != nil || *p.Metrics.APR != 1.5 || p.Transactions[0].Type != "mint" {
		text, _ := json.Marshal(p)
		t.Errorf("got %s", text)
	}
	if n.asked[0] != "/v1/positions/1/swapdex-v4/7%2F8" {
		t.Errorf("asked %s", n.asked[0])
	}
}
