package render

import (
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// AppendTicks begins the body of a page of ticks: where the pool stands, and its
// initialised ticks of refs.
func AppendTicks(dst []byte, st *market.State, pool uint32, refs []market.TickRef) []byte {
	p := st.Pools.At(pool)
	dst = integer(append(dst, `{"asOfBlock":`...), st.Head.Number)
	dst = integer(append(dst, `,"currentTick":`...), p.Tick)
	dst = quoted(append(dst, `,"liquidity":`...), new(p.Liquidity.U256()))

	dst = append(dst, `,"ticks":[`...)
	for i := range refs {
		t := st.Ticks.At(refs[i].Slot)
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = integer(append(dst, `{"tick":`...), refs[i].Tick)
		dst = number(append(dst, `,"price":`...), value.PriceAt(st, p, &t.SqrtPriceX96))
		dst = quoted(append(dst, `,"liquidityGross":`...), new(t.LiquidityGross.U256()))
		dst = signed(append(dst, `,"liquidityNet":`...), t.LiquidityNet)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
