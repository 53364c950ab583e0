package render

import (
	"math"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// TestSeveralExplanations: lists of two have a comma between, at every level, and each
// number stands in its own field.
func TestSeveralExplanations(t *testing.T) {
	checks := []value.Check{{Name: "market-usd", Have: 11, Want: 12}, {Name: "market-age", Have: 13, Want: 14, Met: true}}
	markets := []value.MarketExplanation{
		{Pool: 1, By: 1, ByUsd: 1, Usd: 2, ReachUsd: 3, WeightUsd: 4, Used: true, Checks: checks},
		{Pool: 0, ByUsd: 5, Usd: market.Unknown, ReachUsd: 6, WeightUsd: 7, Reason: market.ReasonStalePrice},
	}
	e := &value.Explanation{Now: 1_700_000_000, Metrics: value.Metrics{Figures: value.Figures{Reason: market.ReasonNoMarket}}}
	e.Prices = []value.PriceExplanation{
		{Token: 0, Price: market.Price{Usd: 8, ExitUsd: 9, Source: market.SourcePool}, FeedUsd: 10, Markets: markets, Checks: checks},
		{Token: 2, Price: market.Price{Usd: market.Unknown, ExitUsd: math.Inf(1), Reason: market.ReasonBadDecimals},
			FeedUsd: market.Unknown, Omitted: 3},
	}
	raw := clmath.U256{42}
	terms := []value.Term{{Name: "a", Value: 1, Raw: &raw}, {Name: "b", Value: market.Unknown}}
	e.Steps = []value.Step{{Name: "V", Formula: "a + b", Value: 3, Terms: terms}, {Name: "W", Formula: "V", Value: market.Unknown}}
	golden(t, "explanation_several.json", AppendExplanation(nil, testState(), 1, e))
}

// TestPublishedHealth: a chain with a generation names its block, with the hash where it
// is known.
func TestPublishedHealth(t *testing.T) {
	body := AppendHealth(nil, OK, "v1")

	for i, hash := range []market.Hash{{}, {0xab, 31: 1}} {
		st := testState()
		st.Head.Hash = hash
		view, _ := rankings.Build(nil, st, uint64(7+i))
		view.Confirm(1_700_000_400_500)
		if i > 0 {
			body = append(body, ',')
		}
		status := rankings.ChainStatus{LastIndexed: st.Head, ChainHead: st.Head}
		body = AppendChainHealth(body, &rankings.Chain{ID: 1, View: view, Status: status}, OK, "", nil)
	}
	golden(t, "health_published.json", append(body, `]}`...))
}

// TestEntryValue: principal and fees of both tokens add up at the prices of their time.
func TestEntryValue(t *testing.T) {
	f := func(amount0, amount1, fees0, fees1 uint64, price0, price1, want float64) {
		t.Helper()
		got := entryValueUsd(&market.Transaction{
			Amount0: clmath.U256{amount0}, Amount1: clmath.U256{amount1},
			Fees0: clmath.U256{fees0}, Fees1: clmath.U256{fees1}, Price0Usd: price0, Price1Usd: price1,
		}, Decimals{3, 1})
		if got != want && (market.Known(got) || market.Known(want)) {
			t.Errorf("%d and %d, fees %d and %d are worth %v; want %v", amount0, amount1, fees0, fees1, got, want)
		}
	}

	f(7000, 40, 3000, 20, 2, 0.5, 7*2+4*0.5+3*2+2*0.5)
	f(7000, 0, 0, 0, 2, market.Unknown, 14)
	f(0, 0, 3000, 0, 2, market.Unknown, 6)
	f(0, 0, 0, 20, market.Unknown, 0.5, 1)
	f(0, 0, 0, 1, 2, market.Unknown, market.Unknown)
}
