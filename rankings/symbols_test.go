package rankings

import (
	"testing"

	"tidemark/rankings/market"
	"tidemark/rankings/texts"
)

// Two tokens have the same symbol if neither has one or both have the same text.
func TestSameSymbol(t *testing.T) {
	token := func(symbol string) *market.Token { return &market.Token{Symbol: texts.New(symbol)} }
	f := func(a, b *market.Token, want bool) {
		t.Helper()
		if sameSymbol(a, b) != want || sameSymbol(b, a) != want {
			t.Errorf("%v and %v: want them to be the same: %t", a.Symbol, b.Symbol, want)
		}
	}

	f(new(market.Token), new(market.Token), true)
	f(new(market.Token), token("ETH"), false)
	f(new(market.Token), token(""), false)
	f(token("ETH"), token("ETH"), true)
	f(token("ETH"), token("eth"), false)
}
