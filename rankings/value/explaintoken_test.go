package value

import (
	"maps"
	"testing"

	"tidemark/rankings/market"
)

// TestExplainToken: every token of a market with anchors, two hops, thin and risky
// ones is explained as the price that the generation has, alone as with all others.
func TestExplainToken(t *testing.T) {
	w := newWorld()
	one, two, three := w.token(3, 18), w.token(4, 6), w.token(5, 8)
	thin, lonely, behind := w.token(6, 18), w.token(7, 18), w.token(8, 18)
	w.poolFull(one, w.usd, 4, 200_000)
	w.poolFull(one, w.eth, 0.0016, 100_000)
	w.poolFull(two, one, 0.5, 80_000)
	w.poolFull(three, two, 10, 80_000) // three hops: no price
	w.poolFull(thin, w.usd, 7, 100)
	w.pool(lonely, thin, 1)
	w.poolFull(one, behind, 2, 900_000) // as two, from the other side

	st := w.state()
	sources := map[market.Source]int{}
	for i := range st.Tokens.Len() {
		e := ExplainToken(st, &w.params, nil, i)
		if want := shownPrice(st.Prices.At(i)); e.Token != i || !sameShown(&e.Price, &want) {
			t.Errorf("token %d: got %+v; want %+v", i, e.Price, want)
		}
		sources[e.Price.Source]++

		used := 0
		for k := range e.Markets {
			if m := &e.Markets[k]; m.Used {
				used++
			} else if m.Reason == market.ReasonNone && !e.Price.Anchor {
				t.Errorf("token %d: market %d is not used, for no reason", i, m.Pool)
			}
		}
		if used != int(e.Price.Markets) {
			t.Errorf("token %d: %d markets are used; the price has %d", i, used, e.Price.Markets)
		}
	}
	if sources[market.SourceAnchor] != 2 || sources[market.SourcePool] != 1 || sources[market.SourceDerived] != 2 ||
		sources[market.SourceNone] != 3 {
		t.Errorf("the sources are %v", sources)
	}
}

// TestExplainsWhatCounts: an explanation solves the tokens that it is about, and of the
// others only those through which they are priced: a row of two tokens does not price
// what else trades against a stable.
func TestExplainsWhatCounts(t *testing.T) {
	w := newWorld()
	asked, between, beyond, other := w.token(3, 18), w.token(4, 18), w.token(5, 18), w.token(6, 18)
	w.poolFull(asked, w.usd, 4, 200_000)
	w.poolFull(asked, between, 2, 100_000)
	w.poolFull(between, w.usd, 2, 100_000)
	w.poolFull(w.eth, between, 1000, 100_000)
	w.poolFull(between, beyond, 2, 100_000)
	w.poolFull(beyond, w.usd, 1, 100_000)
	w.poolFull(other, w.usd, 7, 100_000)
	w.poolFull(w.eth, other, 300, 100_000)

	// Tokens of no row, against a stable of which none of them is asked.
	usdt, aside := w.token(7, 6), w.token(8, 18)
	w.params.Stables = append(w.params.Stables, w.address(usdt))
	w.poolFull(usdt, aside, 2, 100_000)
	w.poolFull(other, usdt, 7, 100_000)
	w.poolFull(usdt, beyond, 1, 100_000)
	w.state()

	f := func(want map[uint32]int, tokens ...uint32) {
		t.Helper()
		got := map[uint32]int{}
		for _, q := range w.solverOf().solveTokens(tokens...).quotes {
			got[q.token]++
		}
		if !maps.Equal(got, want) {
			t.Errorf("for tokens %d there are quotes of tokens %v; want %v", tokens, got, want)
		}
	}

	// Both sides of a pool without an anchor are quoted, as one may price the other. The
	// native currency is always asked for, and so are the pools that it is in.
	f(map[uint32]int{asked: 2, between: 3, other: 1}, asked)
	f(map[uint32]int{asked: 2, between: 3, other: 1}, w.eth, asked)
	f(map[uint32]int{asked: 2, between: 4, beyond: 3, other: 1}, between)
	f(map[uint32]int{between: 1, other: 3}, other)
	f(map[uint32]int{asked: 1, between: 2, beyond: 1, other: 2}, w.usd)
}

// TestOmittedMarkets: of many markets the deepest are listed, and the others counted.
func TestOmittedMarkets(t *testing.T) {
	f := func(markets, listed, omitted int) {
		t.Helper()
		w := newWorld()
		token := w.token(9, 18)
		for n := range markets {
			w.poolFull(token, w.usd, 4, float64(200_000+n))
		}
		e := ExplainToken(w.state(), &w.params, nil, token)
		if len(e.Markets) != listed || e.Omitted != omitted || int(e.Price.Markets) != markets {
			t.Fatalf("%d markets: %d are listed, %d omitted, %d used", markets, len(e.Markets), e.Omitted, e.Price.Markets)
		}
		for n, m := range e.Markets {
			if m.Pool != uint32(markets-n) { // after the native currency's
				t.Fatalf("%d markets: number %d is of pool %d", markets, n, m.Pool)
			}
		}
	}

	f(MarketsExplained-1, MarketsExplained-1, 0)
	f(MarketsExplained, MarketsExplained, 0)
	f(MarketsExplained+2, MarketsExplained, 2)
}

// sameShown compares prices, of which an unknown one is not equal to itself.
func sameShown(a, b *market.Price) bool {
	x, y := *a, *b
	if !market.Known(x.Usd) && !market.Known(y.Usd) {
		x.Usd, y.Usd = 0, 0
	}
	return x == y
}
