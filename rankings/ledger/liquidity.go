package ledger

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// share is one owner's liquidity over a range: the part that positions and
// non-NFT liquidity have in common.
type share struct {
	liquidity    *clmath.U128
	last0, last1 *clmath.U256 // growth inside at the last change
}

// change is a change of liquidity, and what it does to tokens.
type change struct {
	pool                 uint32
	lower, upper         int32
	delta                clmath.I128
	lowerSlot, upperSlot uint32
	amount0, amount1     clmath.U256 // principal
	fees0, fees1         clmath.U256 // paid out
}

// modify applies a change of liquidity: added, removed, or 0, which pays the
// fees out. The sender and the salt say whose it is.
func (l *Ledger) modify(e *market.ModifyLiquidity) error {
	i, err := l.pool(&e.Pool)
	if err != nil {
		return err
	}
	if l.st.Pools.At(i).Quarantined {
		l.modifyQuarantined(i, e)
		return nil
	}

	spacing := l.st.Pools.At(i).TickSpacing
	if e.TickLower >= e.TickUpper || e.TickLower < clmath.MinTick || e.TickUpper > clmath.MaxTick ||
		e.TickLower%spacing != 0 || e.TickUpper%spacing != 0 {
		return l.refuse("range", [2]int32{e.TickLower, e.TickUpper}, "a range of its spacing")
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

func keyOf(d *market.NonNFT) nonNFTKey {
	return nonNFTKey{d.Pool, d.TickLower, d.TickUpper, d.Sender, d.Salt}
}

// modifyNonNFT changes liquidity of another sender than the position manager.
// An empty record is kept, because the contracts keep its fee growth too.
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
	held := share{&d.Liquidity, &d.FeeGrowthInside0LastX128, &d.FeeGrowthInside1LastX128}
	return l.change(c, held)
}

// change applies c in the contracts' order: both ticks, the growth inside, the
// share, then ticks that fell empty are cleared, then the pool's liquidity.
// When it refuses, the share is untouched.
func (l *Ledger) change(c *change, s share) error {
	p := Pools.edit(l, c.pool)
	after, wrapped := s.liquidity.Apply(c.delta)
	if wrapped {
		return l.refuse("liquidityDelta", signed(c.delta), "liquidity "+unsigned(*s.liquidity))
	}
	if s.liquidity.IsZero() && after.IsZero() {
		return l.refuse("liquidityDelta", 0, "an empty position")
	}

	// Everything that can overflow is computed before the first write.
	inRange := p.Liquidity
	if c.lower <= p.Tick && p.Tick < c.upper {
		if inRange, wrapped = p.Liquidity.Apply(c.delta); wrapped {
			has := "pool liquidity " + unsigned(p.Liquidity)
			return l.refuse("liquidityDelta", signed(c.delta), has)
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

// settleShare computes the principal, pays all fees accrued so far, and moves
// the share's checkpoint.
func (l *Ledger) settleShare(p *market.Pool, c *change, s share) {
	lower, upper := l.st.Ticks.At(c.lowerSlot), l.st.Ticks.At(c.upperSlot)
	inside0 := clmath.FeeGrowthInside(p.Tick, c.lower, c.upper,
		&p.FeeGrowthGlobal0X128, &lower.FeeGrowthOutside0X128, &upper.FeeGrowthOutside0X128)
	inside1 := clmath.FeeGrowthInside(p.Tick, c.lower, c.upper,
		&p.FeeGrowthGlobal1X128, &lower.FeeGrowthOutside1X128, &upper.FeeGrowthOutside1X128)
	c.fees0 = clmath.FeesOwed(&inside0, s.last0, *s.liquidity)
	c.fees1 = clmath.FeesOwed(&inside1, s.last1, *s.liquidity)
	*s.last0, *s.last1 = inside0, inside1
	c.amount0, c.amount1 = clmath.Principal(p.Tick, &p.SqrtPriceX96, c.lower, c.upper,
		&lower.SqrtPriceX96, &upper.SqrtPriceX96, c.delta.Abs(), c.delta.Sign() > 0)
}

func unsigned(v clmath.U128) string {
	full := v.U256()
	return full.Dec()
}

func signed(v clmath.I128) string {
	if v.Sign() < 0 {
		return "-" + unsigned(v.Abs())
	}
	return unsigned(v.Abs())
}
