package render

import (
	"tidemark/rankings/chart"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// AppendPoolPrice appends the field poolPrice.
func AppendPoolPrice(dst []byte, d *chart.Points) []byte {
	dst = append(dst, `,"poolPrice":[`...)
	for i := range d.Points {
		p := &d.Points[i]
		if i > 0 {
			dst = append(dst, ',')
		}

		dst = appendTimestamp(dst, d.Step, d.First+uint32(i))
		dst = number(append(dst, `,"open":`...), p.Open)
		dst = number(append(dst, `,"high":`...), p.High)
		dst = number(append(dst, `,"low":`...), p.Low)
		dst = number(append(dst, `,"close":`...), p.Close)
		dst = number(append(dst, `,"token0PriceUsd":`...), p.Price0Usd)
		dst = number(append(dst, `,"token1PriceUsd":`...), p.Price1Usd)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendTimestamp opens the object of a point with the start of its interval.
func appendTimestamp(dst []byte, step chart.Step, number uint32) []byte {
	return integer(append(dst, `{"timestamp":`...), step.Start(number))
}

// appendSeries appends a named series of one value an interval.
func appendSeries(
	dst []byte, name string, step chart.Step, first uint32, n int, at func(i int) float64,
) []byte {
	dst = append(append(append(dst, '"'), name...), `":[`...)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendTimestamp(dst, step, first+uint32(i))
		dst = number(append(dst, `,"value":`...), at(i))
		dst = append(dst, '}')
	}
	return append(dst, `],`...)
}

// pointValue selects the value of a point that a series shows.
type pointValue func(*chart.Point) float64

// The values of points that charts show.
var (
	tvl     pointValue = func(d *chart.Point) float64 { return d.TVLUsd }
	volume  pointValue = func(d *chart.Point) float64 { return d.VolumeUsd }
	fees    pointValue = func(d *chart.Point) float64 { return d.FeesUsd }
	feesTVL pointValue = func(d *chart.Point) float64 { return d.FeesTVLRatio }
	price0  pointValue = func(d *chart.Point) float64 { return d.Price0Usd }
	price1  pointValue = func(d *chart.Point) float64 { return d.Price1Usd }
)

// appendPoolSeries appends a named series of a pool's points.
func appendPoolSeries(dst []byte, d *chart.Points, name string, of pointValue) []byte {
	return appendSeries(dst, name, d.Step, d.First, len(d.Points),
		func(i int) float64 { return of(&d.Points[i]) })
}

// AppendPoolOverview appends the field poolOverview.
func AppendPoolOverview(dst []byte, d *chart.Points) []byte {
	dst = append(dst, `,"poolOverview":{`...)
	dst = appendPoolSeries(dst, d, "tvlUsd", tvl)
	dst = appendPoolSeries(dst, d, "volumeUsd", volume)
	dst = appendPoolSeries(dst, d, "feesUsd", fees)
	dst = appendPoolSeries(dst, d, "feesTvlRatio", feesTVL)
	dst = appendPoolSeries(dst, d, "token0PriceUsd", price0)
	dst = appendPoolSeries(dst, d, "token1PriceUsd", price1)
	return append(dst, `"divergence":[]}`...)
}

// AppendPoolSeries appends the field poolSeries.
func AppendPoolSeries(dst []byte, d *chart.Points) []byte {
	aYear := float64(365 * market.Day / d.Step)
	rate := func(p *chart.Point) float64 { return value.ClampPercent(p.FeesTVLRatio * aYear) }
	dst = append(dst, `,"poolSeries":{`...)
	dst = appendPoolSeries(dst, d, "volumeUsd", volume)
	dst = appendPoolSeries(dst, d, "tvlUsd", tvl)
	dst = appendPoolSeries(dst, d, "feesUsd", fees)
	dst = appendPoolSeries(dst, d, "feeApr", rate)
	dst[len(dst)-1] = '}'
	return dst
}

// AppendPositionSeries appends the field positionSeries, which is null if the
// series cannot be computed.
func AppendPositionSeries(dst []byte, p *chart.PositionPoints) []byte {
	dst = append(dst, `,"positionSeries":`...)
	if p.Points == nil {
		return append(dst, null...)
	}

	of := func(name string, of func(*chart.PositionPoint) float64) {
		dst = appendSeries(dst, name, p.Step, p.First, len(p.Points),
			func(i int) float64 { return of(&p.Points[i]) })
	}
	dst = append(dst, '{')
	of("pnlUsd", func(d *chart.PositionPoint) float64 { return d.PnlUsd })
	of("assetValueUsd", func(d *chart.PositionPoint) float64 { return d.AssetValueUsd })
	of("apr", func(d *chart.PositionPoint) float64 { return value.ClampPercent(d.APR) })
	of("feeApr", func(d *chart.PositionPoint) float64 { return value.ClampPercent(d.FeeAPR) })
	of("divergenceLossUsd", func(d *chart.PositionPoint) float64 { return d.DivergenceLossUsd })
	dst[len(dst)-1] = '}'
	return dst
}

// AppendDistribution begins the field liquidityDistribution. AppendRange and AppendBins
// follow.
func AppendDistribution(dst []byte, p *market.Pool) []byte {
	dst = integer(append(dst, `,"liquidityDistribution":{"currentTick":`...), p.Tick)
	return integer(append(dst, `,"tickSpacing":`...), p.TickSpacing)
}

// AppendRange appends the range of a position to a distribution, nothing for nil.
func AppendRange(dst []byte, of *market.Position) []byte {
	if of == nil {
		return dst
	}
	dst = integer(append(dst, `,"tickLower":`...), of.TickLower)
	return integer(append(dst, `,"tickUpper":`...), of.TickUpper)
}

// AppendBins appends the bins of a distribution and ends it.
func AppendBins(dst []byte, decimals Decimals, bins []chart.Bin) []byte {
	dst = append(dst, `,"bins":[`...)
	for i := range bins {
		b := &bins[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = integer(append(dst, `{"tickLower":`...), b.TickLower)
		dst = integer(append(dst, `,"tickUpper":`...), b.TickUpper)
		dst = quoted(append(dst, `,"liquidity":`...), new(b.Liquidity.U256()))
		dst = tokenAmount(append(dst, `,"amount0":`...), &b.Amount0, decimals[0])
		dst = tokenAmount(append(dst, `,"amount1":`...), &b.Amount1, decimals[1])
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
