package market

import "tidemark/rankings/clmath"

// Tick is an initialised tick of a pool. When LiquidityGross falls to 0 the
// record is freed, and may then be used for another tick. What rows read of it stands
// first.
type Tick struct {
	SqrtPriceX96          clmath.U256 // at this tick; kept because it is slow to compute
	FeeGrowthOutside0X128 clmath.U256
	FeeGrowthOutside1X128 clmath.U256
	// SecondsOutside is the time that the pool's tick spent on the other side of
	// this one, by the rules of the fee growth outside: the global is the clock, in
	// unix seconds. Only differences between two times have a meaning, modulo 2^32.
	SecondsOutside uint32

	Pool uint32 // NoIndex: the record is free
	Tick int32
	// LastHour is the hour in which the fee growth outside was last written. Its day is
	// that of the tick's newest TickDay.
	LastHour       uint32
	LiquidityGross clmath.U128
	LiquidityNet   clmath.I128
}

// LastDay returns the UTC day in which the fee growth outside was last written.
func (t *Tick) LastDay() uint32 { return t.LastHour / HoursOfDay }

// TickDay is the fee growth outside of a tick at the end of a day, or so far if
// the day is not over. Only days in which it was written have one.
type TickDay struct {
	Pool, Day             uint32
	Tick                  int32
	Hour                  uint8 // the hour of the day plus one, 1 to 24; 0: not known
	FeeGrowthOutside0X128 clmath.U256
	FeeGrowthOutside1X128 clmath.U256
}

// TickHour is the fee growth outside of a tick at the end of an hour in which it
// was written. The last of a day follows from the TickDay.
type TickHour struct {
	Pool, Day             uint32
	Hour                  uint32 // of the day, 0 to 23
	Tick                  int32
	FeeGrowthOutside0X128 clmath.U256
	FeeGrowthOutside1X128 clmath.U256
}
