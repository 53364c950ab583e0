package sim

import (
	"context"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

const testGenesis = 1_750_000_000 / 3600 * 3600

var testChains = [...]market.ChainID{1, 42161, 43114}

func testConfig(chain market.ChainID, positions, pools, days int) Config {
	stable := func(b byte) market.Address { return market.Address{0x51, byte(chain), b} }
	end := time.Unix(testGenesis, 0).Add(time.Duration(days) * 24 * time.Hour)
	return Config{
		Chain: chain, Seed: 1, Positions: positions, Pools: pools, Days: days, Genesis: testGenesis,
		StartBlock: 1000, PositionManager: market.Address{0x99, byte(chain)}, Frozen: true,
		Stables: []market.Address{stable(1), stable(2), stable(3)}, Wrapped: market.Address{0x52, byte(chain)},
		Now: func() time.Time { return end },
	}
}

// defaultConfig has the sizes of the built-in configuration.
func defaultConfig(chain market.ChainID) Config {
	switch chain {
	case 42161:
		return testConfig(chain, 2400, 64, 90)
	case 43114:
		return testConfig(chain, 1500, 40, 90)
	}
	return testConfig(chain, 3000, 80, 90)
}

// grown is a chain and a ledger that follows it, hour by hour as a node does.
type grown struct {
	*Feed
	*ledger.Ledger
	params value.Params
	usd    []float64 // by token, in the newest record
	noUsd  bool      // no records: what only counts events is grown faster
	spans  []*market.Span
	events int
}

func plant(t testing.TB, cfg Config, loads ...Workload) *grown {
	t.Helper()
	f, err := NewWorkload(cfg, append(loads, Workload{})[0])
	if err != nil {
		t.Fatal(err)
	}
	g := &grown{Feed: f, params: value.DefaultParams(), Ledger: ledger.New(ledger.Config{
		Chain: cfg.Chain, PositionManager: cfg.PositionManager, Start: cfg.StartBlock,
	})}
	g.params.Stables, g.params.WrappedNative = cfg.Stables, cfg.Wrapped
	return g
}

// grow returns a chain with all that there is by now.
func grow(t testing.TB, cfg Config, loads ...Workload) *grown {
	t.Helper()
	g := plant(t, cfg, loads...)
	for g.step(t) {
	}
	return g
}

// growBare is grow without prices.
func growBare(t testing.TB, cfg Config, loads ...Workload) *grown {
	t.Helper()
	g := plant(t, cfg, loads...)
	g.noUsd = true
	for g.step(t) {
	}
	return g
}

// step takes one answer of the feed; false when it was the newest.
func (g *grown) step(t testing.TB) bool {
	t.Helper()
	step, err := g.Next(context.Background(), feed.Cursor{Anchors: g.Anchors(), State: g.Freeze()})
	if err != nil {
		t.Fatal(err)
	}
	if step.Span != nil {
		g.apply(t, step.Span)
	}
	return step.Span != nil && step.Span.To < step.Head.Number
}

// nextBlock takes steps until the head moves.
func (g *grown) nextBlock(t testing.TB) {
	t.Helper()
	for head := g.Head(); g.Head() == head; {
		g.step(t)
	}
}

func (g *grown) apply(t testing.TB, s *market.Span) {
	t.Helper()
	pieces := []market.Span{*s}
	if !g.noUsd {
		pieces = ledger.CutHours(s, g.Head().Time)
	}

	for _, piece := range pieces {
		if from := g.Head().Time; market.HourOf(piece.Time) > market.HourOf(from) && from > 0 && !g.noUsd {
			prices, pools := g.record(market.HourOf(piece.Time))
			g.BeginHour(market.HourOf(piece.Time), prices, pools)
		}
		if _, err := g.Apply(&piece); err != nil {
			t.Fatal(err)
		}
	}

	g.spans = append(g.spans, s)
	for i := range s.Blocks {
		g.events += len(s.Blocks[i].Logs)
	}
}

// record returns the prices and pools that changed with an hour.
func (g *grown) record(hour uint32) (changed []ledger.HourPrice, pools []market.HeldPool) {
	compare := func(i uint32, p value.HourPrice) {
		for len(g.usd) <= int(i) {
			g.usd = append(g.usd, market.Unknown)
		}
		if p.Usd != g.usd[i] && (market.Known(p.Usd) || market.Known(g.usd[i])) {
			g.usd[i] = p.Usd
			changed = append(changed, ledger.HourPrice{
				Token: i, Usd: p.Usd, AsOf: p.AsOf, Markets: p.Markets,
				Source: p.Source, Corroborated: p.Corroborated,
			})
		}
	}

	pools = new(value.Pricer).BeginHour(g.Freeze(), &g.params, g.Prices(), hour, compare)
	return changed, pools
}

// priced returns the State with its prices and the pools' stats.
func (g *grown) priced() *market.State {
	st := g.Freeze()
	var prices market.Table[market.Price]
	for _, p := range value.Prices(st, &g.params, g.Prices(), func() {}) {
		prices.Append(p)
	}
	st.Prices = prices.Freeze()

	var stats market.Table[market.PoolStats]
	for i := range st.Pools.Len() {
		stats.Append(value.Stats(st, i))
	}
	st.Stats = stats.Freeze()
	return st
}
