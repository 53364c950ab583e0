package market

import (
	"math"

	"tidemark/rankings/texts"
)

// Token is a currency of at least one pool, with its price of the current hour.
type Token struct {
	Address Address
	// Symbol and Name are as the contract returned them.
	Symbol, Name texts.Text
	Decimals     uint8
	// BadDecimals: the call failed or returned more than MaxDecimals. The token
	// never has a price. Decimals are 0 where they are not known.
	BadDecimals bool
	// HourUsd is the price record of hour HourAt, in USD per whole token. It values
	// what happens from that hour on until the next record.
	HourUsd float64
	HourAt  uint32
	// The origin of the record's price. A position that closes keeps it.
	HourAsOf         int64  // unix seconds
	HourOnlyPool     uint32 // as Price.OnlyPool
	HourMarkets      uint16
	HourSource       Source
	HourReason       Reason // why there is no price
	HourCorroborated bool
	HourExitUsd      float64 // as Price.ExitUsd
	// The hour since which no market gives the price, or corroborates it, and the
	// last known one is kept; 0 while markets do.
	PriceLostAt, TrustLostAt uint32
}

// MaxDecimals is the most decimals with which a token can be priced.
const MaxDecimals = 36

// DecimalsKnown reports whether the contract said how many decimals the token has. If it
// did not, amounts are known in the smallest unit only, never in whole tokens.
func (t *Token) DecimalsKnown() bool { return decimalsKnown(t.Decimals, t.BadDecimals) }

// What is bad and not above MaxDecimals was never read.
func decimalsKnown(decimals uint8, bad bool) bool { return !bad || decimals > MaxDecimals }

// IsNative reports whether the token is the chain's native currency.
func (t *Token) IsNative() bool { return t.Address.IsZero() }

// TokenMeta is a token's metadata, which a feed reads when it first sees it.
type TokenMeta struct {
	Address      Address
	Symbol, Name texts.Text
	Decimals     uint8
	BadDecimals  bool
}

// SetDecimals sets what the contract answered; ok is false if it gave no answer. An answer
// above 255 cannot be kept, and is none.
func (m *TokenMeta) SetDecimals(n uint64, ok bool) {
	m.Decimals, m.BadDecimals = 0, !ok || n > MaxDecimals
	if ok && n <= math.MaxUint8 {
		m.Decimals = uint8(n)
	}
}

// DecimalsKnown is that of the Token.
func (m *TokenMeta) DecimalsKnown() bool { return decimalsKnown(m.Decimals, m.BadDecimals) }

// NativeToken returns the metadata of a chain's native currency, which has no contract.
func NativeToken(symbol, name string) TokenMeta {
	return TokenMeta{Symbol: texts.New(symbol), Name: texts.New(name), Decimals: NativeDecimals}
}

// NativeDecimals are those of every chain's native currency: it is counted in wei.
const NativeDecimals = 18

// Source is where a price comes from.
type Source uint8

// The sources, as pricing.source spells them.
const (
	SourceNone    Source = iota // there is no price
	SourceAnchor                // a stable token, or the native currency by its stable pools
	SourcePool                  // markets against an anchor
	SourceDerived               // markets against a token that has a pool price
	SourceFeed                  // the configured price feed
)

// Reason is why a number is missing. ReasonNone is null in JSON.
type Reason uint8

// The reasons, as pricing.reason spells them.
const (
	ReasonNone Reason = iota
	ReasonNoMarket
	ReasonThinMarket
	ReasonUncorroborated // other markets contradict the only one that may count
	ReasonStalePrice
	ReasonBadDecimals
	ReasonHookDelta
	ReasonOwnPoolOnly  // only the position's own pool prices a leg
	ReasonUnrealizable // selling the claim on a leg would yield less than it counts
	ReasonQuarantined  // the pool's events contradict each other
)

// LastReason is the largest Reason; a stored one must not exceed it.
const LastReason = ReasonQuarantined

// Price is a token's price in one generation, with its origin.
type Price struct {
	Usd  float64 // per whole token; Unknown without a source
	AsOf int64   // unix seconds of the block or answer that it was taken from
	// ExitUsd is the USD that selling the token in its markets would yield until
	// its price has fallen to a tenth; +Inf for an anchor.
	ExitUsd float64
	// OnlyPool is the pool if exactly one prices the token, else NoIndex.
	OnlyPool uint32
	Markets  uint16
	Source   Source
	// Reason says why there is no price. Beside the price of an OnlyPool it may be
	// ReasonUncorroborated: the token has other markets, and none of them agrees
	// with it. Then positions of that pool have no price for that reason. Beside a
	// price of the feed it may be ReasonStalePrice: the feed no longer says it, and it
	// is held.
	Reason       Reason
	Corroborated bool // not risky
	Anchor       bool
}
