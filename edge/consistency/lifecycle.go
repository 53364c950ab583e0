package consistency

import (
	"math"
	"math/big"
)

// positionRange checks the prices at the ends of a range. They are null exactly
// where the pool has no price in whole units.
func (j judge) positionRange(r row) {
	j = j.by("range")
	priced := known(number(r, "poolStats.currentPrice"))
	for price, tick := range map[string]string{"priceLower": "tickLower", "priceUpper": "tickUpper"} {
		want := math.NaN()
		if priced {
			want = tickPrice(r, number(r, tick))
		}
		j.near(price, number(r, price), want, 0)
	}

	if priced {
		lower, upper := number(r, "priceLower"), number(r, "priceUpper")
		j.holds("priceLower", lower < upper, lower, "below priceUpper")
	}
}

// tickPrice is token1 per token0 in whole units at a tick.
func tickPrice(r row, tick float64) float64 {
	root, _ := new(big.Float).SetInt(sqrtPriceAtTick(int64(tick))).Float64()
	root /= math.Exp2(96)
	decimals := number(r, "token0.decimals") - number(r, "token1.decimals")
	return root * root * math.Pow10(int(decimals))
}

// positionLifecycle checks the times of a position against its age, and the share
// of them in which it was in range. That share is null where no time has passed;
// a node may also not know it, as of pools in quarantine.
func (j judge) positionLifecycle(r row) {
	j = j.by("lifecycle")
	opened, closed := number(r, "openedAtTimestamp"), number(r, "closedAtTimestamp")
	age, share := number(r, "metrics.ageSeconds"), number(r, "timeInRange")
	if flag(r, "isActive") {
		j.holds("closedAtTimestamp", !known(closed), closed, "null, as it is open")
	} else {
		j.holds("closedAtTimestamp", closed >= opened, closed, "not before openedAtTimestamp")
		j.equal("closedAtTimestamp", closed, opened+age)
	}

	j.holds("timeInRange", !known(share) || 0 <= share && share <= 1, share, "0 to 1, or null")
	j.holds("timeInRange", !known(share) || age > 0, share, "null, as no time has passed")
	j.holds("timeInRange", !known(share) || !isQuarantined(r), share, "null in a quarantined pool")
}
