package ledger

import (
	"fmt"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Finding is an invariant that a State breaks.
type Finding struct {
	Record string // such as "pool 7"
	What   string
}

func (f Finding) String() string { return f.Record + ": " + f.What }

// maxFindings ends a check: beyond it, more lines help nobody.
const maxFindings = 1000

// Check returns every invariant that a state of a ledger breaks: records name
// each other rightly, ticks and pools carry the sums of the liquidity over
// them, counts count, lists ascend, prices stand within their ticks. It reads
// all records, once or twice each.
func Check(st *market.State) []Finding {
	c := &checker{State: st}
	if !c.lengths() {
		return c.found
	}

	c.names()
	if !c.tickRecords() {
		return c.found
	}

	c.tickSums()
	c.poolPrices()
	c.positionRecords()
	c.counts()
	c.hourLists()
	c.dayRecords()
	c.minuteRings()
	return c.found
}

type checker struct {
	*market.State
	found []Finding
}

// want notes a finding when ok is false. It reports ok.
func (c *checker) want(ok bool, record string, i uint32, format string, args ...any) bool {
	if !ok && len(c.found) < maxFindings {
		name := fmt.Sprintf("%s %d", record, i)
		c.found = append(c.found, Finding{name, fmt.Sprintf(format, args...)})
	}
	return ok
}

// lengths checks that records which share an index are as many.
func (c *checker) lengths() bool {
	pools := c.Pools.Len()
	ok := c.want(c.TickLists.Len() == pools, "pool", pools, "%d tick lists", c.TickLists.Len())
	ok = c.want(c.Days.Len() == pools, "pool", pools, "%d days", c.Days.Len()) && ok
	return c.want(c.Minutes.Len() == pools, "pool", pools, "%d minute rings", c.Minutes.Len()) && ok
}

// quarantined reports whether the pool is quarantined: then its ticks, sums and
// counts of the past need not agree, and only what names a record is checked.
func (c *checker) quarantined(pool uint32) bool {
	return pool < c.Pools.Len() && c.Pools.At(pool).Quarantined
}

// names checks what is unique, and the tokens of the pools.
func (c *checker) names() {
	native := uint32(market.NoIndex)
	address := func(t *market.Token) market.Address { return t.Address }
	tokens := unique(c, "token", &c.Tokens, address)
	if i, ok := tokens[market.Address{}]; ok {
		native = i
	}

	c.want(c.Native == native, "token", native, "is native; the state names %d", c.Native)
	unique(c, "owner", &c.Owners, func(a *market.Address) market.Address { return *a })
	unique(c, "pool", &c.Pools, func(p *market.Pool) market.PoolID { return p.ID })
	unique(c, "nonNFT", &c.NonNFT, keyOf)
	for i := range c.Pools.Len() {
		p := c.Pools.At(i)
		n := c.Tokens.Len()
		c.want(p.Currency0 < n && p.Currency1 < n && (p.Currency0 != p.Currency1 || p.Quarantined),
			"pool", i, "currencies %d and %d of %d tokens", p.Currency0, p.Currency1, n)
		c.want(p.TickSpacing > 0 && p.TickSpacing <= maxSpacing,
			"pool", i, "tickSpacing %d", p.TickSpacing)
	}
}

// unique checks that no two records have the same key, and returns them by it.
func unique[T any, K comparable](
	c *checker, record string, rows *market.Frozen[T], key func(*T) K,
) map[K]uint32 {
	seen := make(map[K]uint32, rows.Len())
	for i := range rows.Len() {
		k := key(rows.At(i))
		first, twice := seen[k]
		c.want(!twice, record, i, "is %v, as %d is", k, first)
		seen[k] = i
	}
	return seen
}

// poolPrices checks price, tick and liquidity of every pool: the liquidity is
// the running sum of its ticks up to the price, and 0 past the last.
func (c *checker) poolPrices() {
	for i := range c.Pools.Len() {
		p := c.Pools.At(i)
		inRange := p.Tick >= clmath.MinTick && p.Tick < clmath.MaxTick
		if !c.want(inRange, "pool", i, "tick %d", p.Tick) {
			continue
		}

		lower, upper := clmath.SqrtPriceAtTick(p.Tick), clmath.SqrtPriceAtTick(p.Tick+1)
		c.want(!p.SqrtPriceX96.Lt(&lower) && !p.SqrtPriceX96.Gt(&upper), "pool", i,
			"sqrtPriceX96 %s is not within tick %d", p.SqrtPriceX96.Dec(), p.Tick)
		var sum, at clmath.U128
		wrapped := false
		for _, ref := range c.TickLists.At(i).Refs {
			var over bool
			sum, over = sum.Apply(c.Ticks.At(ref.Slot).LiquidityNet)
			wrapped = wrapped || over
			if ref.Tick <= p.Tick {
				at = sum
			}
		}

		c.want(!wrapped && sum.IsZero(), "pool", i,
			"liquidity %s is left past the last tick", unsigned(sum))
		c.want(at == p.Liquidity, "pool", i,
			"liquidity %s; its ticks sum to %s", unsigned(p.Liquidity), unsigned(at))
		c.want(p.Swaps > 0 == (p.LastSwapAt > 0), "pool", i,
			"%d swaps, the last at %d", p.Swaps, p.LastSwapAt)
	}
}
