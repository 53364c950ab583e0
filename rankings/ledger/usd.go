package ledger

import (
	"cmp"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// valueUsd returns the USD value of a raw amount by the hour's record.
func (l *Ledger) valueUsd(token uint32, amount *clmath.U256) float64 {
	t := l.st.Tokens.At(token)
	return usdAt(amount, t, t.HourUsd)
}

// usdAt returns the USD value of a raw amount of a token at a price. An amount of 0
// is worth 0 even if the price is not known.
func usdAt(amount *clmath.U256, t *market.Token, usd float64) float64 {
	if amount.IsZero() {
		return 0
	}
	return clmath.ToFloat(amount, t.Decimals) * usd
}

// nativeUsd returns the native currency's price by the hour's record. One whose first pool was
// created in this hour has none, but its wrapped form may.
func (l *Ledger) nativeUsd() float64 {
	if l.st.Native == market.NoIndex {
		return market.Unknown
	}
	usd := l.st.Tokens.At(l.st.Native).HourUsd
	if market.Known(usd) {
		return usd
	}
	if wrapped, ok := l.tokenOf.find(l.cfg.WrappedNative[:]); ok {
		return l.st.Tokens.At(wrapped).HourUsd
	}
	return market.Unknown
}

// gasUsd returns the USD value of wei by the hour's record.
func (l *Ledger) gasUsd(wei clmath.U128) float64 {
	if wei.IsZero() {
		return 0
	}
	w := wei.U256()
	return clmath.ToFloat(&w, market.NativeDecimals) * l.nativeUsd()
}

// independentUsd returns a token's recorded price for a position in a pool. As for
// an open position, it is unknown if only that pool supports it.
func (l *Ledger) independentUsd(token, pool uint32) float64 {
	t := l.st.Tokens.At(token)
	if ownPoolOnly(t, pool) {
		return market.Unknown
	}
	return t.HourUsd
}

// flowUsd returns what a change paid to the position's owner in USD, at the prices
// of its entry: fees, plus what was withdrawn or minus what was deposited.
func (l *Ledger) flowUsd(p *market.Pool, c *change, t *market.Transaction) float64 {
	token0, token1 := l.st.Tokens.At(p.Currency0), l.st.Tokens.At(p.Currency1)
	principal := usdAt(&c.amount0, token0, t.Price0Usd) + usdAt(&c.amount1, token1, t.Price1Usd)
	fees := usdAt(&c.fees0, token0, t.Price0Usd) + usdAt(&c.fees1, token1, t.Price1Usd)
	if c.delta.Sign() > 0 {
		return fees - principal
	}
	return fees + principal
}

// closePrice returns a token's recorded price for a position that closes in a
// pool. As for an open position, it is unknown if only that pool supports it.
func (l *Ledger) closePrice(token, pool uint32) market.ClosePrice {
	t := l.st.Tokens.At(token)
	c := market.ClosePrice{
		Usd: t.HourUsd, AsOf: t.HourAsOf, Markets: t.HourMarkets, Source: t.HourSource,
		Reason: t.HourReason, Corroborated: t.HourCorroborated,
	}
	switch {
	case !market.Known(c.Usd):
	case ownPoolOnly(t, pool):
		c.Usd, c.Source, c.Markets, c.AsOf = market.Unknown, market.SourceNone, 0, 0
		c.Reason = cmp.Or(t.HourReason, market.ReasonOwnPoolOnly)
	default:
		c.Reason = market.ReasonNone
	}
	return c
}

// ownPoolOnly reports whether nothing but a pool supports the recorded price of a
// token: positions in that pool have no independent price.
func ownPoolOnly(t *market.Token, pool uint32) bool {
	return t.HourOnlyPool == pool && !t.HourCorroborated
}

// volumeUsd returns the USD value of a swap: of its input, or of its output if
// the input has no price.
func (l *Ledger) volumeUsd(p *market.Pool, out clmath.I128) float64 {
	tokenIn, tokenOut := p.Currency1, p.Currency0
	if l.replay.Down {
		tokenIn, tokenOut = tokenOut, tokenIn
	}
	if usd := l.valueUsd(tokenIn, &l.replay.In); market.Known(usd) {
		return usd
	}
	amount := out.Abs().U256()
	return l.valueUsd(tokenOut, &amount)
}
