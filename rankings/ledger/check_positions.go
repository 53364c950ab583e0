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
		c.expect(i == 0 || p.ID > last, "position", i, "id %d after %d", p.ID, last)
		last = p.ID
		entries += uint64(p.Entries)

		c.expect(p.Pool < c.Pools.Len() && p.Owner < c.Owners.Len(), "position", i,
			"pool %d of %d, owner %d of %d", p.Pool, c.Pools.Len(), p.Owner, c.Owners.Len())
		c.expect(p.TickLower < p.TickUpper, "position", i, "range %d to %d", p.TickLower, p.TickUpper)
		c.expect(p.IsOpen() == (p.ClosedAt == 0), "position", i, "liquidity %s, closed at %d",
			unsigned(p.Liquidity), p.ClosedAt)
		if !c.quarantined(p.Pool) {
			c.expect(!p.IsOpen() || !p.Burned, "position", i,
				"burned with liquidity %s", unsigned(p.Liquidity))
			c.expect(p.Entries > 0, "position", i, "no transactions")
		}

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

// sumsFit reports whether all sums fit 128 bits.
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
