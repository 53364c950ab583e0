package render

import (
	"bytes"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// Share is what the rows of one pool's positions have in common in one generation: rendered
// parts, and what they are valued by. It is immutable and shared. With what it has of them, a
// row need not read the pool's tokens and prices; it is two cache lines and the text.
type Share struct {
	values value.PoolValues
	text   []byte // the parts one after the other, far below 64 KiB
	// ends are where parts of the text end: identity, ticks and stats in the order of a row,
	// pricing of open rows, and the identity of closed ones. The last is empty if it is the
	// same, as it is unless nothing but the pool itself says what a token is worth, which an
	// open row does not show.
	ends     [5]uint16
	decimals Decimals
}

// NewShare renders the common parts of pool i.
func NewShare(st *market.State, i uint32) *Share {
	p := st.Pools.At(i)
	s := &Share{values: value.ValuesOf(st, i), decimals: DecimalsOf(st, p)}
	open, nativeUsd := s.values.OpenPrices(st, i)
	now := value.PoolPrices(st, p)

	// All parts are rendered in one buffer and kept in one allocation of their length.
	buf := make([]byte, 0, shareSize)
	buf = appendIdentity(buf, st, p, &open)
	s.ends[0] = uint16(len(buf))
	buf = appendPoolTicks(buf, p)
	s.ends[1] = uint16(len(buf))
	buf = appendPoolStats(buf, st, i)
	s.ends[2] = uint16(len(buf))
	buf = appendPricing(buf, &open, nativeUsd)
	s.ends[3] = uint16(len(buf))

	if !sameUsd(&open[0], &now[0]) || !sameUsd(&open[1], &now[1]) {
		buf = appendIdentity(buf, st, p, &now)
	}
	s.ends[4] = uint16(len(buf))
	s.text = bytes.Clone(buf)
	return s
}

// Parts of the text.
func (s *Share) identity() []byte { return s.text[:s.ends[0]] }
func (s *Share) ticks() []byte    { return s.text[s.ends[0]:s.ends[1]] }
func (s *Share) stats() []byte    { return s.text[s.ends[1]:s.ends[2]] }
func (s *Share) pricing() []byte  { return s.text[s.ends[2]:s.ends[3]] }

// closed returns the identity of closed rows.
func (s *Share) closed() []byte {
	if own := s.text[s.ends[3]:s.ends[4]]; len(own) > 0 {
		return own
	}
	return s.identity()
}

// Measure fills m with what AppendPosition appends of one of the pool's positions beside
// the parts.
func (s *Share) Measure(st *market.State, p *market.Position, m *value.Metrics) {
	s.values.Position(st, p, m)
}

// sameUsd reports whether two prices are rendered as the same number.
func sameUsd(a, b *market.Price) bool {
	return a.Usd == b.Usd || !market.Known(a.Usd) && !market.Known(b.Usd)
}

// ReadAhead reads every cache line of the parts, so that a row which is rendered
// soon need not wait for them. The sum keeps the compiler from leaving the reads out.
func (s *Share) ReadAhead() (sum uint64) {
	const line = 64
	text := s.text[:s.ends[3]]
	for i := 0; i < len(text); i += line {
		sum += uint64(text[i])
	}
	return sum
}

// shareSize holds nearly every Share. A buffer of that length need not be on the heap.
const shareSize = 4096

// Decimals are those of a pool's tokens, each 0 to 255, or below 0 where they are unknown:
// then amounts in whole tokens are null.
type Decimals [2]int16

// known reports whether the decimals of both tokens are.
func (d Decimals) known() bool { return d[0]|d[1] >= 0 }

// DecimalsOf returns the decimals of a pool's tokens.
func DecimalsOf(st *market.State, p *market.Pool) Decimals {
	return Decimals{shownDecimals(st.Tokens.At(p.Currency0)), shownDecimals(st.Tokens.At(p.Currency1))}
}

func shownDecimals(t *market.Token) int16 {
	if !t.DecimalsKnown() {
		return -1
	}
	return int16(t.Decimals)
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

// AppendPosition appends the row of position i, all of it rendered anew. A rank of 0 is
// null, for the detail, which replaces the last brace by its other fields.
func AppendPosition(
	dst []byte, st *market.State, i uint32, m *value.Metrics, rank uint64,
) []byte {
	p := st.Positions.At(i)
	pool := st.Pools.At(p.Pool)
	dst = appendPositionIDs(dst, st, p, rank)
	dst = appendIdentity(dst, st, pool, snapshotPrices(st, pool, m))
	dst = appendRange(dst, p, m)
	dst = appendPoolTicks(dst, pool)
	dst = appendOwn(dst, p, m, DecimalsOf(st, pool))
	dst = appendPoolStats(dst, st, p.Pool)
	return appendEnd(appendPricing(dst, &m.Price, m.NativeUsd), st, m)
}

// AppendPosition appends the same row, of a position of the pool whose share it is.
func (s *Share) AppendPosition(
	dst []byte, st *market.State, p *market.Position, m *value.Metrics, rank uint64,
) []byte {
	dst = appendPositionIDs(dst, st, p, rank)
	if m.Open {
		dst = append(dst, s.identity()...)
	} else {
		dst = append(dst, s.closed()...)
	}
	dst = append(appendRange(dst, p, m), s.ticks()...)
	dst = append(appendOwn(dst, p, m, s.decimals), s.stats()...)

	if m.Open {
		return appendEnd(append(dst, s.pricing()...), st, m)
	}
	return appendEnd(appendPricing(dst, &m.Price, m.NativeUsd), st, m)
}

// appendRange appends the range of a position.
func appendRange(dst []byte, p *market.Position, m *value.Metrics) []byte {
	dst = integer(append(dst, `"tickLower":`...), p.TickLower)
	dst = integer(append(dst, `,"tickUpper":`...), p.TickUpper)
	dst = number(append(dst, `,"priceLower":`...), m.PriceLower)
	return number(append(dst, `,"priceUpper":`...), m.PriceUpper)
}

// appendOwn appends what of a row is the position's alone, from its liquidity on.
func appendOwn(
	dst []byte, p *market.Position, m *value.Metrics, decimals Decimals,
) []byte {
	dst = quoted(append(dst, `,"liquidity":`...), new(p.Liquidity().U256()))
	dst = appendLifecycle(dst, p, m)
	dst, underlying, pending := appendAmounts(dst, p, m, decimals)
	return appendMetrics(dst, m, underlying, pending)
}

// appendEnd appends the end of a row, behind the prices.
func appendEnd(dst []byte, st *market.State, m *value.Metrics) []byte {
	dst = append(append(dst, `,"pnlBasis":"hodl","reason":`...), reasons[m.Reason]...)
	return append(integer(append(dst, `},"asOfBlock":`...), st.Head.Number), '}')
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
	dst []byte, p *market.Position, m *value.Metrics, decimals Decimals,
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
	dst = amount(append(dst, `,"gas":{"native":`...), &wei, market.NativeDecimals)
	dst = quoted(append(dst, `,"nativeRaw":`...), &wei)
	dst = number(append(dst, `,"valueUsd":`...), m.GasUsd)
	return append(dst, "}}"...), underlying, pending
}

// appendAmountPair appends a group of two amounts. Each is converted to digits once
// and printed twice, with and without the point. usd is the text of its value.
func appendAmountPair(dst []byte, a *value.Amounts, decimals Decimals) (row, usd []byte) {
	var buf [2][80]byte
	raw0 := clmath.AppendDecimal(buf[0][:0], &a.Raw[0])
	raw1 := clmath.AppendDecimal(buf[1][:0], &a.Raw[1])

	if decimals.known() {
		dst = clmath.AppendPoint(append(dst, `"amount0":"`...), raw0, uint8(decimals[0]))
		dst = clmath.AppendPoint(append(dst, `","amount1":"`...), raw1, uint8(decimals[1]))
		dst = append(dst, '"')
	} else {
		dst = tokenAmount(append(dst, `"amount0":`...), &a.Raw[0], decimals[0])
		dst = tokenAmount(append(dst, `,"amount1":`...), &a.Raw[1], decimals[1])
	}

	dst = append(append(dst, `,"amount0Raw":"`...), raw0...)
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
