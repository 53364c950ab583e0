package market

import "tidemark/rankings/clmath"

// Tick is an initialised tick of a pool. Its record is freed when
// LiquidityGross falls to 0 and its place may then be used by another tick.
type Tick struct {
	SqrtPriceX96          clmath.U256 // at this tick, so that no row computes it
	FeeGrowthOutside0X128 clmath.U256
	FeeGrowthOutside1X128 clmath.U256
	LiquidityGross        clmath.U128
	LiquidityNet          clmath.I128
	Pool                  uint32 // NoIndex: the record is free
	Tick                  int32
	// LastDay is the UTC day of the last write of the fee growth outside:
	// the day of the tick's newest TickDay.
	LastDay uint32
}

// TickRef is an entry of a pool's ascending list of initialised ticks.
type TickRef struct {
	Tick int32
	Slot uint32 // index of its record
}

// TickList is the initialised ticks of one pool, ascending. The slice is never
// changed in place once its table is frozen.
type TickList struct{ Refs []TickRef }

// TickDay is the fee growth outside of a tick as it stood at a day's end, or
// at the last write of the day that is not over.
type TickDay struct {
	Pool, Day             uint32
	Tick                  int32
	FeeGrowthOutside0X128 clmath.U256
	FeeGrowthOutside1X128 clmath.U256
}
