package ledger

import (
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// TestWrappedNative: on a chain where no pool has the native currency, gas is worth what its
// wrapped form is, also in the hour in which the first such pool is created, and of a store
// that was written without it.
func TestWrappedNative(t *testing.T) {
	wrapped := market.Address{0: 0xee}
	cfg := Config{Chain: 1, WrappedNative: wrapped}
	l := New(cfg)
	next := func(native uint32, usd float64, good bool, tokens ...market.TokenMeta) {
		t.Helper()
		s := strictSpan(l)
		if !good {
			s = strictSpan(l, market.Donate{})
		}
		s.Tokens = tokens
		if _, err := l.Apply(s); (err == nil) != good {
			t.Fatal(err)
		}

		got := l.gasUsd(clmath.U128{Lo: 1e15})
		if l.st.Native != native || got != usd && (market.Known(got) || market.Known(usd)) {
			t.Errorf("native is token %d, a thousandth is worth %v; want %d, %v", l.st.Native, got, native, usd)
		}
		clean(t, l.Freeze())
	}

	next(market.NoIndex, market.Unknown, true, market.TokenMeta{Address: market.Address{0: 1}, Decimals: 18})
	next(1, market.Unknown, true, market.TokenMeta{Address: wrapped, Decimals: 18})
	l.BeginHour(0, []HourPrice{{Token: 1, Usd: 2000, Source: market.SourceAnchor}}, nil)
	next(1, 2, true)
	next(1, 2, false, market.NativeToken("ETH", "Ether"))
	next(2, 2, true, market.NativeToken("ETH", "Ether"))
	l.BeginHour(0, []HourPrice{{Token: 2, Usd: 3000, Source: market.SourceAnchor}}, nil)
	next(2, 3, true)

	old := l.Freeze()
	old.Native = market.NoIndex
	if l := From(cfg, old, nil, func() {}); l.st.Native != 2 {
		t.Errorf("opened, native is token %d", l.st.Native)
	}
}
