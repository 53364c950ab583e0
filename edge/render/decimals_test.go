package render

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"tidemark/rankings/chart"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// stateOfDecimals is the state of the tests, in which token 1 of the pool has other decimals.
func stateOfDecimals(set func(*market.TokenMeta)) *market.State {
	st := testState()
	tokens, prices, stats := market.Thaw(st.Tokens), market.Thaw(st.Prices), market.Thaw(st.Stats)
	var m market.TokenMeta
	set(&m)
	t := tokens.Mut(1)
	t.Decimals, t.BadDecimals = m.Decimals, m.BadDecimals
	*prices.Mut(1) = market.Price{
		Usd: market.Unknown, OnlyPool: market.NoIndex, Reason: market.ReasonBadDecimals,
	}
	if t.BadDecimals {
		stats.Mut(0).CurrentPrice = market.Unknown
	}
	st.Tokens, st.Prices, st.Stats = tokens.Freeze(), prices.Freeze(), stats.Freeze()
	return st
}

func unread(m *market.TokenMeta) { m.SetDecimals(0, false) }

// someTransactions are a mint and a transfer of a position.
func someTransactions() []market.Transaction {
	return []market.Transaction{
		{
			Type: market.Mint, Amount0: clmath.U256{3e18}, Amount1: clmath.U256{1_500_000},
			Fees1: clmath.U256{7}, Price0Usd: 2, Price1Usd: market.Unknown,
		},
		{Type: market.Transfer, Moved: true, Price0Usd: 2, Price1Usd: market.Unknown},
	}
}

var someBins = []chart.Bin{{
	TickLower: -200_000, TickUpper: -196_000, Liquidity: clmath.U128{Hi: 1},
	Amount0: clmath.U256{3e18}, Amount1: clmath.U256{1_500_000}, Price: market.Unknown,
}}

// TestUnknownDecimals: where a token's decimals are not known, they and its amounts in whole
// tokens are null, of both kinds of row, in CSV too. The amounts of a transfer are 0.
func TestUnknownDecimals(t *testing.T) {
	st := stateOfDecimals(unread)
	p, of := st.Pools.At(0), DecimalsOf(st, st.Pools.At(0))
	for i, name := range []string{"position_open_unread.json", "position_closed_unread.json"} {
		var m value.Metrics
		value.Position(st, uint32(i), &m)
		got := AppendPosition(nil, st, uint32(i), &m, 1)
		golden(t, name, got)
		share := NewShare(st, 0)
		if shared := share.AppendPosition(nil, st, st.Positions.At(uint32(i)), &m, 1); string(shared) != string(got) {
			t.Errorf("%s: got %s with the shared parts, want %s", name, shared, got)
		}

		s, err := SelectFields(PositionFields, []string{"token1.decimals", "priceLower", "amounts.deposits"})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{",,0.014,,14000000000000000,35000000,\r\n", ",,0,,0,18446744073709551616,\r\n"}[i]
		if line := string(s.AppendCSV(nil, got)); line != want {
			t.Errorf("%s: as CSV %q; want %q", name, line, want)
		}
	}

	golden(t, "pool_unread.json", AppendPool(nil, NewPool(st, 0), 7))
	charts := append(AppendBins(AppendDistribution([]byte(`{"range":"30d"`), p), of, someBins), '}')
	golden(t, "charts_unread.json", charts)
	entries := []byte(`[`)
	for _, e := range someTransactions() {
		entries = append(AppendTransaction(entries, &e, of, false), ',')
	}
	entries[len(entries)-1] = ']'
	golden(t, "transactions_unread.json", entries)
}

// TestManyDecimals: up to 255 decimals every amount of a row, of a transaction and of a bin
// is exact.
func TestManyDecimals(t *testing.T) {
	f := func(decimals uint8) {
		t.Helper()
		st := stateOfDecimals(func(m *market.TokenMeta) { m.SetDecimals(uint64(decimals), true) })
		of, amounts := DecimalsOf(st, st.Pools.At(0)), 0
		check := func(body []byte) {
			t.Helper()
			var v any
			if err := json.Unmarshal(body, &v); err != nil {
				t.Fatal(err)
			}
			eachObject(v, func(m map[string]any) {
				for _, name := range []string{"amount1", "fees1"} {
					if raw, ok := m[name+"Raw"].(string); ok {
						amounts++
						checkExact(t, m[name], raw, decimals)
					}
				}
				if shown, ok := m["decimals"].(float64); ok && m["symbol"] == "USDC" && uint8(shown) != decimals {
					t.Errorf("decimals are %v; want %d", shown, decimals)
				}
			})
		}

		for i := range uint32(2) {
			var m value.Metrics
			value.Position(st, i, &m)
			m.Collected.Raw[1] = clmath.U256{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}
			m.Withdrawals.Raw[1] = clmath.U256{1}
			check(AppendPosition(nil, st, i, &m, 1))
			check(NewShare(st, 0).AppendPosition(nil, st, st.Positions.At(i), &m, 1))
		}
		for _, e := range someTransactions() {
			check(AppendTransaction(nil, &e, of, false))
		}
		if amounts != 4*5+2*2 {
			t.Errorf("%d decimals: %d amounts were compared", decimals, amounts)
		}

		bins := AppendBins([]byte(`{"tick":0`), of, someBins)
		var whole struct {
			Bins []struct{ Amount1 string }
		}
		if err := json.Unmarshal(bins, &whole); err != nil {
			t.Fatal(err)
		}
		checkExact(t, whole.Bins[0].Amount1, someBins[0].Amount1.Dec(), decimals)
	}

	f(0)
	f(36)
	f(37)
	f(77)
	f(78)
	f(255)
}

// eachObject calls do with every object in v.
func eachObject(v any, do func(map[string]any)) {
	m, _ := v.(map[string]any)
	if m != nil {
		do(m)
	}
	for _, inner := range m {
		eachObject(inner, do)
	}
}

// checkExact holds an amount against its raw integer, as fractions.
func checkExact(t *testing.T, shown any, raw string, decimals uint8) {
	t.Helper()
	text, _ := shown.(string)
	got, ok := new(big.Rat).SetString(text)
	v, _ := new(big.Int).SetString(raw, 10)
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	if !ok || got.Cmp(new(big.Rat).SetFrac(v, unit)) != 0 || strings.ContainsAny(text, "eE/") ||
		strings.Contains(text, ".") && strings.HasSuffix(text, "0") {
		t.Errorf("%s of %d decimals is %v", raw, decimals, shown)
	}
}
