package edge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/edge/pages"
	"tidemark/rankings"
)

// page requests a list and returns the parts that tests look at.
func (f *front) page(path string) (rows []any, pagination, body map[string]any, a answer) {
	f.t.Helper()
	a = f.get(path)
	if a.code != 200 {
		f.t.Fatalf("%s: got %d %s", path, a.code, a.body)
	}
	body = a.decoded(f.t)
	name := "positions"
	if strings.HasPrefix(path, "/v1/pools") {
		name = "pools"
	}
	return body[name].([]any), body["pagination"].(map[string]any), body, a
}

// everything is a list of all positions.
const everything = "/v1/positions?status=all&minPoolTvl=0&includeRisky=1&sort=nft_id_asc"

func TestPaging(t *testing.T) {
	s := serve(t, nil)
	f := func(path, want string) {
		t.Helper()
		rows, p, _, _ := s.page(path)
		got := fmt.Sprint(len(rows), " of ", p["total"], " pages ", p["totalPages"], " more ", p["hasMore"], " capped ", p["totalCapped"])
		if got != want {
			t.Errorf("%s: got %s; want %s", path, got, want)
		}
	}

	f(everything, "20 of 550 pages 28 more true capped <nil>")
	f(everything+"&page=28", "10 of 550 pages 28 more false capped <nil>")
	f(everything+"&page=29", "0 of 550 pages 28 more false capped <nil>")
	f(everything+"&page=999999999999999999", "0 of 550 pages 28 more false capped <nil>")
	f(everything+"&limit=100&page=5", "100 of 550 pages 6 more true capped <nil>")
	f(everything+"&limit=55&page=10", "55 of 550 pages 10 more false capped <nil>")
	f("/v1/pools?limit=60&includeRisky=true", "60 of 60 pages 1 more false capped <nil>")
	f("/v1/positions?owner=0x00000000000000000000000000000000000000aa", "0 of 0 pages 0 more false capped <nil>")
	f("/v1/positions?positionId=abc", "0 of 0 pages 0 more false capped <nil>")
}

// TestWalk pages through everything and finds every position once, in order.
func TestWalk(t *testing.T) {
	s := serve(t, nil)
	seen := map[string]bool{}
	for page := 1; ; page++ {
		rows, p, _, _ := s.page(fmt.Sprintf("%s&limit=100&page=%d", everything, page))
		for _, row := range rows {
			r := row.(map[string]any)
			seen[fmt.Sprint(r["chainId"], "/", r["positionId"])] = true
			if rank := r["rank"].(float64); int(rank) != len(seen) {
				t.Fatalf("row %d has rank %v", len(seen), rank)
			}
		}
		if !p["hasMore"].(bool) {
			break
		}
	}

	if len(seen) != 550 {
		t.Errorf("found %d positions; want 550", len(seen))
	}
}

func TestTotalCap(t *testing.T) {
	s := serve(t, func(c *Config) { c.Limits.TotalCap = 40 })
	f := func(path, want string) {
		t.Helper()
		rows, p, _, _ := s.page(path)
		got := fmt.Sprint(len(rows), " of ", p["total"], " more ", p["hasMore"], " capped ", p["totalCapped"])
		if got != want {
			t.Errorf("%s: got %s; want %s", path, got, want)
		}
	}

	f(everything, "20 of 40 more true capped true")
	f(everything+"&page=3", "20 of 61 more true capped true")
	f(everything+"&page=28", "10 of 550 more false capped true")
	f(everything+"&page=30", "0 of 40 more false capped true")
	f(everything+"&range=in&page=2", "20 of 41 more true capped true")
	f(everything+"&range=in&page=3", "20 of 61 more true capped true")
}

// TestExactlyTheCap checks that a list with exactly as many rows as are counted is
// not capped.
func TestExactlyTheCap(t *testing.T) {
	f := func(limit int, path, want string) {
		t.Helper()
		s := serve(t, func(c *Config) { c.Limits.TotalCap = limit })
		_, p, _, _ := s.page(path)
		if got := fmt.Sprint(p["total"], " capped ", p["totalCapped"]); got != want {
			t.Errorf("%s with a cap of %d: got %s; want %s", path, limit, got, want)
		}
	}

	f(550, everything, "550 capped <nil>")
	f(549, everything, "549 capped true")
	_, p, _, _ := serve(t, nil).page(everything + "&range=in")
	rows := int(p["total"].(float64))
	f(rows, everything+"&range=in", fmt.Sprint(rows, " capped <nil>"))
	f(rows-1, everything+"&range=in", fmt.Sprint(rows-1, " capped true"))
}

// TestLaterPages requests pages in random order, of a filter with more rows than
// are counted and of one with fewer.
func TestLaterPages(t *testing.T) {
	s := serve(t, func(c *Config) { c.Limits.TotalCap = 90 })
	for _, path := range []string{everything + "&range=in", everything + "&minValueUsd=50000"} {
		whole, _, _, _ := s.page(path + "&limit=100")
		for _, page := range []int{4, 1, 9, 7, 8, 2, 12, 3, 5} {
			rows, _, _, _ := s.page(fmt.Sprintf("%s&limit=7&page=%d", path, page))
			to := min(7*page, len(whole))
			if want := whole[min(7*page-7, to):to]; fmt.Sprint(rows) != fmt.Sprint(want) {
				t.Errorf("%s, page %d: got %d rows; want others, %d", path, page, len(rows), len(want))
			}
		}
	}
}

// TestNoWait checks that without waits the first answer is incomplete, and that a
// retry finds the result of the work that it started.
func TestNoWait(t *testing.T) {
	s := serve(t, func(c *Config) {
		c.Limits.TotalCap, c.Limits.CountWait, c.Limits.ScanWait = 40, 0, 1
	})

	// On a busy machine the work may be done before it is seen that it was not waited for.
	// Then another filter is asked for.
	var p map[string]any
	counted := ""
	for few := range 20 {
		counted = fmt.Sprintf("/v1/positions?status=all&minPoolTvl=0.5&includeRisky=1&range=out&minValueUsd=%d", 5000000+few)
		if _, p, _, _ = s.page(counted); p["totalCapped"] == true {
			break
		}
	}
	if p["totalCapped"] != true {
		t.Errorf("a count that was not waited for: got %v", p)
	}
	eventually(t, func() bool {
		_, p, _, _ := s.page(counted)
		return p["totalCapped"] == nil
	})

	const filtered = everything + "&range=in"
	var a answer
	deep := ""
	for few := range 20 {
		deep = fmt.Sprintf("%s&minValueUsd=%d&page=4", filtered, few)
		if a = s.get(deep); a.code == 503 {
			break
		}
	}
	if a.code != 503 || a.header.Get("Retry-After") != "1" || a.header.Get("X-Units-Charged") != "0" {
		t.Errorf("deep page: got %d with %v; want a 503 at first", a.code, a.header)
	}
	eventually(t, func() bool { return s.get(deep).code == 200 })
	rows, p, _, _ := s.page(deep)
	if len(rows) != 20 || p["totalCapped"] != true {
		t.Errorf("deep page: got %d rows, %v", len(rows), p)
	}
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for range 1000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("did not happen within 10 s")
}

// TestLastCopy checks that a deep page without a selection is served from the last
// copy, flagged stale.
func TestLastCopy(t *testing.T) {
	s := serve(t, func(c *Config) {
		c.Limits.TotalCap, c.Limits.Freshness = 40, 50*time.Millisecond
	})

	// One row, since a vector write tells the race detector nothing of what the
	// server had read before, and the limit is changed below.
	const deep = everything + "&range=in&limit=1&page=41"
	rows, _, _, _ := s.page(deep)
	time.Sleep(200 * time.Millisecond)
	s.limit(func(l *pages.Limits) { l.ScanWait = 0 })
	again, _, body, a := s.page(deep)
	if fmt.Sprint(again) != fmt.Sprint(rows) || body["stale"] != true || body["dataAsOf"] == nil {
		t.Errorf("got %d rows, stale %v, dataAsOf %v", len(again), body["stale"], body["dataAsOf"])
	}
	if a.header.Get("X-Units-Charged") != "1" {
		t.Errorf("a stale page is charged: got %q", a.header.Get("X-Units-Charged"))
	}
}

func TestStale(t *testing.T) {
	s := serve(t, func(c *Config) { c.Limits.Freshness = -time.Second })
	fresh := serve(t, nil)
	pool := "/v1/pools/1/swapdex-v4/" + stateOf(1).Pools.At(0).ID.String()

	for _, path := range []string{
		"/v1/positions?limit=3", "/v1/positions?limit=3", "/v1/pools?limit=3", "/v1/positions/1/swapdex-v4/1",
		"/v1/positions/1/swapdex-v4/1/charts", "/v1/positions/1/swapdex-v4/1/explain", pool, pool + "/charts",
	} {
		a, b := s.get(path), fresh.get(path)
		m := a.decoded(t)

		at, err := time.Parse("2006-01-02T15:04:05.000Z", fmt.Sprint(m["dataAsOf"]))
		if m["stale"] != true || err != nil || time.Since(at) > time.Minute {
			t.Errorf("%s: stale %v, dataAsOf %v", path, m["stale"], m["dataAsOf"])
		}

		if !strings.HasPrefix(a.body, b.body[:len(b.body)-1]) || strings.Contains(b.body, "dataAsOf") {
			t.Errorf("%s: the fresh answer is not what the stale one begins with", path)
		}
	}
	if got := s.metric(`tidemark_edge_answers_total{flag="stale"}`); got != "8" {
		t.Errorf("%s stale answers are counted; want 8", got)
	}
}

// TestPartial checks lists and details when a chain is unavailable.
func TestPartial(t *testing.T) {
	n := sharedNode()
	board := new(rankings.Board)
	snapshot := n.board.Load()
	for _, c := range snapshot.Chains {
		board.SetStatus(c.ID, c.Status)
		if c.ID != 42161 {
			board.Publish(c.View)
		}
	}

	s := serve(t, func(c *Config) { c.Board = board })
	for range 2 {
		_, p, body, a := s.page(everything)
		if body["partial"] != true || fmt.Sprint(body["missingChains"]) != "[42161]" || p["total"] != 400.0 {
			t.Errorf("got partial %v, missing %v, %v", body["partial"], body["missingChains"], p)
		}
		if a.header.Get("X-Units-Charged") != "0" || a.header.Get("X-Generation") != "1:1,43114:1" {
			t.Errorf("headers: %v", a.header)
		}
	}

	f := func(path string, code int) {
		t.Helper()
		if a := s.get(path); a.code != code || code == 503 && a.header.Get("Retry-After") == "" {
			t.Errorf("%s: got %d %s %v; want %d", path, a.code, a.body, a.header, code)
		}
	}

	f("/v1/positions?chainId=1", 200)
	f("/v1/positions?chainId=42161", 503)
	f("/v1/pools?chainId=42161", 503)
	f("/v1/positions/42161/swapdex-v4/1", 503)
	f("/v1/positions/42161/swapdex-v4/abc", 503)
	f("/v1/pools/42161/swapdex-v4/"+somePool, 503)
	f("/v1/positions?chainId=42161&sort=bad", 400)
	if health := s.get("/health").decoded(t); health["status"] != "degraded" {
		t.Errorf("health: got %v", health)
	}

	status := snapshot.Chains[0].Status
	status.Offline = true
	board.SetStatus(1, status)
	f("/v1/positions?chainId=1", 503)
	if _, p, body, _ := s.page(everything + "&limit=1"); fmt.Sprint(body["missingChains"]) != "[1 42161]" || p["total"] != 100.0 {
		t.Errorf("offline: got %v, %v", body["missingChains"], p)
	}

	s = serve(t, func(c *Config) { c.Board, c.Limits.UnavailableAfter = board, -time.Hour })
	f("/v1/positions", 503)
	a := s.get("/health")
	if m := a.decoded(t); a.code != 503 || m["status"] != "down" || m["error"] == nil || len(m["chains"].([]any)) != 3 {
		t.Errorf("health: got %d %s", a.code, a.body)
	}
}
