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
	refs := st.TickLists.At(index)
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

// Stats returns the market of a pool at st.Prices. Most of what it costs is to add up what
// the pool holds, which changes with the pool and its ticks only.
func Stats(st *market.State, index uint32) market.PoolStats {
	amount0, amount1 := Holdings(st, index)
	return StatsOf(st, index, [2]float64{approx(&amount0), approx(&amount1)})
}

// StatsOf is Stats of a pool whose holdings are known.
func StatsOf(st *market.State, index uint32, holdings [2]float64) market.PoolStats {
	stats := market.PoolStats{Holdings: holdings}
	sumWindows(st, st.Pools.At(index), &stats)
	Reprice(st, index, &stats)
	return stats
}

// Reprice computes what stats have beside what the pool holds and its windows: it follows
// from these, the pool, its tokens and their prices, so that nobody has to keep it. About
// 100 ns, and cache misses.
//
// A chain that catches up has prices of an earlier block. A token that is newer than they
// are has none.
func Reprice(st *market.State, index uint32, stats *market.PoolStats) {
	pool := st.Pools.At(index)
	stats.CurrentPrice = PriceAt(st, pool, &pool.SqrtPriceX96)
	if pool.Quarantined {
		stats.TVLUsd, stats.FeeAPR = market.Unknown, market.Unknown
		stats.Unpriced, stats.Unrealizable = true, false
		return
	}

	quotes := [2]Quote{quoteAt(st, pool.Currency0), quoteAt(st, pool.Currency1)}
	tvl := TVLOf(st, pool, stats.Holdings, &quotes)
	stats.TVLUsd, stats.Unpriced, stats.Unrealizable = tvl.Usd, tvl.Unpriced, tvl.Unrealizable
	stats.FeeAPR = finite(FeesRatio(stats.FeesUsd24h, stats.TVLUsd, stats.Unpriced) * 365)
}

// quoteAt is the quote of a token that may be newer than the prices.
func quoteAt(st *market.State, token uint32) Quote {
	if token >= st.Prices.Len() {
		return Quote{Usd: market.Unknown}
	}
	return QuoteOf(st.Prices.At(token))
}

// PoolPrices are the prices of a pool's tokens as its row shows them: those of
// a quarantined pool are not to be valued at any.
func PoolPrices(st *market.State, pool *market.Pool) [2]market.Price {
	if pool.Quarantined {
		return [2]market.Price{unpriced(market.ReasonQuarantined), unpriced(market.ReasonQuarantined)}
	}
	return [2]market.Price{
		shownPrice(st.Prices.At(pool.Currency0)), shownPrice(st.Prices.At(pool.Currency1)),
	}
}

// shownPrice is a price as a row shows it: one that is known has no Reason,
// which is about the positions of its OnlyPool.
func shownPrice(p *market.Price) market.Price {
	shown := *p
	if market.Known(shown.Usd) {
		shown.Reason = market.ReasonNone
	}
	return shown
}

// TVL is what a pool holds, in USD.
type TVL struct {
	Usd          float64
	Unpriced     bool // a leg has no price; Usd is the other leg only
	Unrealizable bool // exitCap cut a leg
}

// exitCap bounds what a pool's leg counts for, in multiples of what selling
// the token down to a tenth of its price yields over all its markets, this
// pool included. A pool over all prices holds 1.46 times of that by itself;
// whoever mints a token can put any amount of it into a range that no sale
// reaches.
const exitCap = 2

// TVLOf values amounts in a pool, of now or of a time that is over.
func TVLOf(
	st *market.State, pool *market.Pool, amounts [2]float64, quotes *[2]Quote,
) (tvl TVL) {
	usd := legs{
		worth(amounts[0], quotes[0].Usd/whole(st.Tokens.At(pool.Currency0))),
		worth(amounts[1], quotes[1].Usd/whole(st.Tokens.At(pool.Currency1))),
	}
	for leg := range usd {
		if limit := exitCap * quotes[leg].ExitUsd; usd[leg] > limit {
			usd[leg], tvl.Unrealizable = limit, true
		}
	}

	switch tvl.Unpriced = true; {
	case !market.Known(usd[0]):
		tvl.Usd = finite(usd[1])
	case !market.Known(usd[1]):
		tvl.Usd = finite(usd[0])
	default:
		tvl.Usd, tvl.Unpriced = finite(usd[0]+usd[1]), false
	}
	return tvl
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
	return PriceOf(st, pool, approx(sqrtPriceX96))
}

// PriceOf is PriceAt of a sqrtPriceX96 that is a float.
func PriceOf(st *market.State, pool *market.Pool, sqrtPriceX96 float64) float64 {
	token0, token1 := st.Tokens.At(pool.Currency0), st.Tokens.At(pool.Currency1)
	if token0.BadDecimals || token1.BadDecimals {
		return market.Unknown
	}
	return priceOf(sqrtPriceX96, whole(token0), whole(token1))
}

// priceOf is PriceOf of tokens of so many raw units.
func priceOf(sqrtPriceX96, whole0, whole1 float64) float64 {
	root := sqrtPriceX96 / two96
	return finite(root * root * whole0 / whole1)
}
