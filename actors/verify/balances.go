package verify

import (
	"cmp"
	"context"
	"math"
	"slices"

	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// claim is what all positions together may take out of a currency.
type claim struct {
	sum    clmath.U256
	shares uint64 // how many; each may be rounded by one unit
}

// compareBalances holds what positions claim against what the pool manager has of
// each currency. It has less of tokens that take a fee on transfers or change
// balances by themselves: no event tells of that. It is not the ledger that
// differs then, so it counts as no difference. A sample leaves it out.
func (c *comparison) compareBalances(ctx context.Context) error {
	if c.Sample > 0 {
		return nil
	}
	claims := c.sumClaims()
	currencies := make([]market.Address, len(claims))
	for i := range claims {
		currencies[i] = c.st.Tokens.At(uint32(i)).Address
	}
	held, known, err := c.readBalances(ctx, currencies)
	if err != nil {
		return err
	}

	for i := range claims {
		if !known[i] {
			continue
		}
		c.out.Compared++
		enough := held[i]
		if _, over := enough.AddOverflow(&enough, &clmath.U256{claims[i].shares}); over ||
			!enough.Lt(&claims[i].sum) {
			continue
		}
		c.out.Short++
		if len(c.out.Shortfalls) < rankings.MaxDifferences {
			c.out.Shortfalls = append(c.out.Shortfalls, rankings.Shortfall{
				Token: currencies[i].String(), Claimed: claims[i].sum.Dec(), Held: held[i].Dec(),
			})
		}
	}
	return nil
}

// sumClaims adds up principal and uncollected fees of every position, by token. What
// the protocol and holders of the manager's own claims may take is left out.
func (c *comparison) sumClaims() []claim {
	claims := make([]claim, c.st.Tokens.Len())
	for i := range c.st.Positions.Len() {
		p := c.st.Positions.At(i)
		if p.IsOpen() {
			c.addClaim(claims, p.Pool, p.LowerSlot, p.UpperSlot, p.Liquidity(),
				&p.FeeGrowthInside0LastX128, &p.FeeGrowthInside1LastX128)
		}
	}

	for i := range c.st.NonNFT.Len() {
		d := c.st.NonNFT.At(i)
		if lower, upper, ok := c.ticksOf(d); ok {
			c.addClaim(claims, d.Pool, lower, upper, d.Liquidity,
				&d.FeeGrowthInside0LastX128, &d.FeeGrowthInside1LastX128)
		}
	}
	return claims
}

// ticksOf finds the ticks of liquidity that is no NFT's; there are none when there
// is no liquidity.
func (c *comparison) ticksOf(d *market.NonNFT) (lower, upper uint32, ok bool) {
	if d.Liquidity.IsZero() {
		return 0, 0, false
	}
	refs := c.st.TickLists.At(d.Pool)
	i, okLower := slices.BinarySearchFunc(refs, d.TickLower, byTick)
	j, okUpper := slices.BinarySearchFunc(refs, d.TickUpper, byTick)
	if !okLower || !okUpper {
		return 0, 0, false
	}
	return refs[i].Slot, refs[j].Slot, true
}

func byTick(ref market.TickRef, tick int32) int { return cmp.Compare(ref.Tick, tick) }

func (c *comparison) addClaim(claims []claim, pool, lowerSlot, upperSlot uint32,
	liquidity clmath.U128, last0, last1 *clmath.U256,
) {
	p := c.st.Pools.At(pool)
	if p.Quarantined {
		return
	}
	lower, upper := c.st.Ticks.At(lowerSlot), c.st.Ticks.At(upperSlot)
	amount0, amount1 := clmath.Principal(p.Tick, &p.SqrtPriceX96, lower.Tick, upper.Tick,
		&lower.SqrtPriceX96, &upper.SqrtPriceX96, liquidity, false)
	inside0 := clmath.FeeGrowthInside(p.Tick, lower.Tick, upper.Tick, &p.FeeGrowthGlobal0X128,
		&lower.FeeGrowthOutside0X128, &upper.FeeGrowthOutside0X128)
	inside1 := clmath.FeeGrowthInside(p.Tick, lower.Tick, upper.Tick, &p.FeeGrowthGlobal1X128,
		&lower.FeeGrowthOutside1X128, &upper.FeeGrowthOutside1X128)

	fees0 := clmath.FeesOwed(&inside0, last0, liquidity)
	fees1 := clmath.FeesOwed(&inside1, last1, liquidity)
	claims[p.Currency0].add(&amount0, &fees0)
	claims[p.Currency1].add(&amount1, &fees1)
}

// add adds a share. Fees that pass what a transfer can move can never be taken.
func (c *claim) add(principal, fees *clmath.U256) {
	c.shares++
	c.sum.Add(&c.sum, principal)
	if !fees.Gt(&mostMoved) {
		c.sum.Add(&c.sum, fees)
	}
}

// mostMoved is the largest amount that the contracts can move: int128's.
var mostMoved = clmath.U256{math.MaxUint64, math.MaxInt64}
