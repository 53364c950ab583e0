package edge

import (
	"log/slog"
	"math/rand/v2"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/chain"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// reopened is a board as a restarted process has it: the stored generations,
// with no record in memory.
func reopened(t *testing.T) *rankings.Board {
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

// TestRestart: before the records are loaded, questions with the default
// filters or none have the same answers to the byte, and others a 503.
func TestRestart(t *testing.T) {
	cold := serve(t, func(c *Config) { c.Board = reopened(t) })
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
	a := cold.get("/v1/positions?minValueUsd=17")
	if a.code != 503 || a.header.Get("Retry-After") != "1" || a.header.Get("X-Units-Charged") != "0" {
		t.Errorf("a filter that needs the records: got %d %v", a.code, a.header)
	}
}

// TestGenerated asks random questions, sound and not: the answer is always
// one that the contract names.
func TestGenerated(t *testing.T) {
	s := serve(t, nil)
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	values := []string{
		"1", "0", "42161", "5", "-1", "1e3", "all", "in", "out", "active", "inactive", "true", "apr", "tvl", "age",
		"", "%zz", "%00", "nft_id_desc", "999999999999999999", "0x" + somePool[26:], somePool, "USDC", "%E2%82%AC", "+",
	}
	names := []string{
		"chainId", "protocol", "sort", "page", "limit", "status", "range", "owner", "poolId", "positionId",
		"minValueUsd", "minPoolTvl", "includeRisky", "minTvlUsd", "search", "x",
	}
	for range 3000 {
		path := pick("/v1/positions", "/v1/positions", "/v1/pools", "/v1/usage", "/v1/chains",
			"/v1/"+pick("positions", "pools")+"/"+pick("1", "43114", "x")+"/"+pick("swapdex-v4", "swapdex-v3")+
				"/"+pick("1", "77", somePool, "0x1", url.PathEscape("a/b"))+pick("", "/charts", "/explain", "/x"))
		path += "?"
		for range r.IntN(4) {
			path += pick(names...) + "=" + pick(values...) + "&"
		}
		a := s.ask(pick("GET", "GET", "GET", "HEAD", "OPTIONS", "POST"), path)
		switch a.code {
		case 200, 204, 400, 404, 405:
		default:
			t.Fatalf("%s: got %d %s", path, a.code, a.body)
		}
	}
	if n := s.count(`tidemark_edge_panics_total`); n != strconv.Itoa(0) {
		t.Errorf("%s panics", n)
	}
}
