// Package chart computes what the charts of a pool and of a position show: one
// point for each UTC day, without gaps, and the liquidity between the ticks.
//
//	Timeline   how a pool stood at the end of every day, and what its tokens were worth
//	Days       the pool's series of it
//	Position   a position's series over it, from its History
//	Bins       the liquidity between initialised ticks
//
// Nothing here reads the store: the caller reads the records and passes them in.
// Package value computes what they are worth.
//
// # Of now and of the past
//
// Today's point is the row's: it is taken from the State, at the prices of
// now, and so is the last point of a closed position, which is its frozen
// result. A day that is over has amounts of its own and the prices of its last
// hour's record. A day in which nothing happened ends with the amounts of the
// day before, at its own prices. A past value that needs a price that was not
// known is market.Unknown, never the sum of what was.
package chart
