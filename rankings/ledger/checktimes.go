package ledger

import (
	"math"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// checkHours checks that every live bucket is in the list of its pool once, newest
// first, and that free ones are in no list. It stops at the first wrong bucket of
// a list.
func (c *checker) checkHours() {
	listed := make([]bool, c.Hours.Len())
	now, day := market.HourOf(c.Head.Time), market.DayOf(c.Head.Time)
	for i := range c.Pools.Len() {
		last, slot := now+1, c.Pools.At(i).LastHour
		for slot != market.NoIndex {
			if !c.expect(slot < c.Hours.Len() && !listed[slot], "pool", i,
				"bucket %d of %d is listed wrongly", slot, c.Hours.Len()) {
				break
			}
			listed[slot] = true
			b := c.Hours.At(slot)
			c.expect(b.Pool == i && b.Hour < last, "bucket", slot,
				"is hour %d of pool %d; listed for %d before %d", b.Hour, b.Pool, i, last)
			c.expect(b.Swaps > 0, "bucket", slot, "has no swaps")
			c.expect(b.Hour >= market.OldestHour(day) || b.Hour%market.HoursOfDay == 0, "bucket", slot,
				"is of hour %d alone, before %d", b.Hour, market.OldestHour(day))
			c.expect(dayOf(b)+market.KeptDays >= day, "bucket", slot,
				"is of day %d; today is %d", dayOf(b), day)
			last, slot = b.Hour, b.Prev
		}
	}

	for i := range c.Hours.Len() {
		b := c.Hours.At(i)
		c.expect(listed[i] == (b.Pool != market.NoIndex), "bucket", i,
			"pool %d; listed %t", b.Pool, listed[i])
	}
}

// checkDays checks the newest day of every pool, which must end at the pool's
// present state.
func (c *checker) checkDays() {
	today := market.DayOf(c.Head.Time)
	for i := range c.Days.Len() {
		p, d := c.Pools.At(i), c.Days.At(i)
		c.expect(d.Pool == i && d.Day <= today && d.Day >= market.DayOf(p.CreatedAt), "day", i,
			"is day %d of pool %d; today is %d", d.Day, d.Pool, today)
		low := !d.Low.Gt(&d.Open) && !d.Low.Gt(&d.Close)
		c.expect(low && !d.Open.Gt(&d.High) && !d.Close.Gt(&d.High), "day", i,
			"open %s and close %s are not within %s and %s",
			d.Open.Dec(), d.Close.Dec(), d.Low.Dec(), d.High.Dec())
		c.expect(d.ClosesWith(p), "day", i, "does not end at the pool's state")

		root := clmath.Float64(&d.Close)
		c.expect(d.EventHour <= market.HoursOfDay && (d.EventHour == 0 || d.HourLow <= root && root <= d.HourHigh),
			"day", i, "hour %d is between %g and %g; its close is %g", d.EventHour, d.HourLow, d.HourHigh, root)

		amount0, amount1 := principalOf(p, c.TickLists.At(i), &c.Ticks)
		parts := len(c.TickLists.At(i))
		c.expect(isPrincipal(&d.Amount0, amount0, parts) && isPrincipal(&d.Amount1, amount1, parts), "day", i,
			"amounts %s and %s; the ticks have %.0f and %.0f", d.Amount0.Dec(), d.Amount1.Dec(), amount0, amount1)
	}
}

// isPrincipal reports whether an amount is what principalOf returns, or the exact sum,
// which earlier builds left in days that still run.
func isPrincipal(amount *clmath.U256, of float64, parts int) bool {
	return math.Abs(clmath.Float64(amount)-of) <= principalError*of+float64(parts)
}

// principalError bounds the relative error of principalOf: a sum of ten thousand parts has
// a tenth of it.
const principalError = 1e-11

// checkMinutes checks that minute closes ascend and end at the last swap.
func (c *checker) checkMinutes() {
	for i := range c.Minutes.Len() {
		p, m := c.Pools.At(i), c.Minutes.At(i)
		if !c.expect(m.Newest < market.MinuteSlots, "minutes", i, "newest is %d", m.Newest) {
			continue
		}

		c.expect(m.Minute[m.Newest] == market.MinuteOf(p.LastSwapAt), "minutes", i,
			"end at %d; the last swap was at %d", m.Minute[m.Newest], p.LastSwapAt)

		// From the newest back; slots that were never used come last.
		last := m.Minute[m.Newest]
		for k := uint32(1); k < market.MinuteSlots; k++ {
			minute := m.Minute[(m.Newest+market.MinuteSlots-k)%market.MinuteSlots]
			c.expect(minute < last || minute == 0, "minutes", i, "%d stands before %d", minute, last)
			last = min(last, minute)
		}
	}
}
