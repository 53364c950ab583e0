package value

import (
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

// sameShown compares prices, of which an unknown one is not equal to itself.
func sameShown(a, b *market.Price) bool {
	x, y := *a, *b
	if !market.Known(x.Usd) && !market.Known(y.Usd) {
		x.Usd, y.Usd = 0, 0
	}
	return x == y
}
