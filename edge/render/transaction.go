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
// those of the pool's tokens. Nothing of a quarantined pool is worth anything, not
// even an amount of 0.
func AppendTransaction(
	dst []byte, t *market.Transaction, decimals Decimals, quarantined bool,
) []byte {
	if t.Type == market.Transfer {
		decimals = Decimals{} // no tokens move: the amounts are 0 of any token
	}

	price0, price1, value := t.Price0Usd, t.Price1Usd, entryValueUsd(t, decimals)
	gas := gasUsd(t)
	if quarantined {
		price0, price1, value, gas = market.Unknown, market.Unknown, market.Unknown, market.Unknown
	}

	dst = append(dst, `{"type":"`...)
	dst = append(dst, transactionTypes[t.Type]...)
	dst = t.TxHash.AppendHex(append(dst, `","txHash":"`...))
	dst = integer(append(dst, `","logIndex":`...), t.LogIndex)
	dst = integer(append(dst, `,"blockNumber":`...), t.Block)
	dst = integer(append(dst, `,"timestamp":`...), t.Time)

	dst = tokenAmount(append(dst, `,"amount0":`...), &t.Amount0, decimals[0])
	dst = tokenAmount(append(dst, `,"amount1":`...), &t.Amount1, decimals[1])
	dst = quoted(append(dst, `,"amount0Raw":`...), &t.Amount0)
	dst = quoted(append(dst, `,"amount1Raw":`...), &t.Amount1)
	dst = tokenAmount(append(dst, `,"fees0":`...), &t.Fees0, decimals[0])
	dst = tokenAmount(append(dst, `,"fees1":`...), &t.Fees1, decimals[1])
	dst = quoted(append(dst, `,"fees0Raw":`...), &t.Fees0)
	dst = quoted(append(dst, `,"fees1Raw":`...), &t.Fees1)
	dst = signed(append(dst, `,"liquidityDelta":`...), t.LiquidityDelta)

	dst = appendTransfer(dst, t)
	dst = appendGas(dst, t, gas)

	dst = number(append(dst, `,"token0PriceUsd":`...), price0)
	dst = number(append(dst, `,"token1PriceUsd":`...), price1)
	dst = number(append(dst, `,"valueUsd":`...), value)
	return append(dst, '}')
}

// appendTransfer appends from and to, which are null unless the NFT was transferred.
func appendTransfer(dst []byte, t *market.Transaction) []byte {
	if !t.Moved {
		return append(dst, `,"from":null,"to":null`...)
	}
	dst = t.From.AppendHex(append(dst, `,"from":"`...))
	dst = t.To.AppendHex(append(dst, `","to":"`...))
	return append(dst, '"')
}

// appendGas appends the entry's share of its transaction's gas.
func appendGas(dst []byte, t *market.Transaction, usd float64) []byte {
	if t.GasUnknown {
		return append(dst, `,"gasUsed":null,"gasPrice":null,"gasNative":null,"gasUsd":null`...)
	}
	wei := t.GasWei.U256()
	dst = integer(append(dst, `,"gasUsed":"`...), t.GasUsed)
	dst = quoted(append(dst, `","gasPrice":`...), new(t.GasPrice.U256()))
	dst = amount(append(dst, `,"gasNative":`...), &wei, market.NativeDecimals)
	return number(append(dst, `,"gasUsd":`...), usd)
}

// gasUsd returns the USD value of the gas at the time of the entry.
func gasUsd(t *market.Transaction) float64 {
	wei := t.GasWei.U256()
	return valueUsd(&wei, market.NativeDecimals, t.NativeUsd)
}

// entryValueUsd returns the USD value of principal and fees at the time of the
// entry.
func entryValueUsd(t *market.Transaction, decimals Decimals) float64 {
	sum := valueUsd(&t.Amount0, decimals[0], t.Price0Usd)
	sum += valueUsd(&t.Fees0, decimals[0], t.Price0Usd)
	sum += valueUsd(&t.Amount1, decimals[1], t.Price1Usd)
	return sum + valueUsd(&t.Fees1, decimals[1], t.Price1Usd)
}

// valueUsd returns the USD value of a raw amount; an amount of 0 needs no price.
func valueUsd(v *clmath.U256, decimals int16, usd float64) float64 {
	if v.IsZero() {
		return 0
	}
	if decimals < 0 {
		return market.Unknown
	}
	if x := clmath.ToFloat(v, uint8(decimals)) * usd; !math.IsInf(x, 0) {
		return x
	}
	return market.Unknown
}

// History describes which part of a history an answer has.
type History struct {
	Degraded  bool // not loaded in time
	Partial   bool // the newest entries only
	Truncated bool // longer than is served; the oldest entries only
}

// AppendHistory appends the field transactions, from entries that are joined by
// commas, and its flags.
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
