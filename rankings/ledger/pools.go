package ledger

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// maxSpacing is the largest tickSpacing that the contracts accept.
const maxSpacing = 32767

// pool returns the index of the pool that an event names.
func (l *Ledger) pool(id *market.PoolID) (uint32, error) {
	if i, ok := l.poolOf[*id]; ok {
		l.at.pool = i
		return i, nil
	}
	return 0, l.refuse("pool", *id, "no such pool")
}

// initialize adds a pool and the rows that go with it. What a pool's key and
// first price cannot be is refused here, so that the arithmetic of its later
// events needs no checks: spacing, tick and price are in their ranges.
func (l *Ledger) initialize(e *market.Initialize) error {
	if i, known := l.poolOf[e.Pool]; known {
		l.at.pool = i
		if l.st.Pools.At(i).Quarantined {
			return nil
		}
		return l.refuse("new pool", e.Pool, "the pool already")
	}
	if l.condemned[e.Pool] {
		l.initializeQuarantined(e)
		return nil
	}

	if m := l.checkInitialize(e); m != nil {
		m.Pool = e.Pool
		return m
	}
	l.addPool(e)
	return nil
}

// checkInitialize refuses what the contracts do not accept.
func (l *Ledger) checkInitialize(e *market.Initialize) *Mismatch {
	_, ok0 := l.tokenOf[e.Currency0]
	_, ok1 := l.tokenOf[e.Currency1]
	switch {
	case !ok0:
		return l.refusal("currency0", e.Currency0, "no metadata of it")
	case !ok1:
		return l.refusal("currency1", e.Currency1, "no metadata of it")
	case e.Currency0 == e.Currency1:
		return l.refusal("currency1", e.Currency1, "another currency than currency0")
	case e.Fee > clmath.Pips && e.Fee != market.DynamicFee:
		return l.refusal("fee", e.Fee, "at most 1000000")
	case e.TickSpacing < 1 || e.TickSpacing > maxSpacing:
		return l.refusal("tickSpacing", e.TickSpacing, "1 to 32767")
	case e.SqrtPriceX96.Lt(&clmath.MinSqrtPrice) || !e.SqrtPriceX96.Lt(&clmath.MaxSqrtPrice):
		return l.refusal("sqrtPriceX96", e.SqrtPriceX96.Dec(), priceRange)
	}

	if tick := clmath.TickAtSqrtPrice(&e.SqrtPriceX96); tick != e.Tick {
		return l.refusal("tick", e.Tick, tick)
	}

	return nil
}

// addPool adds the pool of an event whose values are in their ranges.
func (l *Ledger) addPool(e *market.Initialize) uint32 {
	i := Pools.add(l, market.Pool{
		ID: e.Pool, Currency0: l.tokenOf[e.Currency0], Currency1: l.tokenOf[e.Currency1],
		Hooks: e.Hooks, Fee: e.Fee, TickSpacing: e.TickSpacing,
		CreatedAt: l.time, CreatedBlock: l.at.block.Number,
		SqrtPriceX96: e.SqrtPriceX96, Tick: e.Tick,
		LastFee: market.NoFee, LastHour: market.NoIndex,
	})
	l.poolOf[e.Pool] = i

	l.lists.add()
	Minutes.add(l, market.Minutes{})
	l.isStale = append(l.isStale, false)
	Days.add(l, market.PoolDay{Pool: i})
	l.startDay(i)
	return i
}

// donate raises the growth of both tokens for the liquidity in range, of
// which the contracts demand some. Donations are no volume and no fees.
func (l *Ledger) donate(e *market.Donate) error {
	i, err := l.pool(&e.Pool)
	if err != nil || l.st.Pools.At(i).Quarantined {
		return err
	}

	p := Pools.edit(l, i)
	if p.Liquidity.IsZero() {
		return l.refuse("donation to liquidity", "above 0", 0)
	}
	growth0 := clmath.GrowthOf(&e.Amount0, p.Liquidity)
	growth1 := clmath.GrowthOf(&e.Amount1, p.Liquidity)
	p.FeeGrowthGlobal0X128.Add(&p.FeeGrowthGlobal0X128, &growth0)
	p.FeeGrowthGlobal1X128.Add(&p.FeeGrowthGlobal1X128, &growth1)
	l.touchDay(i)
	return nil
}

// maxProtocolFee is the contracts' limit on each direction, in pips.
const maxProtocolFee = 1000

// protocolFee sets what the protocol takes of later swaps, in each direction.
func (l *Ledger) protocolFee(e *market.ProtocolFeeUpdated) error {
	i, err := l.pool(&e.Pool)
	if err != nil || l.st.Pools.At(i).Quarantined {
		return err
	}

	if e.ProtocolFee&0xfff > maxProtocolFee || e.ProtocolFee>>12 > maxProtocolFee {
		return l.refuse("protocolFee", e.ProtocolFee, "at most 1000 in each direction")
	}
	Pools.edit(l, i).ProtocolFee = e.ProtocolFee
	return nil
}
