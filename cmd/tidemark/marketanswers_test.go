package main

import (
	"slices"
	"testing"

	"tidemark/rankings/value"
)

// TestExplainedAtItsAnswers: an explanation is made with the answers of the
// price feed that its row was valued at, whatever the feed has said since.
func TestExplainedAtItsAnswers(t *testing.T) {
	s := serveMarket(t, 1, 80, 28)
	s.redo = false
	rows, _ := s.page("positions", "status=active&minPoolTvl=0&includeRisky=true&limit=100")

	later := slices.Clone(s.answers)
	for i := range later {
		later[i].Usd *= 1.5
	}
	fed := 0
	for _, answers := range [][]value.FeedPrice{later, nil} {
		s.answers = answers
		for _, row := range rows {
			for _, leg := range []string{"token0", "token1"} {
				if find(row, "pricing."+leg+".source") == "feed" {
					s.explain(row)
					fed++
				}
			}
		}
	}
	if fed == 0 {
		t.Error("no row is valued at an answer of the feed")
	}
}
