package chart

import (
	"math"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// MaxBins bounds a liquidity distribution: more would be less than a pixel.
const MaxBins = 200

// Bin is the liquidity between two ticks.
type Bin struct {
	TickLower, TickUpper int32
	Liquidity            clmath.U128 // of a merged bin: the mean over its width
	Amount0, Amount1     clmath.U256
	Price                float64 // in its middle
}

// Bins is the liquidity of a pool from tick to initialised tick, by
// running liquidityNet. Of more than MaxBins, those around the current tick
// stand alone, and the others are merged into the outermost on their side.
func Bins(st *market.State, pool uint32) []Bin {
	p, refs := st.Pools.At(pool), st.TickLists.At(pool)
	if len(refs) < 2 {
		return nil
	}

	intervals := len(refs) - 1
	first, last := standaloneBins(refs, p.Tick, intervals)
	bins := make([]Bin, 0, min(intervals, MaxBins))
	readTicks(st, refs)
	price := priceOfTicks(st, p)
	var merged merge
	var liquidity clmath.U128
	upper := st.Ticks.At(refs[0].Slot)
	for i := range intervals {
		lower := upper
		upper = st.Ticks.At(refs[i+1].Slot)
		liquidity, _ = liquidity.Apply(lower.LiquidityNet)
		amount0, amount1 := clmath.Principal(p.Tick, &p.SqrtPriceX96, refs[i].Tick, refs[i+1].Tick,
			&lower.SqrtPriceX96, &upper.SqrtPriceX96, liquidity, false)
		merged.add(refs[i].Tick, refs[i+1].Tick, liquidity, &amount0, &amount1)
		if i < first || i >= last && i < intervals-1 {
			continue
		}
		bins = append(bins, merged.take(price))
	}

	return bins
}

// readTicks reads the ticks of a list, all of them together: the processor waits for the
// memory of each in turn otherwise. The sum of what it read keeps the reads in.
//
//go:noinline
func readTicks(st *market.State, refs []market.TickRef) (sum uint64) {
	for i := range refs {
		t := st.Ticks.At(refs[i].Slot)
		sum += t.SqrtPriceX96[0] + t.LiquidityNet.Lo
	}
	return sum
}

// standaloneBins returns which intervals end a bin of their own: first is the last
// one of the merged bin on the left, last the first one of that on the right.
func standaloneBins(refs []market.TickRef, tick int32, intervals int) (first, last int) {
	if intervals <= MaxBins {
		return 0, intervals
	}
	current := 0
	for current < intervals-1 && refs[current+1].Tick <= tick {
		current++
	}
	first = min(max(current-MaxBins/2, 0), intervals-MaxBins)
	return first, first + MaxBins - 1
}

// merge gathers intervals into one bin.
type merge struct {
	bin       Bin
	intervals int
	sum       clmath.U256 // of liquidity times width
}

func (m *merge) add(lower, upper int32, liquidity clmath.U128, amount0, amount1 *clmath.U256) {
	m.intervals++
	if m.intervals == 1 {
		m.bin.TickLower, m.bin.Liquidity = lower, liquidity
	}
	m.bin.TickUpper = upper
	m.bin.Amount0.Add(&m.bin.Amount0, amount0)
	m.bin.Amount1.Add(&m.bin.Amount1, amount1)
	wide, l := clmath.U256{uint64(upper - lower)}, liquidity.U256()
	m.sum.Add(&m.sum, l.Mul(&l, &wide))
}

// take returns the bin, given the price of tick 0, and begins another.
func (m *merge) take(price float64) Bin {
	if m.intervals > 1 {
		width := clmath.U256{uint64(m.bin.TickUpper - m.bin.TickLower)}
		mean := m.sum.Div(&m.sum, &width)
		m.bin.Liquidity, _ = clmath.Narrow(mean)
	}
	m.bin.Price = powerOfTick(float64(m.bin.TickLower+m.bin.TickUpper)/2) * price
	bin := m.bin
	*m = merge{}
	return bin
}

// priceOfTicks is token1 per token0 in whole units at tick 0.
func priceOfTicks(st *market.State, p *market.Pool) float64 {
	token0, token1 := st.Tokens.At(p.Currency0), st.Tokens.At(p.Currency1)
	if token0.BadDecimals || token1.BadDecimals {
		return market.Unknown
	}
	return math.Pow10(int(token0.Decimals) - int(token1.Decimals))
}
