package edge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/rankings"
)

// deepFilter is a filter whose pages from the third on need a selection, with the
// total cap of deepServer.
const deepFilter = everything + "&range=in&limit=20"

// deepServer serves a board of its own, so that a test can take chains offline.
func deepServer(t *testing.T, freshness time.Duration) (*front, *rankings.Board) {
	t.Helper()
	board := boardOf(chainsWith()...)
	s := serve(t, func(c *Config) {
		c.Board = board
		c.Limits.TotalCap, c.Limits.Freshness = 40, freshness
	})
	return s, board
}

// setOffline takes chain 42161 offline, or brings it back.
func setOffline(board *rankings.Board, offline bool) {
	for _, c := range chainsWith() {
		if c.ID == 42161 {
			c.Status.Offline = offline
			board.SetStatus(c.ID, c.Status)
		}
	}
}

// chainsIn returns the chains of the rows of a list.
func chainsIn(rows []any) map[string]bool {
	chains := map[string]bool{}
	for _, row := range rows {
		chains[fmt.Sprint(row.(map[string]any)["chainId"])] = true
	}
	return chains
}

// checkPartial checks a deep page without chain 42161.
func checkPartial(t *testing.T, when string, rows []any, body map[string]any, a answer) {
	t.Helper()
	if chains := chainsIn(rows); chains["42161"] || len(rows) == 0 {
		t.Errorf("%s: %d rows of chains %v; want rows, none of 42161", when, len(rows), chains)
	}

	if body["partial"] != true || fmt.Sprint(body["missingChains"]) != "[42161]" {
		t.Errorf("%s: partial is %v, missing are %v", when, body["partial"], body["missingChains"])
	}
	if units := a.header.Get("X-Units-Charged"); units != "0" {
		t.Errorf("%s: %s units; a partial page is not charged", when, units)
	}
	if got := a.header.Get("X-Generation"); got != "1:1,43114:1" {
		t.Errorf("%s: generations %s; want 1:1,43114:1", when, got)
	}
}

// TestDeepPartial checks deep pages while a chain is offline: a selection over all
// chains is not used for them, and the other way round.
func TestDeepPartial(t *testing.T) {
	s, board := deepServer(t, time.Minute)
	rows, _, body, a := s.page(deepFilter + "&page=3")
	if !chainsIn(rows)["42161"] || body["partial"] != nil || a.header.Get("X-Units-Charged") != "1" {
		t.Fatalf("with every chain: chains %v, partial %v", chainsIn(rows), body["partial"])
	}

	setOffline(board, true)
	rows, _, body, a = s.page(deepFilter + "&page=3")
	checkPartial(t, "offline", rows, body, a)

	setOffline(board, false)
	rows, _, body, _ = s.page(deepFilter + "&page=3")
	if !chainsIn(rows)["42161"] || body["partial"] != nil {
		t.Errorf("back again: chains %v, partial %v", chainsIn(rows), body["partial"])
	}
}

// TestCopyPartial checks the last copies of deep pages: a copy over all chains is
// not served while one is offline, and a partial copy is not charged.
func TestCopyPartial(t *testing.T) {
	s, board := deepServer(t, 50*time.Millisecond)
	deep := deepFilter + "&page=3"
	setWait := func(wait time.Duration) {
		limits := *s.server.pages.Limits()
		limits.ScanWait = wait
		s.server.pages.SetLimits(limits)
	}
	expire := func() { // lets selections expire, and start no more that is waited for
		time.Sleep(200 * time.Millisecond)
		setWait(0)
	}

	s.page(deep)
	expire()
	setOffline(board, true)
	if a := s.get(deep); a.code != 503 && !strings.Contains(a.body, `"partial":true`) {
		t.Errorf("a chain is offline, and the only copy has it: got %d; want 503, or a selection "+
			"that was done at once", a.code)
	}

	// The partial page is served, and then again as a copy.
	setWait(s.server.cfg.Limits.ScanWait)
	rows, _, body, a := s.page(deep)
	checkPartial(t, "selected", rows, body, a)
	copies := `tidemark_edge_answers_total{flag="copy"}`
	for range 20 { // a selection may be done at once; then the page is no copy
		expire()
		rows, _, body, a = s.page(deep)
		if s.metric(copies) != "0" {
			break
		}
	}
	checkPartial(t, "copied", rows, body, a)
	for _, metric := range []string{copies, `tidemark_edge_answers_total{flag="partial"}`} {
		if s.metric(metric) == "0" {
			t.Errorf("%s is 0", metric)
		}
	}
}
