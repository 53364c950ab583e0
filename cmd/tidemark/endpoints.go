package main

import (
	"tidemark/actors/feed/rpc"
	"tidemark/rankings/market"
)

// endpoints are where a chain is read from.
func (c *ChainConfig) endpoints() (list []rpc.EndpointConfig) {
	for _, url := range c.RPC {
		list = append(list, rpc.EndpointConfig{URL: url, RequestsPerSecond: float64(c.RequestsPerSecond)})
	}
	return list
}

// decimals are those of tokens that need not be asked for.
func (c *ChainConfig) decimals() map[market.Address]uint8 { return nil }
