package ledger

import (
	"fmt"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// maxSpacing is the largest tickSpacing that the contracts accept.
const maxSpacing = 32767

// findPool returns the index of the pool that an event names.
func (l *Ledger) findPool(id *market.PoolID) (uint32, error) {
	if i, ok := l.poolOf.find(id[:]); ok {
		l.at.pool = i
		return i, nil
	}
	return 0, l.refuse("pool", *id, "one that was initialized")
}

// initializePool adds a pool and its rows in other tables. It checks the pool's
// key and first price, so that later arithmetic can rely on spacing, tick and
// price being in range.
func (l *Ledger) initializePool(e *market.Initialize) error {
	if i, known := l.poolOf.find(e.Pool[:]); known {
		l.at.pool = i
		if l.st.Pools.At(i).Quarantined {
			return nil
		}
		return l.refuse("new pool", e.Pool, "one that does not exist yet")
	}
	if l.blamed[e.Pool] {
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

// checkInitialize returns a Mismatch for values that the contracts do not accept.
func (l *Ledger) checkInitialize(e *market.Initialize) *Mismatch {
	_, ok0 := l.tokenOf.find(e.Currency0[:])
	_, ok1 := l.tokenOf.find(e.Currency1[:])
	switch {
	case !ok0:
		return l.refusal("currency0", e.Currency0, "one with known metadata")
	case !ok1:
		return l.refusal("currency1", e.Currency1, "one with known metadata")
	case e.Currency0 == e.Currency1:
		return l.refusal("currency1", e.Currency1, "one other than currency0")
	case e.Fee > clmath.Pips && e.Fee != market.DynamicFee:
		return l.refusal("fee", e.Fee, fmt.Sprintf("at most %d", clmath.Pips))
	case e.TickSpacing < 1 || e.TickSpacing > maxSpacing:
		return l.refusal("tickSpacing", e.TickSpacing, fmt.Sprintf("1 to %d", maxSpacing))
	case e.SqrtPriceX96.Lt(&clmath.MinSqrtPrice) || !e.SqrtPriceX96.Lt(&clmath.MaxSqrtPrice):
		return l.refusal("sqrtPriceX96", e.SqrtPriceX96.Dec(), priceRange)
	}

	if tick := clmath.TickAtSqrtPrice(&e.SqrtPriceX96); tick != e.Tick {
		return l.refusal("tick", e.Tick, tick)
	}

	return nil
}

// addPool adds the pool of an event whose values are in range.
func (l *Ledger) addPool(e *market.Initialize) uint32 {
	token0, _ := l.tokenOf.find(e.Currency0[:])
	token1, _ := l.tokenOf.find(e.Currency1[:])
	i := Pools.add(l, market.Pool{
		ID: e.Pool, Currency0: token0, Currency1: token1,
		Hooks: e.Hooks, Fee: e.Fee, TickSpacing: e.TickSpacing,
		CreatedAt: l.time, CreatedBlock: l.at.block.Number,
		SqrtPriceX96: e.SqrtPriceX96, Tick: e.Tick,
		LastFee: market.NoFee, LastHour: market.NoIndex,
	})
	l.poolOf.add(i)

	l.tickRefs.add()
	Minutes.add(l, market.Minutes{})
	l.isStale = append(l.isStale, false)
	Days.add(l, market.PoolDay{}) // which startDay fills
	l.recordStable(token0)
	l.recordStable(token1)
	l.startDay(i)
	return i
}

// donate adds both amounts to the fee growth of the liquidity in range, which the
// contracts require not to be 0. Donations count neither as volume nor as fees.
func (l *Ledger) donate(e *market.Donate) error {
	i, err := l.findPool(&e.Pool)
	if err != nil || l.st.Pools.At(i).Quarantined {
		return err
	}

	p := Pools.edit(l, i)
	if p.Liquidity.IsZero() {
		return l.refuse("liquidity for a donation", 0, "more than 0")
	}

	l.touchDay(i)
	growth0 := clmath.GrowthOf(&e.Amount0, p.Liquidity)
	growth1 := clmath.GrowthOf(&e.Amount1, p.Liquidity)
	p.FeeGrowthGlobal0X128.Add(&p.FeeGrowthGlobal0X128, &growth0)
	p.FeeGrowthGlobal1X128.Add(&p.FeeGrowthGlobal1X128, &growth1)
	return nil
}

// maxProtocolFee is the contracts' limit for each direction, in pips.
const maxProtocolFee = 1000

// setProtocolFee sets the protocol fee of later swaps in both directions.
func (l *Ledger) setProtocolFee(e *market.ProtocolFeeUpdated) error {
	i, err := l.findPool(&e.Pool)
	if err != nil || l.st.Pools.At(i).Quarantined {
		return err
	}

	if e.ProtocolFee&0xfff > maxProtocolFee || e.ProtocolFee>>12 > maxProtocolFee {
		return l.refuse("protocolFee", e.ProtocolFee,
			fmt.Sprintf("at most %d in each direction", maxProtocolFee))
	}
	Pools.edit(l, i).ProtocolFee = e.ProtocolFee
	return nil
}
