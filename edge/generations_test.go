package edge

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/actors/feed/sim"
	"tidemark/rankings"
	"tidemark/rankings/block"
	"tidemark/rankings/market"
	"tidemark/storage"
)

// newNode returns an empty node of its own, for tests that publish or confirm.
func newNode(t testing.TB) *node {
	t.Helper()
	n := &node{dir: t.TempDir(), board: new(rankings.Board)}
	var err error
	n.store, err = storage.Open(n.dir, storage.Options{Logger: slog.New(slog.DiscardHandler)})
	must(err)
	t.Cleanup(func() { must(n.store.Close()) })
	return n
}

// small is the size of a chain that is grown for one test.
func small(id market.ChainID) sim.Config {
	return sim.Config{Chain: id, Positions: 60, Pools: 6, Days: 10, Actions: 400}
}

// over serves a node of its own.
func (n *node) over(c *Config) { c.Board, c.Store = n.board, n.store }

// cached requests a path until the page cache answers it: the cache accepts a
// page a moment after it was offered.
func (f *front) cached(path string) answer {
	f.t.Helper()
	const hits = `tidemark_edge_page_cache_total{result="hit"}`
	for range 200 {
		before := f.metric(hits)
		if a := f.get(path); f.metric(hits) != before {
			return a
		}
		time.Sleep(time.Millisecond)
	}
	f.t.Fatalf("%s was never cached", path)
	return answer{}
}

// TestNextGeneration checks that a cached page is not served once the next
// generation is published.
func TestNextGeneration(t *testing.T) {
	n := newNode(t)
	g := n.begin(small(1))
	for range 8 {
		g.advance()
	}
	g.publish()
	s := serve(t, func(c *Config) { n.over(c) })
	st := n.view(1).State
	paths := []string{
		"/v1/positions?sort=underlying_value&minPoolTvl=0&includeRisky=1", "/v1/pools?includeRisky=1",
		fmt.Sprintf("/v1/positions/1/swapdex-v4/%d/explain?", st.Positions.At(0).ID),
		fmt.Sprintf("/v1/pools/1/swapdex-v4/%s?", st.Pools.At(0).ID),
	}

	asked := map[string]answer{}
	for _, path := range paths {
		path = strings.TrimSuffix(path, "?")
		asked[path] = s.cached(path)
	}
	for !g.advance() {
	}
	g.publish()
	n.view(1).Confirm(time.Now().UnixMilli())

	for path, before := range asked {
		after := s.get(path)
		if before.header.Get("X-Generation") != "1:1" || after.header.Get("X-Generation") != "1:2" {
			t.Errorf("%s: got generations %s and %s; want 1:1 and 1:2", path,
				before.header.Get("X-Generation"), after.header.Get("X-Generation"))
		}
		want := fmt.Sprintf(`"asOfBlock":%d`, n.view(1).State.Head.Number)
		if !strings.Contains(after.body, want) {
			t.Errorf("%s: the answer has no %s: %.300s", path, want, after.body)
		}
	}
}

// TestAnswersNameTheirGenerations checks that every answer with data names the
// generations of the chains that it is of, and of no others, also from the cache and
// while a chain is offline.
func TestAnswersNameTheirGenerations(t *testing.T) {
	s := serve(t, func(c *Config) { offline(c, chainsWith(2)...) })
	merged := []string{"/v1/positions", "/v1/pools", "/v1/tokens", "/v1/owners/{address}"}
	f := func(target, want string) {
		t.Helper()
		for _, turn := range []string{"first", "second"} {
			a := s.get(target)
			if got := a.header.Get("X-Generation"); a.code != 200 || got != want {
				t.Errorf("%s, the %s time: %d of generations %q; want %q", target, turn, a.code, got, want)
			}
		}
	}

	for path, item := range document().Paths.Map() {
		headers := item.Get.Responses.Value("200").Value.Headers
		switch {
		case !documented(headers, "X-Generation") || path == "/v1/usage" || path == streamPath:
		case strings.HasSuffix(path, "/export"): // of a chain that is offline it is refused
			f(path+"?chainId=42161", "42161:1")
		case slices.Contains(merged, path):
			f(present(path), "1:1,42161:1")
			if !strings.Contains(path, "{") {
				f(present(path)+"?chainId=42161", "42161:1")
			}
		default:
			f(present(path), "1:1")
		}
	}
}

// view returns the published view of a chain.
func (n *node) view(id market.ChainID) *rankings.View {
	c, _ := n.board.Load().Chain(id)
	return c.View
}

// TestCacheTellsChainsApart checks that pages of the same list over different
// chains do not share a place in the cache, although their generations have the
// same numbers.
func TestCacheTellsChainsApart(t *testing.T) {
	board := boardOf(chainsWith()...)
	s := serve(t, func(c *Config) { c.Board = board })

	for range 2 {
		for i, c := range chainsWith() {
			status := c.Status
			status.Offline = true
			board.SetStatus(c.ID, status)
			a := s.cached(everything)
			if want := fmt.Sprintf(`"missingChains":[%d]`, c.ID); !strings.Contains(a.body, want) {
				t.Errorf("chain %d of 3 is offline: got %.120s; want %s", i, a.body[len(a.body)-120:], want)
			}
			board.SetStatus(c.ID, c.Status)
		}
	}
}

// TestMergedAge checks that a merged answer is as old as its oldest chain.
func TestMergedAge(t *testing.T) {
	n := newNode(t)
	n.grow(small(1))
	n.grow(small(42161))
	now := time.Now()
	n.view(42161).Confirm(now.Add(time.Hour).UnixMilli())
	s := serve(t, func(c *Config) {
		n.over(c)
		c.Limits.Freshness = -30 * time.Minute // chain 1 is older than that, 42161 is not
		c.Limits.TotalCap = 20
	})

	f := func(path string, stale bool) {
		t.Helper()
		for range 3 { // computed, and from the cache
			m := s.get(path).decoded(t)
			at, err := time.Parse(time.RFC3339, fmt.Sprint(m["dataAsOf"]))
			if (m["stale"] == true) != stale || stale && (err != nil || at.Sub(now).Abs() > time.Minute) {
				t.Errorf("%s: stale is %v, dataAsOf %v; want %t and %s", path, m["stale"], m["dataAsOf"], stale, now)
			}
		}
	}
	const all = "minPoolTvl=0&includeRisky=1&status=all&sort=nft_id_asc"
	f("/v1/positions?"+all, true)
	f("/v1/positions?chainId=1&"+all, true)
	f("/v1/positions?chainId=42161&"+all, false)
	f("/v1/positions?page=2&range=in&"+all, true)
	f("/v1/positions?page=2&range=in&chainId=42161&"+all, false)
	f("/v1/pools", true)
	f("/v1/pools?chainId=42161", false)

	stats := s.get("/v1/stats").decoded(t)
	at, err := time.Parse(time.RFC3339, fmt.Sprint(stats["asOf"]))
	if err != nil || at.Sub(now).Abs() > time.Minute {
		t.Errorf("stats are as of %v; want about %s", stats["asOf"], now)
	}
}

// storeReader reads leaves from the store only.
type storeReader struct{ *storage.Store }

func (r storeReader) Leaf(id market.ChainID, number uint64) ([]uint32, error) {
	ids, err := r.Store.Leaf(id, number)
	if !errors.Is(err, block.ErrLeafGone) {
		must(err)
	}
	return ids, err
}

// readable reports whether the first page of every order of a view can still be
// read from the store.
func (n *node) readable(v *rankings.View) bool {
	for sort := range rankings.PositionSorts {
		q := rankings.DefaultPositionQuestion()
		q.Sort = rankings.PositionSort(sort)
		search, err := rankings.SearchPositions([]*rankings.View{v}, &q)
		must(err)
		if _, err = search.Page(storeReader{n.store}, 0, 20); errors.Is(err, block.ErrLeafGone) {
			return false
		}
		must(err)
	}
	return true
}

// TestSelectionUnpins checks that a selection keeps its generation readable until
// it expires, and no longer.
func TestSelectionUnpins(t *testing.T) {
	const freshness = time.Second
	n := newNode(t)
	g := n.begin(small(1))
	for range 5 {
		g.advance()
	}
	g.publish()
	s := serve(t, func(c *Config) {
		n.over(c)
		c.Limits.TotalCap, c.Limits.Freshness = 5, freshness
	})

	old := n.view(1)
	s.get("/v1/positions?status=all&minPoolTvl=0&includeRisky=1&range=in&limit=5&page=2")
	selected := time.Now()
	for range 3 {
		g.advance()
		g.publish()
	}
	if time.Since(selected) < freshness && !n.readable(old) {
		t.Error("a generation was deleted although a selection is kept on it")
	}

	// Once the selection has expired, the next generations delete the leaves. Its
	// timer may be late on a busy machine.
	time.Sleep(time.Until(selected.Add(freshness)))
	for range 15 {
		time.Sleep(20 * time.Millisecond)
		g.advance()
		g.publish()
		if !n.readable(old) {
			return
		}
	}
	t.Error("a generation is still kept after its selection has expired")
}

// TestNoGenerationYet checks that an answer has no X-Generation, rather than an empty one,
// before the first generation is published.
func TestNoGenerationYet(t *testing.T) {
	s := serve(t, func(c *Config) { c.Board = new(rankings.Board) })
	f := func(path string, code int) {
		t.Helper()
		a := s.get(path)
		if named, ok := a.header["X-Generation"]; a.code != code || ok {
			t.Errorf("%s: got %d of generations %q; want %d and no header", path, a.code, named, code)
		}
	}

	f("/v1/usage", 200)
	f("/v1/positions", 503)
	f("/v1/positions?limit=x", 400)
	f("/v1/nothing", 404)
}
