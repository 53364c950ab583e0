package render

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// Share is what the rows of one pool's positions share in one generation. It
// is made once, never changes, and is read by many.
type Share struct {
	identity, ticks, market []byte // parts of an open row, in its order
}

// NewShare renders what the positions of pool i share. m is the Metrics of
// any open one of them, for the prices that they have in common.
func NewShare(st *market.State, i uint32, m *value.Metrics) *Share {
	p := st.Pools.At(i)
	buf := make([]byte, 0, shareSize)
	cut := func() (part []byte) {
		part, buf = buf[:len(buf):len(buf)], buf[len(buf):]
		return part
	}

	s := new(Share)
	buf = identity(buf, st, p, &m.Price)
	s.identity = cut()

	buf = ticks(buf, p)
	s.ticks = cut()
	buf = poolStats(buf, st, i)
	buf = prices(buf, &m.Price, m.NativeUsd)
	s.market = cut()
	return s
}

// shareSize holds what nearly every pool's rows share.
const shareSize = 2048

func decimals(st *market.State, p *market.Pool) [2]uint8 {
	return [2]uint8{st.Tokens.At(p.Currency0).Decimals, st.Tokens.At(p.Currency1).Decimals}
}

// snapshotPrices are those that a row's tokens show: a closed row is valued at
// its closing block's, and shows its tokens at now's.
func snapshotPrices(st *market.State, p *market.Pool, m *value.Metrics) *[2]market.Price {
	if m.Open {
		return &m.Price
	}
	return &[2]market.Price{*st.Prices.At(p.Currency0), *st.Prices.At(p.Currency1)}
}

// identity appends the pool of a row and its tokens.
func identity(dst []byte, st *market.State, p *market.Pool, legs *[2]market.Price) []byte {
	dst = p.ID.AppendHex(append(dst, `","poolId":"`...))
	return tokens(append(dst, `",`...), st, p, legs)
}

// ticks appends what of the range group is the pool's.
func ticks(dst []byte, p *market.Pool) []byte {
	dst = integer(append(dst, `,"currentTick":`...), p.Tick)
	dst = integer(append(dst, `,"tickSpacing":`...), p.TickSpacing)
	return fee(append(dst, `,"fee":`...), p)
}

func poolStats(dst []byte, st *market.State, i uint32) []byte {
	dst = append(dst, `,"poolStats":`...)
	return append(stats(dst, st.Pools.At(i), st.Stats.At(i)), ',')
}

// AppendPosition appends the row of position i. share is its pool's, or nil
// to render everything; it is used when the row is open. Rank 0 is null, as
// on the detail, whose other fields follow in the place of the last brace.
func AppendPosition(
	dst []byte, st *market.State, i uint32, m *value.Metrics, share *Share, rank uint64,
) []byte {
	p := st.Positions.At(i)
	dst = place(dst, st, p, rank)
	pool := st.Pools.At(p.Pool)
	shared := share != nil && m.Open
	if shared {
		dst = append(dst, share.identity...)
	} else {
		dst = identity(dst, st, pool, snapshotPrices(st, pool, m))
	}

	dst = integer(append(dst, `"tickLower":`...), p.TickLower)
	dst = integer(append(dst, `,"tickUpper":`...), p.TickUpper)
	if shared {
		dst = append(dst, share.ticks...)
	} else {
		dst = ticks(dst, pool)
	}

	dst = quoted(append(dst, `,"liquidity":`...), new(p.Liquidity.U256()))
	dst = boolean(append(dst, `,"isActive":`...), m.Open)
	dst = amounts(dst, p, m, decimals(st, pool))
	dst = metrics(dst, m)
	if shared {
		dst = append(dst, share.market...)
	} else {
		dst = prices(poolStats(dst, st, p.Pool), &m.Price, m.NativeUsd)
	}

	dst = append(append(dst, `,"pnlBasis":"hodl","reason":`...), reasons[m.Reason]...)
	dst = integer(append(dst, `},"asOfBlock":`...), st.Head.Number)
	return append(dst, '}')
}

// place appends the fields up to the owner, whose string is left open.
func place(dst []byte, st *market.State, p *market.Position, rank uint64) []byte {
	if rank == 0 {
		dst = append(dst, `{"rank":null`...)
	} else {
		dst = integer(append(dst, `{"rank":`...), rank)
	}
	dst = integer(append(dst, `,"positionId":"`...), p.ID)
	dst = integer(append(dst, `","tokenId":"`...), p.ID)
	dst = chainID(append(dst, `",`...), st.Chain)
	return st.Owners.At(p.Owner).AppendHex(append(dst, `"owner":"`...))
}

// amounts appends the six groups of what is and what flowed.
func amounts(dst []byte, p *market.Position, m *value.Metrics, decimals [2]uint8) []byte {
	dst = group(append(dst, `,"amounts":{"current":{`...), &m.Current, decimals)
	dst = group(append(dst, `,"deposits":{`...), &m.Deposits, decimals)
	dst = group(append(dst, `,"withdrawals":{`...), &m.Withdrawals, decimals)
	dst = group(append(dst, `,"collectedFees":{`...), &m.Collected, decimals)
	dst = group(append(dst, `,"uncollectedFees":{`...), &m.Uncollected, decimals)
	if p.GasUnknown {
		return append(dst, `,"gas":{"native":null,"nativeRaw":null,"valueUsd":null}}`...)
	}

	wei := p.GasWei.U256()
	dst = amount(append(dst, `,"gas":{"native":`...), &wei, nativeDecimals)
	dst = quoted(append(dst, `,"nativeRaw":`...), &wei)
	dst = number(append(dst, `,"valueUsd":`...), m.GasUsd)
	return append(dst, "}}"...)
}

// nativeDecimals are those of the native currency of every chain.
const nativeDecimals = 18

// group appends both amounts, each converted to digits once.
func group(dst []byte, a *value.Amounts, decimals [2]uint8) []byte {
	var buf [2][80]byte
	raw0 := clmath.AppendDecimal(buf[0][:0], &a.Raw[0])
	raw1 := clmath.AppendDecimal(buf[1][:0], &a.Raw[1])
	dst = clmath.AppendPoint(append(dst, `"amount0":"`...), raw0, decimals[0])
	dst = clmath.AppendPoint(append(dst, `","amount1":"`...), raw1, decimals[1])
	dst = append(append(dst, `","amount0Raw":"`...), raw0...)
	dst = append(append(dst, `","amount1Raw":"`...), raw1...)
	dst = number(append(dst, `","valueUsd":`...), a.Usd)
	return append(dst, '}')
}

// metrics appends the group of the row's results.
func metrics(dst []byte, m *value.Metrics) []byte {
	dst = percent(append(dst, `,"metrics":{"apr":`...), m.APR)
	dst = percent(append(dst, `,"feeApr":`...), m.FeeAPR)
	dst = percent(append(dst, `,"roi":`...), m.ROI)
	dst = number(append(dst, `,"pnlUsd":`...), m.PnlUsd)
	dst = number(append(dst, `,"pnlCostUsd":`...), m.PnlCostUsd)
	dst = number(append(dst, `,"underlyingValueUsd":`...), m.UnderlyingValueUsd)
	dst = number(append(dst, `,"pendingFeesUsd":`...), m.PendingFeesUsd)
	dst = integer(append(dst, `,"ageSeconds":`...), m.AgeSeconds)
	dst = boolean(append(dst, `,"inRange":`...), m.InRange)
	dst = boolean(append(dst, `,"priceUnavailable":`...), m.PriceUnavailable)
	dst = boolean(append(dst, `,"unrealizableLeg":`...), m.UnrealizableLeg())
	return append(dst, '}')
}
