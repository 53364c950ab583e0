package render

import (
	"tidemark/rankings/chart"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// AppendPoolPrice appends the field poolPrice.
func AppendPoolPrice(dst []byte, d *chart.Days) []byte {
	dst = append(dst, `,"poolPrice":[`...)
	for i := range d.Days {
		day := &d.Days[i]
		if i > 0 {
			dst = append(dst, ',')
		}

		dst = appendTimestamp(dst, d.First+uint32(i))
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

// appendTimestamp opens the object of a day with the day's start.
func appendTimestamp(dst []byte, day uint32) []byte {
	return integer(append(dst, `{"timestamp":`...), int64(day)*market.Day)
}

// appendSeries appends a named series of one value a day.
func appendSeries(dst []byte, name string, first uint32, n int, at func(i int) float64) []byte {
	dst = append(append(append(dst, '"'), name...), `":[`...)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendTimestamp(dst, first+uint32(i))
		dst = number(append(dst, `,"value":`...), at(i))
		dst = append(dst, '}')
	}
	return append(dst, `],`...)
}

// dayValue selects the value of a day that a series shows.
type dayValue func(*chart.Day) float64

// The values of days that charts show.
var (
	tvl     dayValue = func(d *chart.Day) float64 { return d.TVLUsd }
	volume  dayValue = func(d *chart.Day) float64 { return d.VolumeUsd }
	fees    dayValue = func(d *chart.Day) float64 { return d.FeesUsd }
	feesTVL dayValue = func(d *chart.Day) float64 { return d.FeesTVLRatio }
	price0  dayValue = func(d *chart.Day) float64 { return d.Price0Usd }
	price1  dayValue = func(d *chart.Day) float64 { return d.Price1Usd }
	dayRate dayValue = func(d *chart.Day) float64 { return value.ClampPercent(d.FeesTVLRatio * 365) }
)

// appendDaySeries appends a named series of a pool's days.
func appendDaySeries(dst []byte, d *chart.Days, name string, of dayValue) []byte {
	return appendSeries(dst, name, d.First, len(d.Days), func(i int) float64 { return of(&d.Days[i]) })
}

// AppendPoolOverview appends the field poolOverview.
func AppendPoolOverview(dst []byte, d *chart.Days) []byte {
	dst = append(dst, `,"poolOverview":{`...)
	dst = appendDaySeries(dst, d, "tvlUsd", tvl)
	dst = appendDaySeries(dst, d, "volumeUsd", volume)
	dst = appendDaySeries(dst, d, "feesUsd", fees)
	dst = appendDaySeries(dst, d, "feesTvlRatio", feesTVL)
	dst = appendDaySeries(dst, d, "token0PriceUsd", price0)
	dst = appendDaySeries(dst, d, "token1PriceUsd", price1)
	return append(dst, `"divergence":[]}`...)
}

// AppendPoolSeries appends the field poolSeries.
func AppendPoolSeries(dst []byte, d *chart.Days) []byte {
	dst = append(dst, `,"poolSeries":{`...)
	dst = appendDaySeries(dst, d, "volumeUsd", volume)
	dst = appendDaySeries(dst, d, "tvlUsd", tvl)
	dst = appendDaySeries(dst, d, "feesUsd", fees)
	dst = appendDaySeries(dst, d, "feeApr", dayRate)
	dst[len(dst)-1] = '}'
	return dst
}

// AppendPositionSeries appends the field positionSeries, which is null if the
// series cannot be computed.
func AppendPositionSeries(dst []byte, p *chart.PositionDays) []byte {
	dst = append(dst, `,"positionSeries":`...)
	if p.Days == nil {
		return append(dst, null...)
	}

	of := func(name string, of func(*chart.PositionDay) float64) {
		dst = appendSeries(dst, name, p.First, len(p.Days), func(i int) float64 { return of(&p.Days[i]) })
	}
	dst = append(dst, '{')
	of("pnlUsd", func(d *chart.PositionDay) float64 { return d.PnlUsd })
	of("assetValueUsd", func(d *chart.PositionDay) float64 { return d.AssetValueUsd })
	of("apr", func(d *chart.PositionDay) float64 { return value.ClampPercent(d.APR) })
	of("feeApr", func(d *chart.PositionDay) float64 { return value.ClampPercent(d.FeeAPR) })
	of("divergenceLossUsd", func(d *chart.PositionDay) float64 { return d.DivergenceLossUsd })
	dst[len(dst)-1] = '}'
	return dst
}

// AppendDistribution appends the field liquidityDistribution, with the range of a
// position unless it is nil.
func AppendDistribution(
	dst []byte, p *market.Pool, decimals [2]uint8, bins []chart.Bin, of *market.Position,
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

// AppendPoolOverviewCurrent appends the field poolOverviewCurrent. It is never
// null: a pool has a day from the block that creates it.
func AppendPoolOverviewCurrent(dst []byte, st *market.State, i uint32) []byte {
	p, s := st.Pools.At(i), st.Stats.At(i)
	prices := value.PoolPrices(st, p)
	dst = integer(append(dst, `,"poolOverviewCurrent":{"timestamp":`...), st.Now())
	dst = number(append(dst, `,"tvlUsd":`...), s.TVLUsd)
	dst = number(append(dst, `,"volumeUsd24h":`...), s.VolumeUsd24h)
	dst = number(append(dst, `,"feesUsd24h":`...), s.FeesUsd24h)
	ratio := value.FeesRatio(s.FeesUsd24h, s.TVLUsd, s.Unpriced)
	dst = number(append(dst, `,"feesTvlRatio":`...), ratio)
	dst = number(append(dst, `,"token0PriceUsd":`...), prices[0].Usd)
	dst = number(append(dst, `,"token1PriceUsd":`...), prices[1].Usd)
	return append(dst, '}')
}
