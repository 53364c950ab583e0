package edge

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/chain"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// reopenBoard returns a board as it is right after a restart: the stored
// generations, with no records loaded yet.
func reopenBoard(t *testing.T) *rankings.Board {
	t.Helper()
	n, board := sharedNode(), new(rankings.Board)
	for _, id := range []market.ChainID{1, 42161, 43114} {
		_, err := chain.Open(chain.Config{
			Ledger: ledger.Config{Chain: id, PositionManager: manager, Start: 100},
			Prices: *params(id), WantsState: true, UnavailableAfter: 10 * time.Minute,
			Log: slog.New(slog.DiscardHandler), Metrics: chain.NewMetrics(metrics.NewSet(), id),
		}, n.store, board)
		must(err)
	}
	return board
}

// TestRestart checks that before the records are loaded, default rankings and
// details are answered with the same bytes, and new filters with a 503.
func TestRestart(t *testing.T) {
	cold := serve(t, func(c *Config) { c.Board = reopenBoard(t) })
	warm := serve(t, nil)
	f := func(path string) {
		t.Helper()
		a, b := cold.get(path), warm.get(path)
		if a.code != 200 || a.body != b.body || a.header.Get("X-Generation") != b.header.Get("X-Generation") {
			t.Errorf("%s: got %d %s %.300s; want %s %.300s", path, a.code,
				a.header.Get("X-Generation"), a.body, b.header.Get("X-Generation"), b.body)
		}
	}

	for _, sort := range rankings.PositionSorts {
		f("/v1/positions?sort=" + sort)
		f("/v1/positions?page=3&limit=7&sort=" + sort)
		f(everything + "&limit=100&page=2&chainId=1")
	}

	for _, sort := range rankings.PoolSorts {
		f("/v1/pools?sort=" + sort)
	}

	path, _ := busiest()
	f(path)
	f(path + "/charts")
	f("/v1/pools/1/swapdex-v4/" + stateOf(1).Pools.At(3).ID.String())

	pool := stateOf(1).Pools.At(3)
	for _, path := range []string{
		"/v1/positions?minValueUsd=17", "/v1/positions/export?minValueUsd=17", "/v1/pools?search=usd", "/v1/tokens",
		fmt.Sprintf("/v1/pools/1/swapdex-v4/%s/estimate?tickLower=%d&tickUpper=%d&valueUsd=9", pool.ID, -pool.TickSpacing, pool.TickSpacing),
	} {
		a := cold.get(path)
		if a.code != 503 || a.header.Get("Retry-After") != "1" || a.header.Get("X-Units-Charged") != "0" ||
			!strings.Contains(a.body, "still loading") {
			t.Errorf("%s needs the records: got %d %v %s", path, a.code, a.header, a.body)
		}
	}
}

// TestPinOfRestart checks that a walk which was pinned before the records were loaded
// answers every filter afterwards, and so do walks that share its generations.
func TestPinOfRestart(t *testing.T) {
	board := reopenBoard(t)
	s := serve(t, func(c *Config) { c.Board = board })
	pinned := s.get("/v1/positions?generation=pin")
	generation := pinned.header.Get("X-Generation")
	f := func(path string, code int) {
		t.Helper()
		for _, cut := range []string{"pin", generation} {
			a := s.get(path + "&generation=" + cut)
			if a.code != code || a.code == 200 && a.header.Get("X-Generation") != generation {
				t.Errorf("%s of %s: got %d %s %.200s; want %d", path, cut, a.code,
					a.header.Get("X-Generation"), a.body, code)
			}
		}
	}

	f("/v1/positions?minValueUsd=17", 503)
	for _, c := range board.Load().Chains {
		view, err := rankings.Complete(c.View, func() {})
		must(err)
		board.Publish(view)
	}
	f("/v1/positions?minValueUsd=17", 200)
	f("/v1/pools?search=usd", 200)
	f("/v1/positions/export?minValueUsd=17", 200)
}
