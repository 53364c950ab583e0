package rankings

import "tidemark/rankings/market"

// ReadAhead reads what rendering positions needs, all of a kind at a time. Nearly
// all of a row's cost is waiting for memory: with 20 rows one after the other the
// processor waits for each in turn, and here for all of them together. The sum of
// what it read keeps the compiler from leaving the reads out.
func (p *Page) ReadAhead() (sum uint64) {
	for i := range p.Rows {
		sum += readPosition(p.Rows[i].View.State.Positions.At(p.Rows[i].Index))
	}

	for i := range p.Rows {
		st := p.Rows[i].View.State
		at := st.Positions.At(p.Rows[i].Index)
		sum += readPool(st.Pools.At(at.Pool)) + uint64(st.Owners.At(at.Owner)[0])
		if at.IsOpen() {
			sum += readTick(st.Ticks.At(at.LowerSlot)) + readTick(st.Ticks.At(at.UpperSlot))
		}
	}

	for i := range p.Rows {
		st := p.Rows[i].View.State
		pool := st.Pools.At(st.Positions.At(p.Rows[i].Index).Pool)
		for _, token := range [...]uint32{pool.Currency0, pool.Currency1} {
			sum += uint64(st.Tokens.At(token).Decimals) + uint64(st.Prices.At(token).OnlyPool)
		}
	}
	return sum
}

// readPosition, readPool and readTick read every cache line of a record.
func readPosition(p *market.Position) uint64 {
	return p.ID + p.FeeGrowthInside1LastX128[0] + p.Withdrawn0.Lo + uint64(p.MintedAt) + uint64(p.Close[0].AsOf) +
		uint64(p.Close[1].AsOf)
}

func readPool(p *market.Pool) uint64 {
	return uint64(p.ID[0]) + uint64(p.CreatedAt) + p.FeeGrowthGlobal0X128[0] + p.Liquidity.Lo + p.Swaps +
		uint64(p.LastHour)
}

func readTick(t *market.Tick) uint64 {
	return t.SqrtPriceX96[0] + t.FeeGrowthOutside1X128[0] + uint64(t.SecondsOutside)
}
