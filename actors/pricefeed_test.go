package actors

import (
	"testing"

	"tidemark/rankings/market"
)

func TestParsePrices(t *testing.T) {
	const token = "0xA0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"
	got, err := parsePrices([]byte(`{"1:`+token+`": 0.999, "42161:`+token+`": 2}`), 77)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := market.ParseAddress(token)
	if p := got[1]; len(p) != 1 || p[0].Token != want || p[0].Usd != 0.999 || p[0].AsOf != 77 {
		t.Errorf("chain 1 has %+v", p)
	}
	if p := got[42161]; len(p) != 1 || p[0].Usd != 2 {
		t.Errorf("chain 42161 has %+v", p)
	}
	f := func(text string) {
		t.Helper()
		if got, err := parsePrices([]byte(text), 0); err == nil {
			t.Errorf("%s was read as %v", text, got)
		}
	}
	f(``)
	f(`[]`)
	f(`{"1:` + token + `": "1"}`)
	f(`{"1:` + token + `": -1}`)
	f(`{"1:` + token + `": 1e999}`)
	f(`{"` + token + `": 1}`)
	f(`{"one:` + token + `": 1}`)
	f(`{"1:0x12": 1}`)
}
