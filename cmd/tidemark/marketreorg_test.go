package main

import (
	"testing"
	"time"

	"tidemark/actors/feed"
)

// takeBack replaces all blocks after one by none.
func (s *stage) takeBack(number uint64) {
	to := s.at.chain.Cursor().State.Head
	to.Number = number
	s.must(s.at.chain.Advance(feed.Step{RevertTo: &to, Head: to}, time.Now()))
	s.fresh = false
}

// TestTokenOfReplacedPool: a token whose only pool was in blocks that were replaced is in no
// answer, as on a node that never saw them, although the ledger still knows its decimals.
func TestTokenOfReplacedPool(t *testing.T) {
	s := newStage(t)
	for _, token := range []string{"TIDE", "USD", "GONE"} {
		_, err := s.at.market.Set([]string{"token", token, "18"})
		s.must(err)
	}
	s.happen("pool P TIDE USD 3000 60")
	kept := s.at.chain.Cursor().State.Head.Number
	gone := "/v1/tokens/1/" + s.addresses("GONE")
	f := func(where string, status, total int) {
		t.Helper()
		s.where = where
		s.publish()
		s.ask = s.serve()
		if got := s.ask(s, gone, "").status; got != status {
			t.Errorf("%s: the token is answered %d; want %d", where, got, status)
		}
		list := s.answered("/v1/tokens", "")
		if got := list["pagination"].(map[string]any)["total"]; got != float64(total) || len(list["tokens"].([]any)) != total {
			t.Errorf("%s: %v tokens are listed; want %d", where, got, total)
		}
		if got := len(s.answered("/v1/tokens", "search=gone")["tokens"].([]any)); got != total-2 {
			t.Errorf("%s: a search finds %d tokens; want %d", where, got, total-2)
		}
	}

	f("before its pool", 404, 2)
	s.happen("pool Q TIDE GONE 3000 60")
	f("with its pool", 200, 3)
	s.takeBack(kept)
	s.happen("wait +1m") // the blocks of a script have no hash, and differ by their time
	f("without its pool", 404, 2)
	s.happen("pool R USD GONE 500 10")
	f("with another pool", 200, 3)
}
