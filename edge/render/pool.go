package render

import "tidemark/rankings/market"

// Pool is the row of a pool in one generation, but for its rank. It is made
// once, never changes, and is read by many.
type Pool struct{ row []byte }

// NewPool renders pool i.
func NewPool(st *market.State, i uint32) *Pool {
	p := st.Pools.At(i)
	legs := [2]market.Price{*st.Prices.At(p.Currency0), *st.Prices.At(p.Currency1)}
	return &Pool{poolRow(make([]byte, 0, poolRowSize), st, i, &legs)}
}

// poolRowSize holds nearly every row of a pool.
const poolRowSize = 2048

// AppendPool appends a pool's row; rank 0 leaves the rank out, as the detail
// does.
func AppendPool(dst []byte, p *Pool, rank uint64) []byte {
	dst = append(dst, '{')
	if rank > 0 {
		dst = append(dst, `"rank":`...)
		dst = integer(dst, rank)
		dst = append(dst, ',')
	}
	return append(dst, p.row...)
}

// chainID appends the fields that say where a row lives.
func chainID(dst []byte, id market.ChainID) []byte {
	dst = integer(append(dst, `"chainId":`...), id)
	return append(dst, `,"protocol":"`+market.Protocol+`",`...)
}

// tokens appends both snapshots of a pool at the prices of legs.
func tokens(dst []byte, st *market.State, p *market.Pool, legs *[2]market.Price) []byte {
	for side, index := range [2]uint32{p.Currency0, p.Currency1} {
		dst = append(dst, `"token`...)
		dst = append(dst, byte('0'+side), '"', ':')
		risky := !st.Prices.At(index).Corroborated
		dst = snapshot(dst, st.Tokens.At(index), legs[side].Usd, risky)
		dst = append(dst, ',')
	}
	return dst
}

// fee appends a pool's fee in pips: of a dynamic pool what the last swap
// paid, null before the first.
func fee(dst []byte, p *market.Pool) []byte {
	switch {
	case !p.IsDynamic():
		return integer(dst, p.Fee)
	case p.LastFee == market.NoFee:
		return append(dst, null...)
	}
	return integer(dst, p.LastFee)
}

// stats appends the group that is a pool's metrics and its positions'
// poolStats.
func stats(dst []byte, p *market.Pool, s *market.PoolStats) []byte {
	dst = number(append(dst, `{"tvlUsd":`...), s.TVLUsd)
	dst = number(append(dst, `,"volumeUsd24h":`...), s.VolumeUsd24h)
	dst = number(append(dst, `,"volumeUsd7d":`...), s.VolumeUsd7d)
	dst = number(append(dst, `,"feesUsd24h":`...), s.FeesUsd24h)
	dst = number(append(dst, `,"feesUsd7d":`...), s.FeesUsd7d)
	dst = percent(append(dst, `,"feeApr":`...), s.FeeAPR)
	dst = integer(append(dst, `,"txCount":`...), p.Swaps+p.LiquidityChanges)
	dst = number(append(dst, `,"currentPrice":`...), s.CurrentPrice)
	return append(dst, '}')
}

// poolRow appends a pool's row from after its rank to its end.
func poolRow(dst []byte, st *market.State, i uint32, legs *[2]market.Price) []byte {
	p, s := st.Pools.At(i), st.Stats.At(i)
	dst = append(dst, `"poolId":"`...)
	dst = p.ID.AppendHex(dst)
	dst = chainID(append(dst, `",`...), st.Chain)
	dst = tokens(dst, st, p, legs)

	dst = fee(append(dst, `"fee":`...), p)
	dst = boolean(append(dst, `,"isDynamicFee":`...), p.IsDynamic())
	dst = integer(append(dst, `,"tickSpacing":`...), p.TickSpacing)
	dst = integer(append(dst, `,"currentTick":`...), p.Tick)
	dst = quoted(append(dst, `,"sqrtPriceX96":`...), &p.SqrtPriceX96)
	dst = quoted(append(dst, `,"liquidity":`...), new(p.Liquidity.U256()))
	dst = append(dst, `,"hooks":"`...)
	dst = p.Hooks.AppendHex(dst)
	dst = integer(append(dst, `","createdAtTimestamp":`...), p.CreatedAt)

	dst = stats(append(dst, `,"metrics":`...), p, s)
	dst = append(dst, ',')
	dst = prices(dst, legs, nativeUsd(st))
	dst = append(append(dst, `,"reason":`...), reasons[missing(legs)]...)
	dst = boolean(append(dst, `,"priceUnavailable":`...), s.Unpriced)
	dst = boolean(append(dst, `,"unrealizable":`...), s.Unrealizable)

	dst = integer(append(dst, `},"positionsCount":`...), p.OpenPositions)
	dst = integer(append(dst, `,"holdersCount":`...), p.Holders)
	dst = integer(append(dst, `,"asOfBlock":`...), st.Head.Number)
	return append(dst, '}')
}

func nativeUsd(st *market.State) float64 {
	if st.Native == market.NoIndex {
		return market.Unknown
	}
	return st.Prices.At(st.Native).Usd
}

// missing says why a number of a pool is missing: the reason of the first leg
// without a price.
func missing(legs *[2]market.Price) market.Reason {
	if legs[0].Reason != market.ReasonNone {
		return legs[0].Reason
	}
	return legs[1].Reason
}
