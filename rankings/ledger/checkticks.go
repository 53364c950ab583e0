package ledger

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// checkTicks checks that the lists of ticks ascend and have every live record
// once. It reports whether all records in the lists exist.
func (c *checker) checkTicks() (ok bool) {
	ok = true
	listed := make([]bool, c.Ticks.Len())
	for i := range c.Pools.Len() {
		spacing := max(c.Pools.At(i).TickSpacing, 1)
		refs := c.TickLists.At(i)
		for k, ref := range refs {
			c.expect(k == 0 || refs[k-1].Tick < ref.Tick, "pool", i,
				"tick %d is listed out of order", ref.Tick)
			if !c.expect(ref.Slot < c.Ticks.Len(), "pool", i,
				"tick %d is listed in record %d", ref.Tick, ref.Slot) {
				ok = false
				continue
			}

			t := c.Ticks.At(ref.Slot)
			c.expect(t.Pool == i && t.Tick == ref.Tick, "tick", ref.Slot,
				"is tick %d of pool %d; listed as %d of %d", t.Tick, t.Pool, ref.Tick, i)
			c.expect(!listed[ref.Slot], "tick", ref.Slot, "is listed twice")
			c.expect(ref.Tick%spacing == 0 || c.quarantined(i), "tick", ref.Slot,
				"tick %d is no multiple of %d", ref.Tick, spacing)
			listed[ref.Slot] = true
		}
	}

	// Records that are in no list must be free.
	today := market.DayOf(c.Head.Time)
	for i := range c.Ticks.Len() {
		t := c.Ticks.At(i)
		if t.Pool == market.NoIndex {
			c.expect(t.LiquidityGross.IsZero(), "tick", i, "is free with liquidity")
			continue
		}

		c.expect(listed[i], "tick", i, "is in no list")
		c.expect(!t.LiquidityGross.IsZero() || c.quarantined(t.Pool), "tick", i,
			"is kept without liquidity")
		c.expect(t.LastDay() <= today, "tick", i,
			"was written on day %d, after %d", t.LastDay(), today)
		inRange := t.Tick >= clmath.MinTick && t.Tick <= clmath.MaxTick
		if c.expect(inRange, "tick", i, "tick %d", t.Tick) {
			sqrt := clmath.SqrtPriceAtTick(t.Tick)
			c.expect(t.SqrtPriceX96 == sqrt, "tick", i,
				"sqrtPriceX96 %s; its tick's is %s", t.SqrtPriceX96.Dec(), sqrt.Dec())
		}
	}

	return ok
}

// checkTickSums checks the liquidity of every tick against that of positions and
// of other senders.
func (c *checker) checkTickSums() {
	gross := make([]clmath.U128, c.Ticks.Len())
	net := make([]clmath.I128, c.Ticks.Len())
	add := func(lower, upper uint32, liquidity clmath.U128) {
		delta := liquidity.I128()
		gross[lower], _ = gross[lower].Add(liquidity)
		gross[upper], _ = gross[upper].Add(liquidity)
		net[lower], _ = net[lower].Add(delta)
		net[upper], _ = net[upper].Add(delta.Neg())
	}

	for i := range c.Positions.Len() {
		if p := c.Positions.At(i); p.IsOpen() && c.checkSlots(i, p) {
			add(p.LowerSlot, p.UpperSlot, p.Liquidity())
		}
	}

	for i := range c.NonNFT.Len() {
		d := c.NonNFT.At(i)
		known := c.expect(d.Pool < c.Pools.Len(), "nonNFT", i, "pool %d", d.Pool)
		if d.Liquidity.IsZero() || !known {
			continue
		}

		refs := c.TickLists.At(d.Pool)
		lower, okLower := findTick(refs, d.TickLower)
		upper, okUpper := findTick(refs, d.TickUpper)
		if c.expect(okLower && okUpper, "nonNFT", i, "ticks %d and %d of pool %d are not listed",
			d.TickLower, d.TickUpper, d.Pool) {
			add(lower, upper, d.Liquidity)
		}
	}

	for i := range c.Ticks.Len() {
		t := c.Ticks.At(i)
		if c.quarantined(t.Pool) {
			continue
		}
		c.expect(t.LiquidityGross == gross[i], "tick", i, "liquidityGross %s; the sum is %s",
			unsigned(t.LiquidityGross), unsigned(gross[i]))
		c.expect(t.LiquidityNet == net[i], "tick", i, "liquidityNet %s; the sum is %s",
			signed(t.LiquidityNet), signed(net[i]))
	}
}

// checkSlots checks that an open position refers to its ticks.
func (c *checker) checkSlots(i uint32, p *market.Position) bool {
	n := c.Ticks.Len()
	if !c.expect(p.LowerSlot < n && p.UpperSlot < n, "position", i,
		"ticks in records %d and %d of %d", p.LowerSlot, p.UpperSlot, n) {
		return false
	}
	lower, upper := c.Ticks.At(p.LowerSlot), c.Ticks.At(p.UpperSlot)
	return c.expect(lower.Pool == p.Pool && lower.Tick == p.TickLower &&
		upper.Pool == p.Pool && upper.Tick == p.TickUpper, "position", i,
		"records %d and %d are not its ticks", p.LowerSlot, p.UpperSlot)
}
