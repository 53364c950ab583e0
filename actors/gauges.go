package actors

import (
	"fmt"
	"math"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// newGauges makes the metrics of a chain that are read off the board. What is not
// known yet is NaN: 0 would say that all is well.
func newGauges(set *metrics.Set, board *rankings.Board, id market.ChainID, now func() time.Time) {
	gauge := func(name string, read func(*rankings.Chain) float64) {
		set.NewGauge(fmt.Sprintf(`tidemark_chain_%s{chain="%d"}`, name, id), func() float64 {
			c, ok := board.Load().Chain(id)
			if !ok {
				return math.NaN()
			}
			return read(c)
		})
	}

	gauge("lag_blocks", func(c *rankings.Chain) float64 {
		blocks, _, known := c.Status.Lag()
		return orNaN(known, float64(blocks))
	})
	gauge("lag_seconds", func(c *rankings.Chain) float64 {
		_, seconds, known := c.Status.Lag()
		return orNaN(known, float64(seconds))
	})
	gauge("generation", func(c *rankings.Chain) float64 {
		if c.View == nil {
			return 0
		}
		return float64(c.View.Generation)
	})
	gauge("generation_age_seconds", func(c *rankings.Chain) float64 {
		if c.View == nil {
			return math.NaN()
		}
		return float64(now().UnixMilli()-c.View.Confirmed()) / 1000
	})
}

func orNaN(known bool, v float64) float64 {
	if !known {
		return math.NaN()
	}
	return v
}
