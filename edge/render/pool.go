package render

import (
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// Pool is the rendered row of a pool in one generation, without its rank. It is
// immutable and shared.
type Pool struct{ row []byte }

// NewPool renders pool i.
func NewPool(st *market.State, i uint32) *Pool {
	p := st.Pools.At(i)
	legs := value.PoolPrices(st, p)
	return &Pool{appendPoolRow(make([]byte, 0, poolRowSize), st, i, &legs)}
}

// poolRowSize holds nearly every row of a pool.
const poolRowSize = 2048

// AppendPool appends a pool's row. A rank of 0 is null, for rows outside a list.
func AppendPool(dst []byte, p *Pool, rank uint64) []byte {
	return append(append(appendRank(dst, rank), ','), p.row...)
}

// AppendPoolDetail appends a pool without a rank.
func AppendPoolDetail(dst []byte, p *Pool) []byte {
	return append(append(dst, '{'), p.row...)
}

// appendRank begins a row with its rank; 0 is null.
func appendRank(dst []byte, rank uint64) []byte {
	if rank == 0 {
		return append(dst, `{"rank":null`...)
	}
	return integer(append(dst, `{"rank":`...), rank)
}

// appendChainID appends the fields chainId and protocol.
func appendChainID(dst []byte, id market.ChainID) []byte {
	dst = integer(append(dst, `"chainId":`...), id)
	return append(dst, `,"protocol":"`+market.Protocol+`",`...)
}

// appendTokens appends both tokens of a pool with the prices of legs.
func appendTokens(dst []byte, st *market.State, p *market.Pool, legs *[2]market.Price) []byte {
	for side, index := range [2]uint32{p.Currency0, p.Currency1} {
		dst = append(dst, `"token`...)
		dst = append(dst, byte('0'+side), '"', ':')
		risky := !st.Prices.At(index).Corroborated
		dst = appendToken(dst, st.Tokens.At(index), legs[side].Usd, risky)
		dst = append(dst, ',')
	}
	return dst
}

// appendFee appends a pool's fee in pips. For a dynamic pool it is that of the last
// swap, or null before the first.
func appendFee(dst []byte, p *market.Pool) []byte {
	if fee := p.ShownFee(); fee != market.NoFee {
		return integer(dst, fee)
	}
	return append(dst, null...)
}

// appendStats appends the group that is metrics in a pool's row and poolStats in
// its positions' rows.
func appendStats(dst []byte, p *market.Pool, s *market.PoolStats) []byte {
	dst = number(append(dst, `{"tvlUsd":`...), s.TVLUsd)
	dst = number(append(dst, `,"volumeUsd1h":`...), s.VolumeUsd1h)
	dst = number(append(dst, `,"volumeUsd24h":`...), s.VolumeUsd24h)
	dst = number(append(dst, `,"volumeUsd7d":`...), s.VolumeUsd7d)
	dst = number(append(dst, `,"volumeUsd30d":`...), s.VolumeUsd30d)

	dst = number(append(dst, `,"feesUsd1h":`...), s.FeesUsd1h)
	dst = number(append(dst, `,"feesUsd24h":`...), s.FeesUsd24h)
	dst = number(append(dst, `,"feesUsd7d":`...), s.FeesUsd7d)
	dst = number(append(dst, `,"feesUsd30d":`...), s.FeesUsd30d)

	dst = percent(append(dst, `,"feeApr":`...), s.FeeAPR)
	dst = integer(append(dst, `,"txCount":`...), p.Swaps+p.LiquidityChanges)
	dst = number(append(dst, `,"currentPrice":`...), s.CurrentPrice)
	return append(dst, '}')
}

// appendPoolRow appends a pool's row from after its rank to the end.
func appendPoolRow(dst []byte, st *market.State, i uint32, legs *[2]market.Price) []byte {
	p, s := st.Pools.At(i), st.Stats.At(i)
	dst = append(dst, `"poolId":"`...)
	dst = p.ID.AppendHex(dst)
	dst = appendChainID(append(dst, `",`...), st.Chain)
	dst = appendTokens(dst, st, p, legs)

	dst = appendFee(append(dst, `"fee":`...), p)
	dst = boolean(append(dst, `,"isDynamicFee":`...), p.IsDynamic())
	dst = integer(append(dst, `,"tickSpacing":`...), p.TickSpacing)
	dst = integer(append(dst, `,"currentTick":`...), p.Tick)
	dst = quoted(append(dst, `,"sqrtPriceX96":`...), &p.SqrtPriceX96)
	dst = quoted(append(dst, `,"liquidity":`...), new(p.Liquidity.U256()))
	dst = append(dst, `,"hooks":"`...)
	dst = p.Hooks.AppendHex(dst)
	dst = integer(append(dst, `","createdAtTimestamp":`...), p.CreatedAt)

	dst = appendStats(append(dst, `,"metrics":`...), p, s)
	dst = append(dst, ',')
	native := nativeUsd(st)
	if p.Quarantined { // nothing of it is valued
		native = market.Unknown
	}
	dst = appendPricing(dst, legs, native)
	dst = append(append(dst, `,"reason":`...), reasons[missingReason(legs)]...)
	dst = boolean(append(dst, `,"priceUnavailable":`...), s.Unpriced)
	dst = boolean(append(dst, `,"unrealizable":`...), s.Unrealizable)

	dst = integer(append(dst, `},"positionsCount":`...), p.OpenPositions)
	dst = integer(append(dst, `,"holdersCount":`...), p.Holders)
	dst = integer(append(dst, `,"asOfBlock":`...), st.Head.Number)
	return append(dst, '}')
}

// nativeUsd returns the present price of the native currency.
func nativeUsd(st *market.State) float64 {
	if st.Native == market.NoIndex {
		return market.Unknown
	}
	return st.Prices.At(st.Native).Usd
}

// missingReason returns why numbers of a pool are missing: the reason of the first
// leg without a price.
func missingReason(legs *[2]market.Price) market.Reason {
	if legs[0].Reason != market.ReasonNone {
		return legs[0].Reason
	}
	return legs[1].Reason
}
