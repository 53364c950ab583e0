package consistency

import (
	"fmt"
	"math"
	"math/big"
)

// checkDistribution checks the bins: their arithmetic, and that they hold what the
// pool's TVL is made of.
func (ch *chart) checkDistribution() {
	d := group(ch.body, "liquidityDistribution")
	j := ch.by("distribution")
	j.equal("liquidityDistribution.currentTick", d["currentTick"], ch.pool["currentTick"])
	j.equal("liquidityDistribution.tickSpacing", d["tickSpacing"], ch.pool["tickSpacing"])
	if ch.position != nil {
		j.equal("liquidityDistribution.tickLower", d["tickLower"], ch.position["tickLower"])
		j.equal("liquidityDistribution.tickUpper", d["tickUpper"], ch.position["tickUpper"])
	}
	bins, at := list(d, "bins"), integerOf(text(ch.pool, "sqrtPriceX96"))
	if at == nil {
		return
	}

	var amounts [2]float64
	for i, bin := range bins {
		name := fmt.Sprintf("liquidityDistribution.bins[%d]", i)
		if i > 0 {
			j.equal(name+".tickLower", bin["tickLower"], bins[i-1]["tickUpper"])
		}
		for k, leg := range legs {
			amounts[k] += decimalFloat(text(bin, "amount"+leg))
		}
		merged := len(bins) >= mostBins && (i == 0 || i == len(bins)-1)
		if !merged {
			ch.checkBin(j, name, bin, at)
		}
	}
	ch.binsHoldTVL(j, bins, amounts)
}

// mostBins is how many bins a chart has at most; the outermost are then merged
// ones, whose liquidity is a mean.
const mostBins = 200

func (ch *chart) checkBin(j judge, name string, bin map[string]any, at *big.Int) {
	liquidity := integerOf(text(bin, "liquidity"))
	if liquidity == nil {
		j.holds(name+".liquidity", false, bin["liquidity"], "an integer as a string")
		return
	}

	lower, upper := number(bin, "tickLower"), number(bin, "tickUpper")
	amounts := [2]*big.Int{}
	amounts[0], amounts[1] = principal(liquidity, at,
		sqrtPriceAtTick(int64(lower)), sqrtPriceAtTick(int64(upper)))
	for k, leg := range legs {
		decimals := number(ch.pool, "token"+leg+".decimals")
		j.equal(name+".amount"+leg, bin["amount"+leg], amountOf(amounts[k].String(), decimals))
	}

	if tick := number(ch.pool, "currentTick"); lower <= tick && tick < upper {
		j.equal(name+".liquidity", text(bin, "liquidity"), text(ch.pool, "liquidity"))
	}
}

// binsHoldTVL checks that what the bins hold is worth the TVL, where no leg
// lacks a price or is cut to what can be sold.
func (ch *chart) binsHoldTVL(j judge, bins []map[string]any, amounts [2]float64) {
	if len(bins) == 0 || flag(ch.pool, "pricing.priceUnavailable") || flag(ch.pool, "pricing.unrealizable") {
		return
	}

	want := 0.0
	for k, leg := range legs {
		if amounts[k] != 0 {
			want += amounts[k] * number(ch.pool, "token"+leg+".priceUsd")
		}
	}
	j.near("metrics.tvlUsd", number(ch.pool, "metrics.tvlUsd"), want, 0)
}

// decimalFloat is the float next to a decimal in a string.
func decimalFloat(s string) float64 {
	v, ok := new(big.Float).SetString(s)
	if !ok {
		return math.NaN()
	}
	x, _ := v.Float64()
	return x
}
