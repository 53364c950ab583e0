package ledger

import (
	"fmt"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// liquidityShare is one owner's liquidity over a range: the fields that positions
// and non-NFT liquidity have in common.
type liquidityShare struct {
	liquidity    *clmath.U128
	last0, last1 *clmath.U256 // fee growth inside at the last change
}

// change is a change of liquidity, with the raw amounts that it moves.
type change struct {
	pool                 uint32
	lower, upper         int32
	delta                clmath.I128
	lowerSlot, upperSlot uint32
	amount0, amount1     clmath.U256 // principal
	fees0, fees1         clmath.U256 // paid to the owner
	secondsInside        uint32      // of the range
}

// modifyLiquidity adds or removes liquidity, or with a delta of 0 only pays the
// fees. Sender and salt identify whose it is.
func (l *Ledger) modifyLiquidity(e *market.ModifyLiquidity) error {
	i, err := l.findPool(&e.Pool)
	if err != nil {
		return err
	}
	if l.st.Pools.At(i).Quarantined {
		l.modifyQuarantined(i, e)
		return nil
	}

	// The range must be one that the contracts accept.
	spacing := l.st.Pools.At(i).TickSpacing
	if e.TickLower >= e.TickUpper || e.TickLower < clmath.MinTick || e.TickUpper > clmath.MaxTick ||
		e.TickLower%spacing != 0 || e.TickUpper%spacing != 0 {
		return l.refuse("range", [2]int32{e.TickLower, e.TickUpper},
			fmt.Sprintf("ascending multiples of %d within the tick bounds", spacing))
	}

	c := change{pool: i, lower: e.TickLower, upper: e.TickUpper, delta: e.LiquidityDelta}
	l.touchDay(i)
	Pools.edit(l, i).LiquidityChanges++
	if e.Sender == l.cfg.PositionManager {
		return l.modifyNFT(&c, e.Salt)
	}
	return l.modifyNonNFT(&c, e)
}

// nonNFTKey identifies non-NFT liquidity.
type nonNFTKey struct {
	pool         uint32
	lower, upper int32
	sender       market.Address
	salt         market.Hash
}

func nonNFTKeyOf(d *market.NonNFT) nonNFTKey {
	return nonNFTKey{d.Pool, d.TickLower, d.TickUpper, d.Sender, d.Salt}
}

// modifyNonNFT changes liquidity of a sender other than the position manager. A
// record without liquidity is kept, because the contracts keep its fee growth
// too.
func (l *Ledger) modifyNonNFT(c *change, e *market.ModifyLiquidity) error {
	key := nonNFTKey{c.pool, c.lower, c.upper, e.Sender, e.Salt}
	i, ok := l.nonNFTOf[key]
	if !ok {
		i = NonNFT.add(l, market.NonNFT{
			Pool: c.pool, Sender: e.Sender, Salt: e.Salt, TickLower: c.lower, TickUpper: c.upper,
		})
		l.nonNFTOf[key] = i
	}

	d := NonNFT.edit(l, i)
	held := liquidityShare{&d.Liquidity, &d.FeeGrowthInside0LastX128, &d.FeeGrowthInside1LastX128}
	return l.changeLiquidity(c, held)
}

// changeLiquidity applies c in the contracts' order: both ticks, the fee growth
// inside, the share, clearing of ticks without liquidity, then the pool's
// liquidity. On an error the share is unchanged.
func (l *Ledger) changeLiquidity(c *change, s liquidityShare) error {
	p := Pools.edit(l, c.pool)
	after, wrapped := s.liquidity.Apply(c.delta)
	if wrapped {
		return l.refuse("liquidityDelta", signed(c.delta),
			"one that fits the position's liquidity "+unsigned(*s.liquidity))
	}
	if s.liquidity.IsZero() && after.IsZero() {
		return l.refuse("liquidityDelta", 0, "above 0 for a position without liquidity")
	}

	// Everything that can overflow is computed before the first write.
	inRange := p.Liquidity
	if c.lower <= p.Tick && p.Tick < c.upper {
		if inRange, wrapped = p.Liquidity.Apply(c.delta); wrapped {
			return l.refuse("liquidityDelta", signed(c.delta),
				"one that fits the pool's liquidity "+unsigned(p.Liquidity))
		}
	}

	c.lowerSlot = l.tickSlot(c.pool, p, c.lower)
	c.upperSlot = l.tickSlot(c.pool, p, c.upper)
	if err := l.moveTick(c.lowerSlot, c.delta, c.delta); err != nil {
		return err
	}
	if err := l.moveTick(c.upperSlot, c.delta, c.delta.Neg()); err != nil {
		return err
	}

	l.settleShare(p, c, s)
	*s.liquidity = after
	l.clearTick(c.lowerSlot)
	l.clearTick(c.upperSlot)
	p.Liquidity = inRange
	return nil
}

// settleShare computes the principal of c and the fees that the share has
// accrued, sets the share's fee growth to the present one, and reads the seconds
// inside before the ticks may be cleared.
func (l *Ledger) settleShare(p *market.Pool, c *change, s liquidityShare) {
	lower, upper := l.st.Ticks.At(c.lowerSlot), l.st.Ticks.At(c.upperSlot)
	inside0 := clmath.FeeGrowthInside(p.Tick, c.lower, c.upper,
		&p.FeeGrowthGlobal0X128, &lower.FeeGrowthOutside0X128, &upper.FeeGrowthOutside0X128)
	inside1 := clmath.FeeGrowthInside(p.Tick, c.lower, c.upper,
		&p.FeeGrowthGlobal1X128, &lower.FeeGrowthOutside1X128, &upper.FeeGrowthOutside1X128)
	c.fees0 = clmath.FeesOwed(&inside0, s.last0, *s.liquidity)
	c.fees1 = clmath.FeesOwed(&inside1, s.last1, *s.liquidity)

	*s.last0, *s.last1 = inside0, inside1
	c.secondsInside = clmath.SecondsInside(p.Tick, c.lower, c.upper, l.clock(),
		lower.SecondsOutside, upper.SecondsOutside)
	c.amount0, c.amount1 = clmath.Principal(p.Tick, &p.SqrtPriceX96, c.lower, c.upper,
		&lower.SqrtPriceX96, &upper.SqrtPriceX96, c.delta.Abs(), c.delta.Sign() > 0)
}

// unsigned returns v in decimal.
func unsigned(v clmath.U128) string {
	full := v.U256()
	return full.Dec()
}

// signed returns v in decimal.
func signed(v clmath.I128) string {
	if v.Sign() < 0 {
		return "-" + unsigned(v.Abs())
	}
	return unsigned(v.Abs())
}
