package value

import "tidemark/rankings/market"

// TouchLen is how many rows ahead Touch is worth asking for: enough for their
// cache misses to overlap, few enough for all of them to stay near.
const TouchLen = 32

// Touch reads what Position will need of up to TouchLen positions from first
// on, all of a kind at a time, so that the processor waits for memory once
// and not five times a row. Calling it before every TouchLen rows halves the
// cost of a walk over all positions. The result means nothing.
func Touch(st *market.State, first uint32) (sum uint32) {
	var pools [TouchLen]*market.Pool
	n := min(TouchLen, st.Positions.Len()-first)
	for i := range n {
		p := st.Positions.At(first + i)
		pools[i] = st.Pools.At(p.Pool)
		if p.IsOpen() {
			sum += touchTick(st.Ticks.At(p.LowerSlot)) + touchTick(st.Ticks.At(p.UpperSlot))
		}
	}
	for _, pool := range pools[:n] {
		sum += uint32(pool.Tick) + uint32(pool.SqrtPriceX96[0])
		sum += touchToken(st, pool.Currency0) + touchToken(st, pool.Currency1)
	}
	return sum
}

func touchTick(t *market.Tick) uint32 {
	return uint32(t.SqrtPriceX96[0]) + uint32(t.FeeGrowthOutside1X128[3])
}

func touchToken(st *market.State, token uint32) uint32 {
	return uint32(st.Tokens.At(token).Decimals) + uint32(st.Prices.At(token).Markets)
}
