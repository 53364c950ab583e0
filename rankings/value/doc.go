// Package value turns exact on-chain amounts into what they are worth: prices
// of tokens, the market of a pool, and every number and flag of a position.
//
// Everything is a function of one market.State; now is the time of its block.
package value
