package chart

import (
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// Point is one interval of a pool. Prices are token1 per token0 in whole units.
type Point struct {
	Open, High, Low, Close float64
	Price0Usd, Price1Usd   float64
	TVLUsd                 float64 // at its end
	VolumeUsd, FeesUsd     float64 // of it so far
	FeesTVLRatio           float64 // fees in percent of TVLUsd; Unknown with an unpriced leg
}

// Points are those of consecutive intervals, the first of which is number First.
type Points struct {
	Step   Step
	First  uint32
	Points []Point
}

// Points returns the pool's series.
func (t *Timeline) Points() Points {
	st, p := t.st, t.st.Pools.At(t.pool)
	out := Points{Step: t.step, First: t.first, Points: make([]Point, len(t.ends))}
	for i := range t.ends {
		e := &t.ends[i]
		d := Point{
			Open: value.PriceOf(st, p, e.Open), High: value.PriceOf(st, p, e.High),
			Low: value.PriceOf(st, p, e.Low), Close: value.PriceAt(st, p, &e.Close),
			Price0Usd: e.quotes[0].Usd, Price1Usd: e.quotes[1].Usd,
			VolumeUsd: e.VolumeUsd, FeesUsd: e.FeesUsd,
		}

		var unpriced bool
		if i == len(t.ends)-1 {
			stats := st.Stats.At(t.pool)
			d.TVLUsd, unpriced = stats.TVLUsd, stats.Unpriced
		} else {
			tvl := value.TVLOf(st, p, e.Amounts, &e.quotes)
			if d.TVLUsd, unpriced = tvl.Usd, tvl.Unpriced; unpriced {
				d.TVLUsd = market.Unknown
			}
		}
		if p.Quarantined {
			unknown := market.Unknown
			d.Price0Usd, d.Price1Usd, d.TVLUsd = unknown, unknown, unknown
			d.VolumeUsd, d.FeesUsd, unpriced = unknown, unknown, true
		}
		d.FeesTVLRatio = value.FeesRatio(d.FeesUsd, d.TVLUsd, unpriced)
		out.Points[i] = d
	}
	return out
}
