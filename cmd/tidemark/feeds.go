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
	"tidemark/actors/feed/endpoint"
	"tidemark/actors/feed/rpc"
	"tidemark/actors/feed/sim"
	"tidemark/actors/verify"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// maxPoll is the longest pause between two polls of a chain's head.
const maxPoll = time.Second

// chainSpecs are the chains to run. full reports whether the disk has too little space
// for writes, and newPause is for the simulated market, see sim.Config.
func (l *loaded) chainSpecs(
	external *actors.PriceFeed, full func() bool, newPause func() func(), set *metrics.Set, log *slog.Logger,
) ([]actors.ChainSpec, error) {
	var specs []actors.ChainSpec
	for i := range l.Chains {
		c := &l.Chains[i]
		if !c.Enabled {
			continue
		}

		source, err := l.newFeed(c, newPause, set, log)
		if err != nil {
			return nil, fmt.Errorf("cannot make the feed of chain %d: %w", c.ID, err)
		}

		prices := func() []value.FeedPrice { return external.Of(c.ID) }
		if simulated, ok := source.(*sim.Feed); ok && l.Prices.File == "" && l.Prices.URL == "" {
			prices = simulated.Prices
		}

		kept, err := l.openArchive(c, full, set, log)
		if err != nil {
			return nil, err
		}
		config := l.chainConfig(c, prices, set, log)
		config.Archive = kept
		specs = append(specs, actors.ChainSpec{
			Feed: source, Config: config,
			Verify: verify.Config{PoolManager: c.PoolManager, PositionManager: c.PositionManager},
		})
	}
	return specs, nil
}

// chainConfig is what a chain needs to know of itself.
func (l *loaded) chainConfig(
	c *ChainConfig, prices func() []value.FeedPrice, set *metrics.Set, log *slog.Logger,
) chain.Config {
	return chain.Config{
		Ledger: ledger.Config{
			Chain: c.ID, PositionManager: c.PositionManager, Start: max(c.StartBlock, 1),
		},
		Prices:           l.priceParams(c),
		External:         prices,
		WantsState:       l.Feed == "sim",
		UnavailableAfter: l.Limits.UnavailableAfter,
		Log:              log, Metrics: chain.NewMetrics(set, c.ID),
	}
}

// priceParams are the thresholds with what is particular to the chain.
func (l *loaded) priceParams(c *ChainConfig) value.Params {
	p := l.Prices.Params
	p.Stables, p.WrappedNative, p.HookAllow = c.Stables, c.WrappedNative, l.Prices.HookAllow
	p.FeedMaxAge = int64(l.Prices.MaxAge.Seconds())
	return p
}

// nativeName is the name of the chain's native currency.
func (c *ChainConfig) nativeName() string { return cmp.Or(c.NativeName, c.NativeSymbol) }

func (l *loaded) newFeed(
	c *ChainConfig, newPause func() func(), set *metrics.Set, log *slog.Logger,
) (feed.Feed, error) {
	if l.Feed == "rpc" {
		config, err := l.rpcConfig(c, set, log)
		if err != nil {
			return nil, err
		}
		return rpc.New(config)
	}
	return sim.NewWorkload(l.simConfig(c, newPause), l.workload)
}

// rpcConfig is what a feed from nodes needs to know of a chain.
func (l *loaded) rpcConfig(c *ChainConfig, set *metrics.Set, log *slog.Logger) (rpc.Config, error) {
	decimals, err := c.decimals()
	return rpc.Config{
		Chain: c.ID, Endpoints: c.endpoints(),
		PoolManager: c.PoolManager, PositionManager: c.PositionManager,
		NativeSymbol: c.NativeSymbol, NativeName: c.nativeName(),
		Required:    append([]market.Address{c.WrappedNative}, c.Stables...),
		Decimals:    decimals,
		MaxLogRange: c.MaxLogRange, MaxHeadAge: c.MaxHeadAge,
		RangesInFlight: c.RangesInFlight, FetchAheadBytes: int64(c.FetchAheadMib) << 20,
		Poll: min(l.Refresh.Every, maxPoll), Clock: endpoint.Clock{Now: l.feedClock}, Metrics: set, Log: log,
	}, err
}

// simConfig is the simulated market of a chain.
func (l *loaded) simConfig(c *ChainConfig, newPause func() func()) sim.Config {
	positions, pools, actions := l.Sim.share(c.ID)
	return sim.Config{
		Chain: c.ID, Seed: uint64(l.Sim.Seed), Positions: positions, Pools: pools, Days: l.Sim.Days,
		Actions: actions, Genesis: l.Sim.Genesis.Unix(), StartBlock: max(c.StartBlock, 1),
		PositionManager: c.PositionManager, Stables: c.Stables, Wrapped: c.WrappedNative,
		NativeSymbol: c.NativeSymbol, NativeName: c.nativeName(),
		Frozen: l.Sim.Frozen, Every: l.Refresh.Every, Now: l.feedClock, NewPause: newPause,
	}
}

// share returns how large the simulated market of a chain is.
func (c *SimConfig) share(id market.ChainID) (positions, pools, actions int) {
	percent := map[market.ChainID]int{42161: 80, 43114: 50}[id]
	if percent == 0 {
		percent = 100
	}
	return c.Positions * percent / 100, c.Pools * percent / 100, c.Actions * percent / 100
}
