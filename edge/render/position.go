package render

import (
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// Share is the rendered parts that the rows of one pool's open positions have in
// common in one generation. It is immutable and shared.
type Share struct {
	identity, ticks, market []byte // in the order of a row
}

// NewShare renders the common parts of pool i. m is the Metrics of any of its open
// positions, which all have the same prices.
func NewShare(st *market.State, i uint32, m *value.Metrics) *Share {
	p := st.Pools.At(i)

	// All parts are in one allocation; cut ends a part.
	buf := make([]byte, 0, shareSize)
	cut := func() (part []byte) {
		part, buf = buf[:len(buf):len(buf)], buf[len(buf):]
		return part
	}

	s := new(Share)
	buf = appendIdentity(buf, st, p, &m.Price)
	s.identity = cut()

	buf = appendPoolTicks(buf, p)
	s.ticks = cut()
	buf = appendPoolStats(buf, st, i)
	buf = appendPricing(buf, &m.Price, m.NativeUsd)
	s.market = cut()
	return s
}

// ReadAhead reads every cache line of the parts, so that a row which is rendered
// soon need not wait for them. The sum keeps the compiler from leaving the reads out.
func (s *Share) ReadAhead() (sum uint64) {
	const line = 64
	for _, part := range [...][]byte{s.identity, s.ticks, s.market} {
		for i := 0; i < len(part); i += line {
			sum += uint64(part[i])
		}
	}
	return sum
}

// shareSize holds nearly every Share.
const shareSize = 2048

// Decimals returns the decimals of a pool's tokens.
func Decimals(st *market.State, p *market.Pool) [2]uint8 {
	return [2]uint8{st.Tokens.At(p.Currency0).Decimals, st.Tokens.At(p.Currency1).Decimals}
}

// snapshotPrices returns the prices that a row's tokens show, which are the present
// ones. A closed row is valued at the prices of its close.
func snapshotPrices(st *market.State, p *market.Pool, m *value.Metrics) *[2]market.Price {
	if m.Open {
		return &m.Price
	}
	now := value.PoolPrices(st, p)
	return &now
}

// appendIdentity appends the pool of a row and its tokens.
func appendIdentity(dst []byte, st *market.State, p *market.Pool, legs *[2]market.Price) []byte {
	dst = p.ID.AppendHex(append(dst, `","poolId":"`...))
	return appendTokens(append(dst, `",`...), st, p, legs)
}

// appendPoolTicks appends the fields of the range group that are the pool's.
func appendPoolTicks(dst []byte, p *market.Pool) []byte {
	dst = integer(append(dst, `,"currentTick":`...), p.Tick)
	dst = integer(append(dst, `,"tickSpacing":`...), p.TickSpacing)
	return appendFee(append(dst, `,"fee":`...), p)
}

func appendPoolStats(dst []byte, st *market.State, i uint32) []byte {
	dst = append(dst, `,"poolStats":`...)
	return append(appendStats(dst, st.Pools.At(i), st.Stats.At(i)), ',')
}

// AppendPosition appends the row of position i. share is its pool's, which an open
// row uses, or nil to render everything. A rank of 0 is null, for the detail, which
// replaces the last brace by its other fields.
func AppendPosition(
	dst []byte, st *market.State, i uint32, m *value.Metrics, share *Share, rank uint64,
) []byte {
	p := st.Positions.At(i)
	dst = appendPositionIDs(dst, st, p, rank)
	pool := st.Pools.At(p.Pool)
	shared := share != nil && m.Open
	if shared {
		dst = append(dst, share.identity...)
	} else {
		dst = appendIdentity(dst, st, pool, snapshotPrices(st, pool, m))
	}

	dst = integer(append(dst, `"tickLower":`...), p.TickLower)
	dst = integer(append(dst, `,"tickUpper":`...), p.TickUpper)
	dst = number(append(dst, `,"priceLower":`...), m.PriceLower)
	dst = number(append(dst, `,"priceUpper":`...), m.PriceUpper)
	if shared {
		dst = append(dst, share.ticks...)
	} else {
		dst = appendPoolTicks(dst, pool)
	}

	dst = quoted(append(dst, `,"liquidity":`...), new(p.Liquidity().U256()))
	dst = appendLifecycle(dst, p, m)
	dst, underlying, pending := appendAmounts(dst, p, m, Decimals(st, pool))
	dst = appendMetrics(dst, m, underlying, pending)
	if shared {
		dst = append(dst, share.market...)
	} else {
		dst = appendPricing(appendPoolStats(dst, st, p.Pool), &m.Price, m.NativeUsd)
	}

	dst = append(append(dst, `,"pnlBasis":"hodl","reason":`...), reasons[m.Reason]...)
	dst = integer(append(dst, `},"asOfBlock":`...), st.Head.Number)
	return append(dst, '}')
}

// appendPositionIDs appends the fields up to the owner, without its closing quote.
func appendPositionIDs(dst []byte, st *market.State, p *market.Position, rank uint64) []byte {
	dst = integer(append(appendRank(dst, rank), `,"positionId":"`...), p.ID)
	dst = integer(append(dst, `","tokenId":"`...), p.ID)
	dst = appendChainID(append(dst, `",`...), st.Chain)
	return st.Owners.At(p.Owner).AppendHex(append(dst, `"owner":"`...))
}

// appendLifecycle appends whether a position is open, since when or until when, and
// for what share of that time it was in range.
func appendLifecycle(dst []byte, p *market.Position, m *value.Metrics) []byte {
	dst = boolean(append(dst, `,"isActive":`...), m.Open)
	dst = integer(append(dst, `,"openedAtTimestamp":`...), int64(p.MintedAt))
	dst = append(dst, `,"closedAtTimestamp":`...)
	if m.Open {
		dst = append(dst, null...)
	} else {
		dst = integer(dst, p.ClosedAt)
	}
	return number(append(dst, `,"timeInRange":`...), m.TimeInRange)
}

// appendAmounts appends the six groups of amounts. It returns the texts of two values
// that the metrics show again.
func appendAmounts(
	dst []byte, p *market.Position, m *value.Metrics, decimals [2]uint8,
) (row, underlying, pending []byte) {
	dst, underlying = appendAmountPair(append(dst, `,"amounts":{"current":{`...), &m.Current, decimals)
	dst, _ = appendAmountPair(append(dst, `,"deposits":{`...), &m.Deposits, decimals)
	dst, _ = appendAmountPair(append(dst, `,"withdrawals":{`...), &m.Withdrawals, decimals)
	dst, _ = appendAmountPair(append(dst, `,"collectedFees":{`...), &m.Collected, decimals)
	dst, pending = appendAmountPair(append(dst, `,"uncollectedFees":{`...), &m.Uncollected, decimals)
	if p.GasUnknown {
		dst = append(dst, `,"gas":{"native":null,"nativeRaw":null,"valueUsd":null}}`...)
		return dst, underlying, pending
	}

	wei := p.GasWei.U256()
	dst = amount(append(dst, `,"gas":{"native":`...), &wei, nativeDecimals)
	dst = quoted(append(dst, `,"nativeRaw":`...), &wei)
	dst = number(append(dst, `,"valueUsd":`...), m.GasUsd)
	return append(dst, "}}"...), underlying, pending
}

// nativeDecimals are the decimals of every chain's native currency.
const nativeDecimals = 18

// appendAmountPair appends a group of two amounts. Each is converted to digits once
// and printed twice, with and without the point. usd is the text of its value.
func appendAmountPair(dst []byte, a *value.Amounts, decimals [2]uint8) (row, usd []byte) {
	var buf [2][80]byte
	raw0 := clmath.AppendDecimal(buf[0][:0], &a.Raw[0])
	raw1 := clmath.AppendDecimal(buf[1][:0], &a.Raw[1])
	dst = clmath.AppendPoint(append(dst, `"amount0":"`...), raw0, decimals[0])
	dst = clmath.AppendPoint(append(dst, `","amount1":"`...), raw1, decimals[1])
	dst = append(append(dst, `","amount0Raw":"`...), raw0...)
	dst = append(append(dst, `","amount1Raw":"`...), raw1...)
	dst = append(dst, `","valueUsd":`...)
	n := len(dst)
	dst = number(dst, a.Usd)
	return append(dst, '}'), dst[n:]
}

// appendMetrics appends the group metrics, of which two are known as text.
func appendMetrics(dst []byte, m *value.Metrics, underlying, pending []byte) []byte {
	dst = percent(append(dst, `,"metrics":{"apr":`...), m.APR)
	dst = percent(append(dst, `,"feeApr":`...), m.FeeAPR)
	dst = percent(append(dst, `,"roi":`...), m.ROI)
	dst = number(append(dst, `,"pnlUsd":`...), m.PnlUsd)
	dst = number(append(dst, `,"pnlCostUsd":`...), m.PnlCostUsd)
	dst = append(append(dst, `,"underlyingValueUsd":`...), underlying...)
	dst = append(append(dst, `,"pendingFeesUsd":`...), pending...)
	dst = integer(append(dst, `,"ageSeconds":`...), m.AgeSeconds)
	dst = boolean(append(dst, `,"inRange":`...), m.InRange)
	dst = boolean(append(dst, `,"priceUnavailable":`...), m.PriceUnavailable)
	dst = boolean(append(dst, `,"unrealizableLeg":`...), m.UnrealizableLeg())
	return append(dst, '}')
}
