package clmath

// SecondsInside returns the time that a pool's tick spent between two ticks, by
// the rules of FeeGrowthInside: clock is the time of the block in unix seconds,
// outsideLower and outsideUpper the seconds outside of each tick.
//
// Everything is modulo 2^32. Of two results the difference is exact as long as
// fewer than 2^32 seconds, 136 years, lie between them.
func SecondsInside(tick, lower, upper int32, clock, outsideLower, outsideUpper uint32) uint32 {
	switch {
	case tick < lower:
		return outsideLower - outsideUpper
	case tick >= upper:
		return outsideUpper - outsideLower
	}
	return clock - outsideLower - outsideUpper
}
