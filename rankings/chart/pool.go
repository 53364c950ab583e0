package chart

import (
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// Day is one UTC day of a pool. Prices are token1 per token0 in whole units.
type Day struct {
	Open, High, Low, Close float64
	Price0Usd, Price1Usd   float64
	TVLUsd                 float64 // at the day's end
	VolumeUsd, FeesUsd     float64 // of the day so far
	FeesTVLRatio           float64 // fees in percent of TVLUsd; Unknown with an unpriced leg
}

// Days are consecutive days, the first of which is number First.
type Days struct {
	First uint32
	Days  []Day
}

// Days returns the pool's series.
func (t *Timeline) Days() Days {
	st, p := t.st, t.st.Pools.At(t.pool)
	out := Days{First: t.first, Days: make([]Day, len(t.ends))}
	for i := range t.ends {
		e := &t.ends[i]
		d := Day{
			Open: value.PriceAt(st, p, &e.Open), High: value.PriceAt(st, p, &e.High),
			Low: value.PriceAt(st, p, &e.Low), Close: value.PriceAt(st, p, &e.Close),
			Price0Usd: e.quotes[0].Usd, Price1Usd: e.quotes[1].Usd,
			VolumeUsd: e.VolumeUsd, FeesUsd: e.FeesUsd,
		}

		var unpriced bool
		if i == len(t.ends)-1 {
			stats := st.Stats.At(t.pool)
			d.TVLUsd, unpriced = stats.TVLUsd, stats.Unpriced
		} else {
			tvl := value.TVLOf(st, p, &e.Amount0, &e.Amount1, &e.quotes)
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
		out.Days[i] = d
	}
	return out
}
