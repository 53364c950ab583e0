package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors"
	"tidemark/actors/chain"
	"tidemark/actors/feed"
	"tidemark/actors/feed/rpc"
	"tidemark/actors/feed/sim"
	"tidemark/actors/verify"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// maxPoll is the longest pause between two looks at a chain's head.
const maxPoll = time.Second

// chainSpecs are the chains to run.
func (l *loaded) chainSpecs(
	external *actors.PriceFeed, set *metrics.Set, log *slog.Logger,
) ([]actors.ChainSpec, error) {
	var specs []actors.ChainSpec
	for i := range l.Chains {
		c := &l.Chains[i]
		if !c.Enabled {
			continue
		}

		source, err := l.newFeed(c, set, log)
		if err != nil {
			return nil, fmt.Errorf("cannot make the feed of chain %d: %w", c.ID, err)
		}

		prices := func() []value.FeedPrice { return external.Of(c.ID) }
		if simulated, ok := source.(*sim.Feed); ok && l.Prices.File == "" && l.Prices.URL == "" {
			prices = simulated.Prices
		}

		specs = append(specs, actors.ChainSpec{
			Feed:   source,
			Verify: verify.Config{PoolManager: c.PoolManager, PositionManager: c.PositionManager},
			Config: chain.Config{
				Ledger: ledger.Config{
					Chain: c.ID, PositionManager: c.PositionManager, Start: max(c.StartBlock, 1),
				},
				Prices:           l.priceParams(c),
				External:         prices,
				WantsState:       l.Feed == "sim",
				UnavailableAfter: l.Limits.UnavailableAfter,
				Log:              log, Metrics: chain.NewMetrics(set, c.ID),
			},
		})
	}
	return specs, nil
}

// priceParams are the thresholds with what is particular to the chain.
func (l *loaded) priceParams(c *ChainConfig) value.Params {
	p := l.Prices.Params
	p.Stables, p.WrappedNative, p.HookAllow = c.Stables, c.WrappedNative, l.Prices.HookAllow
	p.FeedMaxAge = int64(l.Prices.MaxAge.Seconds())
	return p
}

func (l *loaded) newFeed(c *ChainConfig, set *metrics.Set, log *slog.Logger) (feed.Feed, error) {
	if l.Feed == "rpc" {
		decimals, err := c.decimals()
		if err != nil {
			return nil, err
		}
		return rpc.New(rpc.Config{
			Chain: c.ID, Endpoints: c.endpoints(),
			PoolManager: c.PoolManager, PositionManager: c.PositionManager,
			NativeSymbol: c.NativeSymbol, NativeName: cmp.Or(c.NativeName, c.NativeSymbol),
			Required:    append([]market.Address{c.WrappedNative}, c.Stables...),
			Decimals:    decimals,
			MaxLogRange: c.MaxLogRange, MaxHeadAge: c.MaxHeadAge,
			RangesInFlight: c.RangesInFlight, FetchAheadBytes: int64(c.FetchAheadMib) << 20,
			Poll: min(l.Refresh.Every, maxPoll), Metrics: set, Log: log,
		})
	}

	positions, pools, actions := l.Sim.share(c.ID)
	return sim.NewWorkload(sim.Config{
		Chain: c.ID, Seed: uint64(l.Sim.Seed), Positions: positions, Pools: pools, Days: l.Sim.Days,
		Actions: actions, Genesis: l.Sim.Genesis.Unix(), StartBlock: max(c.StartBlock, 1),
		PositionManager: c.PositionManager, Stables: c.Stables, Wrapped: c.WrappedNative,
		NativeSymbol: c.NativeSymbol, NativeName: cmp.Or(c.NativeName, c.NativeSymbol),
		Frozen: l.Sim.Frozen, Every: l.Refresh.Every,
	}, l.workload)
}

// share returns how large the simulated market of a chain is.
func (c *SimConfig) share(id market.ChainID) (positions, pools, actions int) {
	percent := map[market.ChainID]int{42161: 80, 43114: 50}[id]
	if percent == 0 {
		percent = 100
	}
	return c.Positions * percent / 100, c.Pools * percent / 100, c.Actions * percent / 100
}
