package main

import "tidemark/rankings/market"

// defaultChains are the three chains by their public addresses.
func defaultChains() []ChainConfig {
	list := []ChainConfig{
		{
			ID: 1, Enabled: true, Slug: "ethereum", Name: "Ethereum", ShortName: "ETH",
			ExplorerURL: "https://etherscan.io", NativeSymbol: "ETH", NativeName: "Ether", WrappedSymbol: "WETH",
			WrappedNative:   mustAddress("0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2"),
			PoolManager:     mustAddress("0x000000000004444c5dc75cb358380d2e3de08a90"),
			PositionManager: mustAddress("0xbd216513d74c8cf14cf4747e6aaa6420ff64ee9e"),
			StartBlock:      21688329,
			Stables: []market.Address{
				mustAddress("0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"),
				mustAddress("0xdac17f958d2ee523a2206206994597c13d831ec7"),
				mustAddress("0x6b175474e89094c44da98b954eedeac495271d0f"),
			},
			Decimals: []string{
				"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48=6",
				"0xdac17f958d2ee523a2206206994597c13d831ec7=6",
				"0x6b175474e89094c44da98b954eedeac495271d0f=18",
				"0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2=18",
			},
		},
		{
			ID: 42161, Enabled: true, Slug: "arbitrum", Name: "Arbitrum One", ShortName: "ARB",
			ExplorerURL: "https://arbiscan.io", NativeSymbol: "ETH", NativeName: "Ether", WrappedSymbol: "WETH",
			WrappedNative:   mustAddress("0x82af49447d8a07e3bd95bd0d56f35241523fbab1"),
			PoolManager:     mustAddress("0x360e68faccca8ca495c1b759fd9eee466db9fb32"),
			PositionManager: mustAddress("0xd88f38f930b7952f2db2432cb002e7abbf3dd869"),
			StartBlock:      297842872,
			Stables: []market.Address{
				mustAddress("0xaf88d065e77c8cc2239327c5edb3a432268e5831"),
				mustAddress("0xfd086bc7cd5c481dcc9c85ebe478a1c0b69fcbb9"),
				mustAddress("0xda10009cbd5d07dd0cecc66161fc93d7c9000da1"),
			},
			Decimals: []string{
				"0xaf88d065e77c8cc2239327c5edb3a432268e5831=6",
				"0xfd086bc7cd5c481dcc9c85ebe478a1c0b69fcbb9=6",
				"0xda10009cbd5d07dd0cecc66161fc93d7c9000da1=18",
				"0x82af49447d8a07e3bd95bd0d56f35241523fbab1=18",
			},
		},
		{
			ID: 43114, Enabled: true, Slug: "avalanche", Name: "Avalanche C-Chain", ShortName: "AVAX",
			ExplorerURL:  "https://snowtrace.io",
			NativeSymbol: "AVAX", NativeName: "Avalanche", WrappedSymbol: "WAVAX",
			WrappedNative:   mustAddress("0xb31f66aa3c1e785363f0875a1b74e27b85fd66c7"),
			PoolManager:     mustAddress("0x06380c0e0912312b5150364b9dc4542ba0dbbc85"),
			PositionManager: mustAddress("0xb74b1f14d2754acfcbbe1a221023a5cf50ab8acd"),
			StartBlock:      56195376,
			Stables: []market.Address{
				mustAddress("0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e"),
				mustAddress("0x9702230a8ea53601f5cd2dc00fdbc13d4df4a8c7"),
				mustAddress("0xd586e7f844cea2f87f50152665bcbc2c279d8d70"),
			},
			Decimals: []string{
				"0xb97ef9ef8734c71904d8002f8b6bc66dd9c48a6e=6",
				"0x9702230a8ea53601f5cd2dc00fdbc13d4df4a8c7=6",
				"0xd586e7f844cea2f87f50152665bcbc2c279d8d70=18",
				"0xb31f66aa3c1e785363f0875a1b74e27b85fd66c7=18",
			},
		},
	}
	for i := range list {
		list[i] = list[i].withReading()
	}
	return list
}

// withReading sets how the history of a chain is read. With twelve ranges in flight a
// latency of 100 ms costs 8 ms per range, and more ranges would only wait at the limit of
// the provider. Twelve ranges of 10,000 logs, the most that nodes return, take 88 MiB of
// memory, and twice that while their receipts are fetched.
func (c ChainConfig) withReading() ChainConfig {
	c.MaxLogRange, c.RangesInFlight, c.FetchAheadMib = 2000, 12, 256
	return c
}

// mustAddress parses an address that is written in the code.
func mustAddress(s string) market.Address {
	a, err := market.ParseAddress(s)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return a
}
