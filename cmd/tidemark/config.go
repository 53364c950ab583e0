package main

import (
	"time"

	"tidemark/edge"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage/accounts"
)

// Config is everything that can be set. A field is a setting; its name in the
// TOML file, the environment and `config print` is the field's in lower case
// with dashes, and a struct is a table.
type Config struct {
	Data      string `about:"directory of everything the node keeps"`
	Listen    string `about:"address of the API"`
	OpsListen string `about:"address of /metrics and pprof"`
	Feed      string `about:"sim or rpc"`

	Limits   edge.Limits
	Refresh  RefreshConfig
	Metering MeteringConfig
	Sim      SimConfig
	Prices   PricesConfig

	Chains []ChainConfig
	Plans  []accounts.Plan
}

// RefreshConfig paces the chains.
type RefreshConfig struct {
	Every time.Duration `about:"pause between generations of a chain"`
}

// MeteringConfig paces the metering actor.
type MeteringConfig struct {
	Flush time.Duration `about:"pause between batches of charges"`
}

// SimConfig shapes the simulated market.
type SimConfig struct {
	Seed      int       `about:"the same seed and genesis give the same market"`
	Positions int       `about:"NFTs minted in chain 1's history; 80 % and half on the others"`
	Pools     int       `about:"pools of chain 1; 80 % and half on the others"`
	Days      int       `about:"length of the history"`
	Actions   int       `about:"swaps and liquidity changes of chain 1's history; 0: 12 a position"`
	Genesis   time.Time `about:"start of the history; empty: first start less sim.days, to the hour"`
	Frozen    bool      `about:"the head stays at the end of the history"`
}

// ChainConfig is one chain. Chains in the file change the built-in one of the
// same id; a new id is a new chain.
type ChainConfig struct {
	ID                market.ChainID
	Enabled           bool
	Slug              string
	Name              string
	ShortName         string
	ExplorerURL       string
	NativeSymbol      string
	NativeName        string // empty: the symbol
	WrappedNative     market.Address
	WrappedSymbol     string
	PoolManager       market.Address
	PositionManager   market.Address
	StartBlock        uint64
	RPC               []string
	Stables           []market.Address
	MaxHeadAge        time.Duration
	MaxLogRange       uint64
	RequestsPerSecond int
}

// PricesConfig says what to trust of a price, and where to ask beside the
// markets themselves.
type PricesConfig struct {
	File      string           `about:"price feed: a file with a JSON object chainId:address to USD"`
	URL       string           `about:"price feed: the same by HTTP"`
	Every     time.Duration    `about:"pause between readings of the price feed"`
	MaxAge    time.Duration    `about:"an answer of the price feed is good for so long"`
	HookAllow []market.Address `about:"hooks whose pools may price although they take deltas"`
	value.Params
}

// defaultConfig is what a node runs with when nothing is set: the simulated
// market on loopback, and the three chains by their public addresses.
func defaultConfig() Config {
	return Config{
		Data: "./data", Listen: "127.0.0.1:8080", OpsListen: "127.0.0.1:8081", Feed: "sim",
		Limits:   edge.DefaultLimits(),
		Refresh:  RefreshConfig{Every: 2 * time.Second},
		Metering: MeteringConfig{Flush: 100 * time.Millisecond},
		Sim:      SimConfig{Seed: 1, Positions: 3000, Pools: 80, Days: 90},
		Prices: PricesConfig{
			Every: 30 * time.Second, MaxAge: 10 * time.Minute, Params: value.DefaultParams(),
		},
		Chains: []ChainConfig{
			{
				ID: 1, Enabled: true, Slug: "ethereum", Name: "Ethereum", ShortName: "ETH",
				ExplorerURL: "https://etherscan.io", NativeSymbol: "ETH", NativeName: "Ether", WrappedSymbol: "WETH",
				WrappedNative:   address("0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"),
				PoolManager:     address("0x000000000004444c5dc75cb358380d2e3de08a90"),
				PositionManager: address("0xbd216513d74c8cf14cf4747e6aaa6420ff64ee9e"),
				StartBlock:      21688329, MaxLogRange: 2000,
				Stables: []market.Address{
					address("0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"),
					address("0xdac17f958d2ee523a2206206994597c13d831ec7"),
					address("0x6b175474e89094c44da98b954eedeac495271d0f"),
				},
			},
			{
				ID: 42161, Enabled: true, Slug: "arbitrum", Name: "Arbitrum One", ShortName: "ARB",
				ExplorerURL: "https://arbiscan.io", NativeSymbol: "ETH", NativeName: "Ether", WrappedSymbol: "WETH",
				WrappedNative:   address("0x82af49447d8a07e3bd95bd0d56f35241523fbab1"),
				PoolManager:     address("0x360e68faccca8ca495c1b759fd9eee466db9fb32"),
				PositionManager: address("0xd88f38f930b7952f2db2432cb002e7abbf3dd869"),
				StartBlock:      297842872, MaxLogRange: 2000,
				Stables: []market.Address{
					address("0xaf88d065e77c8cc2239327c5edb3a432268e5831"),
					address("0xfd086bc7cd5c481dcc9c85ebe478a1c0b69fcbb9"),
					address("0xda10009cbd5d07dd0cecc66161fc93d7c9000da1"),
				},
			},
			{
				ID: 43114, Enabled: true, Slug: "avalanche", Name: "Avalanche C-Chain", ShortName: "AVAX",
				ExplorerURL:  "https://snowtrace.io",
				NativeSymbol: "AVAX", NativeName: "Avalanche", WrappedSymbol: "WAVAX",
				WrappedNative:   address("0xb31f66aa3c1e785363f0875a1b74e27b85fd66c7"),
				PoolManager:     address("0x06380c0e0912312b5150364b9dc4542ba0dbbc85"),
				PositionManager: address("0xb74b1f14d2754acfcbbe1a221023a5cf50ab8acd"),
				StartBlock:      56195376, MaxLogRange: 2000,
				Stables: []market.Address{
					address("0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e"),
					address("0x9702230a8ea53601f5cd2dc00fdbc13d4df4a8c7"),
					address("0xd586e7f844cea2f87f50152665bcbc2c279d8d70"),
				},
			},
		},
		Plans: accounts.DefaultPlans(),
	}
}

// newChain is what a chain with an id of its own starts from.
func newChain() ChainConfig { return ChainConfig{Enabled: true, MaxLogRange: 2000} }

// newPlan is what a plan with an id of its own starts from.
func newPlan() accounts.Plan { return accounts.Plan{MaxAPIKeys: 1, Public: true} }

// address is for literals in this file only.
func address(s string) market.Address {
	a, err := market.ParseAddress(s)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return a
}
