package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"testing"

	"tidemark/rankings/market"
)

// goldenEvents is how many events of a chain the golden hashes cover.
const goldenEvents = 5000

// The same seed is the same market, on every machine. A change of the market
// on purpose changes the hashes here, and every page of the default data.
func TestGolden(t *testing.T) {
	f := func(chain market.ChainID, want string) {
		t.Helper()
		h := sha256.New()
		g := plant(t, defaultConfig(chain))
		g.noUsd = true
		for left := goldenEvents; left > 0 && g.step(t); {
			left -= writeSpan(h, g.spans[len(g.spans)-1])
		}
		if got := hex.EncodeToString(h.Sum(nil)[:16]); got != want {
			t.Errorf("chain %d: %s; want %s", chain, got, want)
		}
	}

	f(1, "483b6b041c32f22e6421776e1bd89786")
	f(42161, "a31b4b47dcdf8c257075c37c8b4ae128")
	f(43114, "ccb8f221e0f57ecc52f8a0e85452ad53")
}

func writeSpan(w io.Writer, s *market.Span) (events int) {
	fmt.Fprintln(w, s.From, s.To, s.Parent, s.Hash, s.Time, s.Final)
	for i := range s.Tokens {
		writeToken(w, &s.Tokens[i])
	}

	for i := range s.Blocks {
		b := &s.Blocks[i]
		fmt.Fprintln(w, b.Number, b.Time, b.Txs)
		for _, l := range b.Logs {
			fmt.Fprintf(w, "%d %d %T %v\n", l.Index, l.Tx, l.Event, l.Event)
		}
		events += len(b.Logs)
	}
	return events
}

func writeToken(w io.Writer, m *market.TokenMeta) {
	fmt.Fprintln(w, m.Address, m.Decimals, m.BadDecimals)
	if m.Symbol != 0 {
		fmt.Fprintf(w, "%q %q\n", m.Symbol, m.Name)
	}
}
