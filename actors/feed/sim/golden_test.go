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
		left := goldenEvents
		for _, s := range growBare(t, defaultConfig(chain)).spans {
			for i := range s.Tokens {
				writeToken(h, &s.Tokens[i])
			}
			for i := range s.Blocks {
				if left -= writeBlock(h, &s.Blocks[i]); left <= 0 {
					break
				}
			}
		}
		if got := hex.EncodeToString(h.Sum(nil)[:16]); got != want {
			t.Errorf("chain %d: %s; want %s", chain, got, want)
		}
	}
	f(1, "530c0b850c709ecedd70fb0b74ce9e52")
	f(42161, "7d62392622ef1b00bf89dde1c953e08e")
	f(43114, "85fb5f1b5810ad8ef551b9c6c6466763")
}

func writeToken(w io.Writer, m *market.TokenMeta) {
	fmt.Fprintln(w, m.Address, m.Decimals, m.BadDecimals)
	if m.Symbol != nil {
		fmt.Fprintf(w, "%q %q\n", *m.Symbol, *m.Name)
	}
}

func writeBlock(w io.Writer, b *market.Block) (events int) {
	fmt.Fprintln(w, b.Number, b.Time, b.Txs)
	for _, l := range b.Logs {
		fmt.Fprintf(w, "%d %d %T %v\n", l.Index, l.Tx, l.Event, l.Event)
	}
	return len(b.Logs)
}
