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

// readPosition, readPool and readTick read every cache line of what a row reads of a
// record. Every other position begins in the middle of a line.
func readPosition(p *market.Position) uint64 {
	sum := p.ID + uint64(p.MintedAt) + p.FeeGrowthInside1LastX128[2] + p.Withdrawn0.Lo +
		uint64(p.Overflow)
	if p.Closed {
		sum += uint64(p.ClosedAt)
	}
	return sum
}

func readPool(p *market.Pool) uint64 {
	return uint64(p.Currency0) + p.FeeGrowthGlobal0X128[2] + p.FeeGrowthGlobal1X128[3]
}

func readTick(t *market.Tick) uint64 {
	return t.SqrtPriceX96[0] + t.FeeGrowthOutside1X128[0] + uint64(t.SecondsOutside)
}
