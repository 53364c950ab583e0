package value

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// What a pool holds follows from its ticks alone. Between two neighbouring
// initialised ticks the liquidity L is the running sum of liquidityNet, and
// holds what a position of L over that range would:
//
//	below the price  token1 only  L * (sqrtUpper - sqrtLower) / 2^96
//	above the price  token0 only  L * 2^96 * (sqrtUpper - sqrtLower) / sqrtUpper / sqrtLower
//	around it        both, each up to the price
//
// Adding up event deltas would count fees and donations that left long ago,
// and miss what hooks moved.

// Holdings returns the raw amounts behind a pool's liquidity at its price,
// fees excluded, every range rounded down as a removal would.
func Holdings(st *market.State, index uint32) (amount0, amount1 clmath.U256) {
	pool := st.Pools.At(index)
	refs := st.TickLists.At(index).Refs
	var liquidity clmath.U128
	for i := 0; i+1 < len(refs); i++ {
		lower, upper := st.Ticks.At(refs[i].Slot), st.Ticks.At(refs[i+1].Slot)
		if liquidity, _ = liquidity.Apply(lower.LiquidityNet); liquidity.IsZero() {
			continue
		}
		a0, a1 := clmath.Principal(pool.Tick, &pool.SqrtPriceX96, refs[i].Tick, refs[i+1].Tick,
			&lower.SqrtPriceX96, &upper.SqrtPriceX96, liquidity, false)
		amount0.Add(&amount0, &a0)
		amount1.Add(&amount1, &a1)
	}
	return amount0, amount1
}

// Stats returns the market of a pool at st.Prices.
func Stats(st *market.State, index uint32) market.PoolStats {
	amount0, amount1 := Holdings(st, index)
	return StatsOf(st, index, &amount0, &amount1)
}

// StatsOf is Stats of a pool whose Holdings the caller knows: they change
// with the pool only, and are most of the cost.
func StatsOf(st *market.State, index uint32, amount0, amount1 *clmath.U256) (stats market.PoolStats) {
	pool := st.Pools.At(index)
	quotes := [2]Quote{
		QuoteOf(st.Prices.At(pool.Currency0)), QuoteOf(st.Prices.At(pool.Currency1)),
	}
	stats.TVLUsd, stats.Unpriced = TVL(st, pool, amount0, amount1, &quotes)
	sumWindows(st, pool, &stats)
	stats.FeeAPR = finite(FeesRatio(stats.FeesUsd24h, stats.TVLUsd, false) * 365)
	stats.CurrentPrice = PriceAt(st, pool, &pool.SqrtPriceX96)
	return stats
}

// TVL is what amounts in a pool are worth, of now or of a day that is over:
// the other leg only, marked, when one has no price.
func TVL(
	st *market.State, pool *market.Pool, amount0, amount1 *clmath.U256, quotes *[2]Quote,
) (usd float64, unpriced bool) {
	usd0 := worth(approx(amount0), quotes[0].Usd/whole(st.Tokens.At(pool.Currency0)))
	usd1 := worth(approx(amount1), quotes[1].Usd/whole(st.Tokens.At(pool.Currency1)))

	switch {
	case !market.Known(usd0):
		return finite(usd1), true
	case !market.Known(usd1):
		return finite(usd0), true
	}
	return finite(usd0 + usd1), false
}

// FeesRatio is fees in percent of what the pool that took them holds: Unknown
// of a pool that holds nothing, or whose TVL lacks a leg.
func FeesRatio(feesUsd, tvlUsd float64, unpriced bool) float64 {
	if unpriced || !(tvlUsd > 0) {
		return market.Unknown
	}
	return finite(feesUsd / tvlUsd * 100)
}

// PriceAt is token1 per token0 in whole units where a pool stands, or stood, at
// a sqrtPriceX96.
func PriceAt(st *market.State, pool *market.Pool, sqrtPriceX96 *clmath.U256) float64 {
	token0, token1 := st.Tokens.At(pool.Currency0), st.Tokens.At(pool.Currency1)
	if token0.BadDecimals || token1.BadDecimals {
		return market.Unknown
	}
	root := approx(sqrtPriceX96) / two96
	return finite(root * root * whole(token0) / whole(token1))
}

// The two rolling windows, in buckets of hours: those after hour(now) - 24,
// and after hour(now) - 168. The present hour is among them and not over.
const (
	dayHours  = 24
	weekHours = 168
)

// sumWindows adds up the pool's hour buckets. A bucket of unknown USD makes
// its windows unknown.
func sumWindows(st *market.State, pool *market.Pool, stats *market.PoolStats) {
	now := market.HourOf(st.Now())
	for at := pool.LastHour; at != market.NoIndex; {
		bucket := st.Hours.At(at)
		if bucket.Hour+weekHours <= now {
			break
		}
		stats.VolumeUsd7d += bucket.VolumeUsd
		stats.FeesUsd7d += bucket.FeesUsd
		if bucket.Hour+dayHours > now {
			stats.VolumeUsd24h += bucket.VolumeUsd
			stats.FeesUsd24h += bucket.FeesUsd
		}
		at = bucket.Prev
	}
	stats.VolumeUsd7d, stats.FeesUsd7d = finite(stats.VolumeUsd7d), finite(stats.FeesUsd7d)
	stats.VolumeUsd24h, stats.FeesUsd24h = finite(stats.VolumeUsd24h), finite(stats.FeesUsd24h)
}
