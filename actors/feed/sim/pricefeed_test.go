package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"tidemark/rankings/market"
)

// The simulated price feed answers as of the head, anew every five minutes, and
// only for a token that no pool ever trades.
func TestPrices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig(1, 100, 30, 2)
		cfg.Frozen, cfg.Now = false, time.Now
		cfg.Genesis = time.Now().Unix()/3600*3600 - 2*day
		g := grow(t, cfg)
		first := g.Prices()
		if len(first) != len(priceFeedTokens) {
			t.Fatalf("%d answers; want %d", len(first), len(priceFeedTokens))
		}
		if a := first[0]; a.AsOf > g.Head().Time || a.AsOf <= g.Head().Time-priceFeedSeconds || a.AsOf%priceFeedSeconds != 0 {
			t.Errorf("an answer as of %d with the head at %d; want the last five minutes' begin", a.AsOf, g.Head().Time)
		}
		if usd := first[0].Usd; usd < 90 || usd > 120 {
			t.Errorf("a treasury bill is worth %g; want about 104", usd)
		}

		st := g.priced()
		for i := range st.Tokens.Len() {
			price := st.Prices.At(i)
			is := st.Tokens.At(i).Address == first[0].Token
			if is != (price.Source == market.SourceFeed) || is && price.Usd != first[0].Usd {
				t.Errorf("token %d is priced at %g by source %d", i, price.Usd, price.Source)
			}
		}

		time.Sleep(priceFeedSeconds * time.Second)
		if next := g.Prices(); next[0].AsOf != first[0].AsOf+priceFeedSeconds {
			t.Errorf("five minutes later an answer as of %d; want %d", next[0].AsOf, first[0].AsOf+priceFeedSeconds)
		}
	})
}

// Before its first block a chain has no prices.
func TestNoPricesBeforeTheChain(t *testing.T) {
	cfg := testConfig(1, 100, 30, 2)
	cfg.Frozen, cfg.Now = false, func() time.Time { return time.Unix(cfg.Genesis-60, 0) }
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Prices(); len(got) > 0 {
		t.Errorf("%d answers before the first block", len(got))
	}
}
