package render

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Day is one UTC day of a pool. Prices are token1 per token0 in whole units.
type Day struct {
	Open, High, Low, Close float64
	Price0Usd, Price1Usd   float64
	TVLUsd                 float64
	VolumeUsd, FeesUsd     float64
}

// Days are consecutive days, the first of which is number First.
type Days struct {
	First uint32
	Days  []Day
}

// FeesTVLRatio is a day's fees in percent of what the pool held.
func (d *Day) FeesTVLRatio() float64 { return ratio(d.FeesUsd, d.TVLUsd) * 100 }

func ratio(part, whole float64) float64 {
	if whole > 0 {
		return part / whole
	}
	return market.Unknown
}

// AppendPoolPrice appends the field poolPrice.
func AppendPoolPrice(dst []byte, d *Days) []byte {
	dst = append(dst, `,"poolPrice":[`...)
	for i := range d.Days {
		day := &d.Days[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = timestamp(dst, d.First+uint32(i))
		dst = number(append(dst, `,"open":`...), day.Open)
		dst = number(append(dst, `,"high":`...), day.High)
		dst = number(append(dst, `,"low":`...), day.Low)
		dst = number(append(dst, `,"close":`...), day.Close)
		dst = number(append(dst, `,"token0PriceUsd":`...), day.Price0Usd)
		dst = number(append(dst, `,"token1PriceUsd":`...), day.Price1Usd)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func timestamp(dst []byte, day uint32) []byte {
	return integer(append(dst, `{"timestamp":`...), int64(day)*market.Day)
}

// series appends a named series of one value a day.
func series(dst []byte, name string, first uint32, n int, value func(i int) float64) []byte {
	dst = append(append(append(dst, '"'), name...), `":[`...)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = timestamp(dst, first+uint32(i))
		dst = number(append(dst, `,"value":`...), value(i))
		dst = append(dst, '}')
	}
	return append(dst, `],`...)
}

// dayValue is what a series shows of a day.
type dayValue func(*Day) float64

// The values of days that charts show.
var (
	tvl     dayValue = func(d *Day) float64 { return d.TVLUsd }
	volume  dayValue = func(d *Day) float64 { return d.VolumeUsd }
	fees    dayValue = func(d *Day) float64 { return d.FeesUsd }
	price0  dayValue = func(d *Day) float64 { return d.Price0Usd }
	price1  dayValue = func(d *Day) float64 { return d.Price1Usd }
	dayRate dayValue = func(d *Day) float64 { return clamped(d.FeesTVLRatio() * 365) }
)

func (d *Days) series(dst []byte, name string, of dayValue) []byte {
	return series(dst, name, d.First, len(d.Days), func(i int) float64 { return of(&d.Days[i]) })
}

// AppendPoolOverview appends the field poolOverview.
func AppendPoolOverview(dst []byte, d *Days) []byte {
	dst = append(dst, `,"poolOverview":{`...)
	dst = d.series(dst, "tvlUsd", tvl)
	dst = d.series(dst, "volumeUsd", volume)
	dst = d.series(dst, "feesUsd", fees)
	dst = d.series(dst, "feesTvlRatio", (*Day).FeesTVLRatio)
	dst = d.series(dst, "token0PriceUsd", price0)
	dst = d.series(dst, "token1PriceUsd", price1)
	return append(dst, `"divergence":[]}`...)
}

// AppendPoolSeries appends the field poolSeries.
func AppendPoolSeries(dst []byte, d *Days) []byte {
	dst = append(dst, `,"poolSeries":{`...)
	dst = d.series(dst, "volumeUsd", volume)
	dst = d.series(dst, "tvlUsd", tvl)
	dst = d.series(dst, "feesUsd", fees)
	dst = d.series(dst, "feeApr", dayRate)
	dst[len(dst)-1] = '}'
	return dst
}

func clamped(x float64) float64 { return max(-MaxFeeAPR, min(x, MaxFeeAPR)) }

// PositionDay is how a position stood at the end of a day.
type PositionDay struct {
	PnlUsd, AssetValueUsd, APR, FeeAPR, DivergenceLossUsd float64
}

// AppendPositionSeries appends the field positionSeries; nil days are null.
func AppendPositionSeries(dst []byte, first uint32, days []PositionDay) []byte {
	dst = append(dst, `,"positionSeries":`...)
	if days == nil {
		return append(dst, null...)
	}
	of := func(name string, value func(*PositionDay) float64) {
		at := func(i int) float64 { return value(&days[i]) }
		dst = series(dst, name, first, len(days), at)
	}
	dst = append(dst, '{')
	of("pnlUsd", func(d *PositionDay) float64 { return d.PnlUsd })
	of("assetValueUsd", func(d *PositionDay) float64 { return d.AssetValueUsd })
	of("apr", func(d *PositionDay) float64 { return d.APR })
	of("feeApr", func(d *PositionDay) float64 { return clamped(d.FeeAPR) })
	of("divergenceLossUsd", func(d *PositionDay) float64 { return d.DivergenceLossUsd })
	dst[len(dst)-1] = '}'
	return dst
}

// Bin is the liquidity between two ticks.
type Bin struct {
	TickLower, TickUpper int32
	Liquidity            clmath.U128 // of a merged bin: the mean over its width
	Amount0, Amount1     clmath.U256
	Price                float64 // in its middle
}

// AppendDistribution appends the field liquidityDistribution. A position's
// range is marked; nil marks none.
func AppendDistribution(
	dst []byte, p *market.Pool, decimals [2]uint8, bins []Bin, of *market.Position,
) []byte {
	dst = integer(append(dst, `,"liquidityDistribution":{"currentTick":`...), p.Tick)
	dst = integer(append(dst, `,"tickSpacing":`...), p.TickSpacing)
	if of != nil {
		dst = integer(append(dst, `,"tickLower":`...), of.TickLower)
		dst = integer(append(dst, `,"tickUpper":`...), of.TickUpper)
	}
	dst = append(dst, `,"bins":[`...)
	for i := range bins {
		b := &bins[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = integer(append(dst, `{"tickLower":`...), b.TickLower)
		dst = integer(append(dst, `,"tickUpper":`...), b.TickUpper)
		dst = quoted(append(dst, `,"liquidity":`...), new(b.Liquidity.U256()))
		dst = amount(append(dst, `,"amount0":`...), &b.Amount0, decimals[0])
		dst = amount(append(dst, `,"amount1":`...), &b.Amount1, decimals[1])
		dst = number(append(dst, `,"price":`...), b.Price)
		dst = append(dst, '}')
	}
	return append(dst, `]}`...)
}

// AppendPoolOverviewCurrent appends the field poolOverviewCurrent; known is
// false for a pool without a day.
func AppendPoolOverviewCurrent(dst []byte, st *market.State, i uint32, known bool) []byte {
	dst = append(dst, `,"poolOverviewCurrent":`...)
	if !known {
		return append(dst, null...)
	}
	p, s := st.Pools.At(i), st.Stats.At(i)
	dst = integer(append(dst, `{"timestamp":`...), st.Now())
	dst = number(append(dst, `,"tvlUsd":`...), s.TVLUsd)
	dst = number(append(dst, `,"volumeUsd24h":`...), s.VolumeUsd24h)
	dst = number(append(dst, `,"feesUsd24h":`...), s.FeesUsd24h)
	dst = number(append(dst, `,"feesTvlRatio":`...), ratio(s.FeesUsd24h, s.TVLUsd)*100)
	dst = number(append(dst, `,"token0PriceUsd":`...), st.Prices.At(p.Currency0).Usd)
	dst = number(append(dst, `,"token1PriceUsd":`...), st.Prices.At(p.Currency1).Usd)
	return append(dst, '}')
}
