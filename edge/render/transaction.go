package render

import (
	"math"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

var transactionTypes = [...]string{
	market.Mint: "mint", market.Burn: "burn",
	market.Collect: "collect", market.Transfer: "transfer",
}

// AppendTransaction appends an entry of a position's history. decimals are
// those of the pool's tokens.
func AppendTransaction(dst []byte, t *market.Transaction, decimals [2]uint8) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, transactionTypes[t.Type]...)
	dst = t.TxHash.AppendHex(append(dst, `","txHash":"`...))
	dst = integer(append(dst, `","logIndex":`...), t.LogIndex)
	dst = integer(append(dst, `,"blockNumber":`...), t.Block)
	dst = integer(append(dst, `,"timestamp":`...), t.Time)

	dst = amount(append(dst, `,"amount0":`...), &t.Amount0, decimals[0])
	dst = amount(append(dst, `,"amount1":`...), &t.Amount1, decimals[1])
	dst = quoted(append(dst, `,"amount0Raw":`...), &t.Amount0)
	dst = quoted(append(dst, `,"amount1Raw":`...), &t.Amount1)
	dst = amount(append(dst, `,"fees0":`...), &t.Fees0, decimals[0])
	dst = amount(append(dst, `,"fees1":`...), &t.Fees1, decimals[1])
	dst = quoted(append(dst, `,"fees0Raw":`...), &t.Fees0)
	dst = quoted(append(dst, `,"fees1Raw":`...), &t.Fees1)
	dst = liquidityDelta(append(dst, `,"liquidityDelta":"`...), t.LiquidityDelta)

	dst = moved(dst, t)
	dst = gas(dst, t)

	dst = number(append(dst, `,"token0PriceUsd":`...), t.Price0Usd)
	dst = number(append(dst, `,"token1PriceUsd":`...), t.Price1Usd)
	dst = number(append(dst, `,"valueUsd":`...), entryUsd(t, decimals))
	return append(dst, '}')
}

func liquidityDelta(dst []byte, d clmath.I128) []byte {
	if d.Sign() < 0 {
		dst = append(dst, '-')
	}
	return append(clmath.AppendDecimal(dst, new(d.Abs().U256())), '"')
}

// moved appends who gave the NFT to whom, null unless the entry moved it.
func moved(dst []byte, t *market.Transaction) []byte {
	if !t.Moved {
		return append(dst, `,"from":null,"to":null`...)
	}
	dst = t.From.AppendHex(append(dst, `,"from":"`...))
	dst = t.To.AppendHex(append(dst, `","to":"`...))
	return append(dst, '"')
}

// gas appends the entry's share of what its transaction paid.
func gas(dst []byte, t *market.Transaction) []byte {
	if t.GasUnknown {
		return append(dst, `,"gasUsed":null,"gasPrice":null,"gasNative":null,"gasUsd":null`...)
	}
	wei := t.GasWei.U256()
	dst = integer(append(dst, `,"gasUsed":"`...), t.GasUsed)
	dst = quoted(append(dst, `","gasPrice":`...), new(t.GasPrice.U256()))
	dst = amount(append(dst, `,"gasNative":`...), &wei, nativeDecimals)
	return number(append(dst, `,"gasUsd":`...), worth(&wei, nativeDecimals, t.NativeUsd))
}

// entryUsd is principal and fees at the time of the entry.
func entryUsd(t *market.Transaction, decimals [2]uint8) float64 {
	return worth(&t.Amount0, decimals[0], t.Price0Usd) + worth(&t.Fees0, decimals[0], t.Price0Usd) +
		worth(&t.Amount1, decimals[1], t.Price1Usd) + worth(&t.Fees1, decimals[1], t.Price1Usd)
}

// worth is what an amount is worth; an amount of 0 needs no price.
func worth(v *clmath.U256, decimals uint8, usd float64) float64 {
	if v.IsZero() {
		return 0
	}
	if x := clmath.ToFloat(v, decimals) * usd; !math.IsInf(x, 0) {
		return x
	}
	return market.Unknown
}

// History says how much of a history an answer has.
type History struct {
	Degraded  bool // not loaded in time
	Partial   bool // the newest entries only
	Truncated bool // longer than is served; the oldest entries only
}

// AppendHistory appends the transactions field, of entries that are joined
// already, and its flags.
func AppendHistory(dst, entries []byte, h History) []byte {
	dst = append(append(dst, `,"transactions":[`...), entries...)
	dst = append(dst, ']')
	if h.Degraded {
		dst = append(dst, `,"transactionsDegraded":true`...)
	}
	if h.Partial {
		dst = append(dst, `,"transactionsPartial":true`...)
	}
	if h.Truncated {
		dst = append(dst, `,"transactionsTruncated":true`...)
	}
	return dst
}

// Decimals returns the decimals of a pool's tokens.
func Decimals(st *market.State, p *market.Pool) [2]uint8 { return decimals(st, p) }
