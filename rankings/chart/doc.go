// Package chart computes what the charts of a pool and of a position show: one
// point for each UTC day or hour, without gaps, and the liquidity between the ticks.
//
//	Step       the length of the intervals: a day or an hour
//	Timeline   how a pool stood at the end of each, and what its tokens were worth
//	Points     the pool's series of it
//	Position   a position's series over it, from its History
//	Bins       the liquidity between initialised ticks
//	Replay     a pool's history since some time, and what a position of any range
//	           would have earned in it
//
// Nothing here reads the store: the caller reads the records and passes them in.
// Package value computes what they are worth.
//
// # Of now and of the past
//
// The point of the running interval is the row's: it is taken from the State, at the
// prices of now, and so is the last point of a closed position, which is its frozen
// result. An interval that is over has amounts of its own and the prices of its last
// hour's record. One in which nothing happened ends with the amounts of the one
// before, at its own prices. A past value that needs a price that was not
// known is market.Unknown, never the sum of what was.
package chart
