package sim

import (
	"cmp"
	"fmt"
	"time"

	"tidemark/rankings/market"
)

// Config describes a simulated chain. Two feeds with the same Config but for
// Now, Every and Frozen tell the same history.
type Config struct {
	Chain     market.ChainID
	Seed      uint64
	Positions int // NFTs minted in the history
	Pools     int // pools in all
	Days      int // length of the history
	// Actions are the swaps and liquidity changes of the history, about 1.25
	// events each; 0 is 12 a position.
	Actions int

	Genesis    int64  // unix seconds of the block StartBlock
	StartBlock uint64 // the first block

	PositionManager market.Address
	// Stables are at least two tokens worth 1 USD; the first three are traded
	// as USDC, USDT and DAI with 6, 6 and 18 decimals.
	Stables                  []market.Address
	Wrapped                  market.Address
	NativeSymbol, NativeName string
	NativeUsd                float64 // at rest; 0 is the chain's own, or 3210

	// Frozen: the head stays at the end of the history.
	Frozen bool
	// Every is how often a chain without a new block confirms its head, and the least
	// time that live blocks are gathered into a span; 0 is 2 s.
	Every time.Duration
	// BlockTime is the pace of the chain, and LivePace what an action takes
	// after the history; 0 is the chain's own, or 12 s.
	BlockTime, LivePace time.Duration
	// Scale multiplies the TVL of ordinary pools; 0 is the chain's own, or 1.
	Scale float64
	// SpanEvents is about how many events a span of the history has; 0 is 4000.
	SpanEvents int
	// Now is the clock of live blocks; nil is time.Now.
	Now func() time.Time
	// NewPause returns what is called after every action of a span; nil: nothing is.
	NewPause func() (pause func())
}

// settings are a Config with the Workload, if the market has one.
type settings struct {
	Config
	Workload
}

// temper is what differs between the chains.
type temper struct {
	blockTime, livePace time.Duration
	scale, nativeUsd    float64
	symbol, name        string
	gasWei              uint64 // price of gas at rest
}

var elsewhere = temper{12 * time.Second, 12 * time.Second, 1, 3210, "ETH", "Ether", 2e9}

var tempers = map[market.ChainID]temper{
	1:     elsewhere,
	42161: {250 * time.Millisecond, 10 * time.Second, 0.4, 3210, "ETH", "Ether", 20e6},
	43114: {2 * time.Second, 15 * time.Second, 0.15, 31, "AVAX", "Avalanche", 2e9},
}

func (c *Config) temper() temper {
	if t, ok := tempers[c.Chain]; ok {
		return t
	}
	return elsewhere
}

// setDefaults sets the defaults of what is left out.
func (c *settings) setDefaults() {
	t := c.temper()
	c.Actions = cmp.Or(c.Actions, 12*c.Positions)
	c.NativeSymbol = cmp.Or(c.NativeSymbol, t.symbol)
	c.NativeName = cmp.Or(c.NativeName, t.name)
	c.NativeUsd = cmp.Or(c.NativeUsd, t.nativeUsd)

	c.Every = cmp.Or(c.Every, 2*time.Second)
	c.BlockTime = cmp.Or(c.BlockTime, t.blockTime)
	c.LivePace = cmp.Or(c.LivePace, t.livePace)
	c.Scale = cmp.Or(c.Scale, t.scale)
	c.SpanEvents = cmp.Or(c.SpanEvents, 4000)
	c.Crowd.setDefaults()
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewPause == nil {
		c.NewPause = func() func() { return func() {} }
	}
}

// The least sizes that keep what the market promises, and the largest.
const (
	MinDays      = 1 // a market must be a day old to price
	MaxDays      = 3650
	MaxPools     = 1_000_000
	MinPositions = positionsPool*MinPools + spareMints
	MaxPositions = 100_000_000

	positionsPool = 2
	spareMints    = 5 // beyond two a pool
	actionsAMint  = 4
	maxBlockTime  = time.Minute
	minStables    = 2
)

// check refuses sizes for which there is no market that keeps its promises.
func (c *settings) check() error {
	least := positionsPool*c.Pools + spareMints

	switch {
	case c.Pools < MinPools || c.Pools > MaxPools:
		return fmt.Errorf("cannot simulate %d pools; at least %d, at most %d",
			c.Pools, MinPools, MaxPools)
	case c.Positions < least || c.Positions > MaxPositions:
		return fmt.Errorf("cannot simulate %d positions in %d pools; at least %d, at most %d",
			c.Positions, c.Pools, least, MaxPositions)
	case c.Days < MinDays || c.Days > MaxDays:
		return fmt.Errorf("cannot simulate %d days; at least %d, at most %d", c.Days, MinDays, MaxDays)
	case c.Actions != 0 && c.Actions < actionsAMint*c.Positions:
		return fmt.Errorf("cannot simulate %d positions with %d actions; at least %d",
			c.Positions, c.Actions, actionsAMint*c.Positions)
	case len(c.Stables) < minStables:
		return fmt.Errorf("cannot simulate %d stable tokens; at least %d", len(c.Stables), minStables)
	case c.BlockTime < 0 || c.BlockTime > maxBlockTime:
		return fmt.Errorf("cannot simulate a block time of %s; at most %s", c.BlockTime, maxBlockTime)
	case c.StartBlock == 0:
		return fmt.Errorf("cannot simulate a chain from block 0; at least 1")
	}
	return c.Crowd.check(c.Days)
}
