package value

import "tidemark/rankings/market"

// closes are the distinct minute closes of a window and how many minutes each
// one stood, ascending in price.
type closes struct {
	sqrt [market.MinuteSlots]float64
	held [market.MinuteSlots]int
	n    int
}

// medianSqrt returns the median sqrtPriceX96 over the last minutes up to now,
// or 0 when the pool has no price that old. A minute without a swap closes
// where the one before it did; the minute of now closes at the present price.
// With an even number of minutes the two in the middle are averaged.
//
// A pool that did not trade in the window, as most, costs one look.
func medianSqrt(ring *market.Minutes, now int64, minutes int) float64 {
	minutes = min(max(minutes, 1), market.MinuteSlots-1)
	last := market.MinuteOf(now)
	first := last - uint32(minutes) + 1
	at := ring.Newest
	switch {
	case ring.Minute[at] == 0:
		return 0
	case ring.Minute[at] <= first:
		return ring.Sqrt[at]
	}

	var c closes
	for until := last + 1; ; {
		from := max(ring.Minute[at], first)
		if from < until {
			c.insert(ring.Sqrt[at], int(until-from))
			until = from
		}
		if until == first {
			return c.median(minutes)
		}
		before := olderSlot(at)
		if ring.Minute[before] == 0 || ring.Minute[before] >= ring.Minute[at] {
			return 0 // the first swap ever, or once around
		}
		at = before
	}
}

// minutesBack returns for how many minutes up to now a pool's closes are known.
func minutesBack(ring *market.Minutes, now int64) float64 {
	at := ring.Newest
	if ring.Minute[at] == 0 {
		return 0
	}
	for {
		before := olderSlot(at)
		if ring.Minute[before] == 0 || ring.Minute[before] >= ring.Minute[at] {
			return float64(market.MinuteOf(now)-ring.Minute[at]) + 1
		}
		at = before
	}
}

// olderSlot returns the slot before a slot of a ring of minute closes.
func olderSlot(slot uint32) uint32 { return (slot + market.MinuteSlots - 1) % market.MinuteSlots }

func (c *closes) insert(sqrt float64, minutes int) {
	at := c.n
	for ; at > 0 && c.sqrt[at-1] > sqrt; at-- {
		c.sqrt[at], c.held[at] = c.sqrt[at-1], c.held[at-1]
	}
	c.sqrt[at], c.held[at] = sqrt, minutes
	c.n++
}

func (c *closes) median(minutes int) float64 {
	return (c.rank((minutes-1)/2) + c.rank(minutes/2)) / 2
}

// rank returns the k-th smallest close, counted by minutes from 0.
func (c *closes) rank(k int) float64 {
	i := 0
	for ; k >= c.held[i]; i++ {
		k -= c.held[i]
	}
	return c.sqrt[i]
}

// weightedMedian returns the price at which half the weight stands at or
// below. The quotes ascend in price and their weights are positive.
func weightedMedian(quotes []quote) float64 {
	half := 0.0
	for i := range quotes {
		half += quotes[i].weight / 2
	}

	at, sum := 0, quotes[0].weight
	for sum < half {
		at++
		sum += quotes[at].weight
	}
	return quotes[at].usd
}

// keepNear moves the quotes that are near a price to the front, in order, and
// returns them: each as near as it has to be. An outlier of 0 percent keeps
// all.
func keepNear(quotes []quote, usd float64) []quote {
	n := 0
	for i := range quotes {
		q := &quotes[i]
		slack := usd * q.outlier / 100
		if q.outlier != 0 && (q.usd < usd-slack || q.usd > usd+slack) {
			continue
		}

		if i > n {
			quotes[n] = *q
		}
		n++
	}

	return quotes[:n]
}
