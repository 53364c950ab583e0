package ledger

import (
	"fmt"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Finding is a violated invariant of a State.
type Finding struct {
	Record string // such as "pool 7"
	What   string
}

func (f Finding) String() string { return f.Record + ": " + f.What }

// maxFindings bounds the findings of a check.
const maxFindings = 1000

// Check returns the invariants that a state violates, at most maxFindings. It
// checks references between records, the liquidity of ticks and pools against
// the positions, counts, the order of lists, and that prices are within their
// ticks. It reads every record once or twice.
func Check(st *market.State) []Finding {
	c := &checker{State: st}
	if !c.checkLengths() {
		return c.found
	}

	c.checkUniqueNames()
	if !c.checkTicks() {
		return c.found
	}

	c.checkTickSums()
	c.checkPools()
	c.checkPositions()
	c.checkCounts()
	c.checkHours()
	c.checkDays()
	c.checkMinutes()
	return c.found
}

type checker struct {
	*market.State
	found []Finding
}

// expect adds a finding if ok is false, and returns ok.
func (c *checker) expect(ok bool, record string, i uint32, format string, args ...any) bool {
	if !ok && len(c.found) < maxFindings {
		name := fmt.Sprintf("%s %d", record, i)
		c.found = append(c.found, Finding{name, fmt.Sprintf(format, args...)})
	}
	return ok
}

// checkLengths checks that tables with a row for each pool have the same length.
func (c *checker) checkLengths() bool {
	pools := c.Pools.Len()
	ok := c.expect(c.TickLists.Len() == pools, "pool", pools, "%d tick lists", c.TickLists.Len())
	ok = c.expect(c.Days.Len() == pools, "pool", pools, "%d days", c.Days.Len()) && ok
	return c.expect(c.Minutes.Len() == pools, "pool", pools, "%d minute rings", c.Minutes.Len()) && ok
}

// quarantined reports whether a pool is quarantined. Ticks and sums of such a pool
// need not agree; only references are checked.
func (c *checker) quarantined(pool uint32) bool {
	return pool < c.Pools.Len() && c.Pools.At(pool).Quarantined
}

// checkUniqueNames checks that ids and addresses are unique, the native token, and
// the tokens and spacings of pools.
func (c *checker) checkUniqueNames() {
	address := func(t *market.Token) market.Address { return t.Address }
	tokens := checkUnique(c, "token", &c.Tokens, address)
	if i, ok := tokens[market.Address{}]; ok {
		c.expect(c.Native == i, "token", i, "is native; the state names %d", c.Native)
	} else if c.Native != market.NoIndex { // the wrapped form, whose address is not known here
		c.expect(c.Native < c.Tokens.Len(), "token", c.Native, "of %d is native", c.Tokens.Len())
	}

	checkUnique(c, "owner", &c.Owners, func(a *market.Address) market.Address { return *a })
	checkUnique(c, "pool", &c.Pools, func(p *market.Pool) market.PoolID { return p.ID })
	checkUnique(c, "nonNFT", &c.NonNFT, nonNFTKeyOf)
	for i := range c.Pools.Len() {
		p := c.Pools.At(i)
		n := c.Tokens.Len()
		c.expect(p.Currency0 < n && p.Currency1 < n && (p.Currency0 != p.Currency1 || p.Quarantined),
			"pool", i, "currencies %d and %d of %d tokens", p.Currency0, p.Currency1, n)
		c.expect(p.TickSpacing > 0 && p.TickSpacing <= maxSpacing,
			"pool", i, "tickSpacing %d", p.TickSpacing)
	}
}

// checkUnique checks that no two records have the same key. It returns the records
// by key.
func checkUnique[T any, K comparable](
	c *checker, record string, rows *market.Frozen[T], key func(*T) K,
) map[K]uint32 {
	seen := make(map[K]uint32, rows.Len())
	for i := range rows.Len() {
		k := key(rows.At(i))
		first, twice := seen[k]
		c.expect(!twice, record, i, "is %v, as %d is", k, first)
		seen[k] = i
	}
	return seen
}

// checkPools checks price, tick and liquidity of every pool. The liquidity is the
// sum over its ticks up to the price, and the sum over all ticks is 0.
func (c *checker) checkPools() {
	for i := range c.Pools.Len() {
		p := c.Pools.At(i)
		inRange := p.Tick >= clmath.MinTick && p.Tick < clmath.MaxTick
		if !c.expect(inRange, "pool", i, "tick %d", p.Tick) {
			continue
		}

		lower, upper := clmath.SqrtPriceAtTick(p.Tick), clmath.SqrtPriceAtTick(p.Tick+1)
		c.expect(!p.SqrtPriceX96.Lt(&lower) && !p.SqrtPriceX96.Gt(&upper), "pool", i,
			"sqrtPriceX96 %s is not within tick %d", p.SqrtPriceX96.Dec(), p.Tick)

		var sum, at clmath.U128
		wrapped := false
		for _, ref := range c.TickLists.At(i) {
			var over bool
			sum, over = sum.Apply(c.Ticks.At(ref.Slot).LiquidityNet)
			wrapped = wrapped || over
			if ref.Tick <= p.Tick {
				at = sum
			}
		}

		c.expect(!wrapped && sum.IsZero(), "pool", i,
			"liquidity %s is left past the last tick", unsigned(sum))
		c.expect(at == p.Liquidity, "pool", i,
			"liquidity %s; its ticks sum to %s", unsigned(p.Liquidity), unsigned(at))
		c.expect(p.Swaps > 0 == (p.LastSwapAt > 0), "pool", i,
			"%d swaps, the last at %d", p.Swaps, p.LastSwapAt)
	}
}
