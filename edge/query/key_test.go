package query

import (
	"reflect"
	"strings"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

const (
	tokenA = "0x00000000000000000000000000000000000000aA"
	tokenB = "0xBb00000000000000000000000000000000000000"
	native = "0x0000000000000000000000000000000000000000"
)

// TestKeyFilter reads tokens, fee and hooks in both lists, and prints them.
func TestKeyFilter(t *testing.T) {
	f := func(raw, printed string, want rankings.KeyFilter) {
		t.Helper()
		positions, err := chains.Positions([]byte(raw), new(Options))
		if err != nil || !reflect.DeepEqual(positions.Key, want) {
			t.Errorf("positions?%s: got %+v, %v; want %+v", raw, positions.Key, err, want)
		}
		pools, err := chains.Pools([]byte(raw), new(Options))
		if err != nil || !reflect.DeepEqual(pools.Key, want) {
			t.Errorf("pools?%s: got %+v, %v; want %+v", raw, pools.Key, err, want)
		}
		if got := string(AppendPositions(nil, &positions)); got != printed {
			t.Errorf("positions?%s prints as %s; want %s", raw, got, printed)
		}
		if got := string(AppendPools(nil, &pools)); got != printed {
			t.Errorf("pools?%s prints as %s; want %s", raw, got, printed)
		}
	}

	a, b := strings.ToLower(tokenA), strings.ToLower(tokenB)
	f("", "", rankings.KeyFilter{})
	f("tokens="+tokenA, "tokens="+a, rankings.KeyFilter{Tokens: parsed(tokenA)})
	f("tokens="+tokenA+","+tokenB, "tokens="+a+","+b, rankings.KeyFilter{Tokens: parsed(tokenA, tokenB)})
	f("tokens="+tokenB+"%2C"+tokenA, "tokens="+a+","+b, rankings.KeyFilter{Tokens: parsed(tokenA, tokenB)})
	f("tokens="+native, "tokens="+native, rankings.KeyFilter{Tokens: parsed(native)})
	f("fee=0", "fee=0", rankings.KeyFilter{Fee: new(uint32(0))})
	f("fee=1000000", "fee=1000000", rankings.KeyFilter{Fee: new(uint32(1_000_000))})
	f("hooks=any", "hooks=any", rankings.KeyFilter{Hooked: true})
	f("hooks=none", "hooks=none", rankings.KeyFilter{Hooks: new(market.Address)})
	f("hooks="+native, "hooks=none", rankings.KeyFilter{Hooks: new(market.Address)})
	f("hooks="+tokenB, "hooks="+b, rankings.KeyFilter{Hooks: &parsed(tokenB)[0]})
	f("hooks=any&fee=3000&tokens="+tokenA, "tokens="+a+"&fee=3000&hooks=any",
		rankings.KeyFilter{Tokens: parsed(tokenA), Fee: new(uint32(3000)), Hooked: true})
}

func parsed(texts ...string) (all []market.Address) {
	for _, text := range texts {
		a, err := market.ParseAddress(text)
		if err != nil {
			panic(err)
		}
		all = append(all, a)
	}
	return all
}

// refusedByBothLists returns a check that both lists refuse a query with a message.
func refusedByBothLists(t *testing.T) func(raw, want string) {
	return func(raw, want string) {
		t.Helper()
		if _, err := chains.Positions([]byte(raw), new(Options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("positions?%s: got %v; want %q", raw, err, want)
		}
		if _, err := chains.Pools([]byte(raw), new(Options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("pools?%s: got %v; want %q", raw, err, want)
		}
	}
}

func TestKeyFilterRefused(t *testing.T) {
	f := refusedByBothLists(t)

	const notTokens = "is not one or two addresses with a comma between them"
	f("tokens=", "parameter tokens has no value")
	f("tokens=ETH", `tokens "ETH" `+notTokens)
	f("tokens="+tokenA+",", notTokens)
	f("tokens=,"+tokenA, notTokens)
	f("tokens="+tokenA+",+"+tokenB, notTokens)
	f("tokens="+tokenA+tokenB, notTokens)
	f("tokens="+tokenA+","+tokenB+","+native, notTokens)
	f("tokens="+tokenA+","+strings.ToLower(tokenA), "twice; a pool has two different tokens")
	f("fee=", "parameter fee has no value")
	f("fee=1000001", "fee 1000001 is out of range; allowed are 0 to 1000000")
	f("fee=0.3", `fee "0.3" is not an integer`)
	f("fee=-1", `fee "-1" is not an integer`)
	f("fee=3000&fee=500", "parameter fee is given more than once")
	f("hooks=NONE", `hooks "NONE" is not allowed; allowed are none, any and an address`)
	f("hooks=0x12", `hooks "0x12" is not allowed`)
	f("hooks=any&hooks=none", "parameter hooks is given more than once")
}
