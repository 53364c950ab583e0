package sim

import (
	"context"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

const testGenesis = 1_750_000_000 / 3600 * 3600

func testConfig(chain market.ChainID, positions, pools, days int) Config {
	stable := func(b byte) market.Address { return market.Address{0x51, byte(chain), b} }
	return Config{
		Chain: chain, Seed: 1, Positions: positions, Pools: pools, Days: days, Genesis: testGenesis,
		StartBlock: 1000, PositionManager: market.Address{0x99, byte(chain)}, Frozen: true,
		Stables: []market.Address{stable(1), stable(2), stable(3)}, Wrapped: market.Address{0x52, byte(chain)},
		Now: func() time.Time { return time.Unix(testGenesis, 0).Add(100 * 24 * time.Hour) },
	}
}

// grown is a chain with its history applied.
type grown struct {
	*Feed
	*ledger.Ledger
	spans []*market.Span
}

func grow(t testing.TB, cfg Config) *grown {
	t.Helper()
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	g := &grown{Feed: f, Ledger: ledger.New(ledger.Config{
		Chain: cfg.Chain, PositionManager: cfg.PositionManager, Start: cfg.StartBlock,
	})}
	for {
		step, err := f.Next(context.Background(), feed.Cursor{Anchors: g.Anchors(), State: g.Freeze()})
		if err != nil {
			t.Fatal(err)
		}
		if step.Span == nil {
			return g
		}
		if err := g.Apply(step.Span); err != nil {
			t.Fatal(err)
		}
		g.spans = append(g.spans, step.Span)
		if step.Span.To == step.Head.Number {
			return g
		}
	}
}

func TestGrow(t *testing.T) {
	start := time.Now()
	g := grow(t, testConfig(1, 3000, 80, 90))
	t.Log(time.Since(start))
	st := g.Freeze()
	kinds := map[string]int{}
	n := 0
	for _, s := range g.spans {
		for _, b := range s.Blocks {
			for _, l := range b.Logs {
				n++
				switch e := l.Event.(type) {
				case market.Swap:
					kinds["swap"]++
				case market.ModifyLiquidity:
					kinds["modify"]++
				case market.TransferNFT:
					kinds["transfer"]++
				default:
					_ = e
					kinds["other"]++
				}
			}
		}
	}
	t.Log(n, kinds, st.Positions.Len(), st.Pools.Len(), st.OpenCount)
	in := 0
	for i := range st.Positions.Len() {
		p := st.Positions.At(i)
		pool := st.Pools.At(p.Pool)
		if p.IsOpen() && p.TickLower <= pool.Tick && pool.Tick < p.TickUpper {
			in++
		}
	}
	t.Log(in)
}
