package ledger

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// checkPositions checks each position by itself, and the overflow table.
func (c *checker) checkPositions() {
	used := make([]bool, c.Overflow.Len())
	entries, last := uint64(0), uint64(0)
	for i := range c.Positions.Len() {
		p := c.Positions.At(i)
		c.expect(p.ID > last, "position", i, "id %d after %d", p.ID, last)
		last = p.ID
		entries += uint64(p.Entries)

		c.expect(p.Pool < c.Pools.Len() && p.Owner < c.Owners.Len(), "position", i,
			"pool %d of %d, owner %d of %d", p.Pool, c.Pools.Len(), p.Owner, c.Owners.Len())
		c.expect(p.TickLower < p.TickUpper, "position", i, "range %d to %d", p.TickLower, p.TickUpper)
		c.expect(p.IsOpen() == (p.ClosedAt == 0), "position", i, "liquidity %s, closed at %d",
			unsigned(p.Liquidity()), p.ClosedAt)
		if !c.quarantined(p.Pool) {
			c.expect(!p.IsOpen() || !p.Burned, "position", i,
				"burned with liquidity %s", unsigned(p.Liquidity()))
			c.expect(p.Entries > 0, "position", i, "no transactions")
		}
		c.checkSeconds(i, p)

		if p.Overflow == market.NoIndex {
			continue
		}

		if c.expect(p.Overflow < c.Overflow.Len() && !used[p.Overflow], "position", i,
			"overflow sums %d of %d", p.Overflow, c.Overflow.Len()) {
			used[p.Overflow] = true
			c.expect(!sumsFit(c.Overflow.At(p.Overflow)), "position", i, "sums %d fit 128 bits", p.Overflow)
		}
	}

	for i, taken := range used {
		c.expect(taken, "overflow", uint32(i), "belong to no position")
	}

	c.expect(entries == c.Transactions, "chain", uint32(c.Chain),
		"%d transactions; the positions have %d", c.Transactions, entries)
}

// checkSeconds checks that a position was not in range for longer than it was
// open, and that the time since its pool last moved counts as the tick stands.
func (c *checker) checkSeconds(i uint32, p *market.Position) {
	slots := p.LowerSlot < c.Ticks.Len() && p.UpperSlot < c.Ticks.Len()
	if p.Pool >= c.Pools.Len() || p.IsOpen() && !slots {
		return
	}
	inRange, open, ok := c.SecondsInRange(p)
	if !ok {
		c.expect(p.Timed || p.SecondsInside|p.SecondsClosed == 0, "position", i,
			"%d seconds inside and %d closed; they are not known", p.SecondsInside, p.SecondsClosed)
		return
	}

	c.expect(inRange <= open, "position", i, "in range for %d of %d seconds", inRange, open)
	lived := open + p.SecondsClosed // until now, or until the close
	c.expect(p.SecondsClosed <= lived, "position", i,
		"%d seconds closed since the mint %d ago", p.SecondsClosed, lived)
	if !p.IsOpen() || p.SecondsClosed > 0 {
		return
	}

	pool := c.Pools.At(p.Pool)
	still := min(uint32(c.Now()-max(pool.LastSwapAt, pool.CreatedAt)), open)
	side, seconds := "out of range", open-inRange
	if p.TickLower <= pool.Tick && pool.Tick < p.TickUpper {
		side, seconds = "in range", inRange
	}
	c.expect(seconds >= still, "position", i,
		"%s for %d seconds, in which its pool stood still for %d", side, seconds, still)
}

// sumsFit reports whether all sums fit 128 bits, which shows in the bits that any of
// them has.
func sumsFit(s *market.Sums) bool {
	var all clmath.U256
	for _, v := range []*clmath.U256{
		&s.Deposited0, &s.Deposited1, &s.Withdrawn0, &s.Withdrawn1, &s.Collected0, &s.Collected1,
	} {
		all.Or(&all, v)
	}
	_, fits := clmath.Narrow(&all)
	return fits
}

// checkCounts checks the number of open positions and of their owners, in every
// pool and in all.
func (c *checker) checkCounts() {
	positions := make([]uint32, c.Pools.Len())
	holders := make([]uint32, c.Pools.Len())
	seen := make(map[holding]bool)
	all := uint32(0)
	for i := range c.Positions.Len() {
		p := c.Positions.At(i)
		if !p.IsOpen() || p.Pool >= c.Pools.Len() {
			continue
		}
		all++
		positions[p.Pool]++
		if key := (holding{p.Owner, p.Pool}); !seen[key] {
			seen[key] = true
			holders[p.Pool]++
		}
	}

	c.expect(all == c.OpenCount, "chain", uint32(c.Chain),
		"%d open positions; counted %d", c.OpenCount, all)
	for i := range c.Pools.Len() {
		p := c.Pools.At(i)
		c.expect(p.OpenPositions == positions[i], "pool", i,
			"%d open positions; counted %d", p.OpenPositions, positions[i])
		c.expect(p.Holders == holders[i], "pool", i,
			"%d holders; counted %d", p.Holders, holders[i])
	}
}
