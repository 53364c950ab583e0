package market

import "testing"

// TestDecimals: what a contract answers is kept up to 255, of which more than 36 are bad; no
// answer, and a larger one, is not known.
func TestDecimals(t *testing.T) {
	f := func(n uint64, ok bool, want uint8, bad, known bool) {
		t.Helper()
		m := TokenMeta{Decimals: 9}
		m.SetDecimals(n, ok)
		token := Token{Decimals: m.Decimals, BadDecimals: m.BadDecimals}
		if m.Decimals != want || m.BadDecimals != bad || m.DecimalsKnown() != known || token.DecimalsKnown() != known {
			t.Errorf("%d, %t: got %d, bad %t, known %t; want %d, %t, %t",
				n, ok, m.Decimals, m.BadDecimals, m.DecimalsKnown(), want, bad, known)
		}
	}

	f(0, true, 0, false, true)
	f(18, true, 18, false, true)
	f(MaxDecimals, true, MaxDecimals, false, true)
	f(MaxDecimals+1, true, MaxDecimals+1, true, true)
	f(255, true, 255, true, true)
	f(256, true, 0, true, false)
	f(1<<63, true, 0, true, false)
	f(0, false, 0, true, false)
	f(18, false, 0, true, false)
}
