package market

// Token is a currency that some pool trades.
type Token struct {
	Address Address
	// Symbol and Name are text as the chain gave it; nil if the call failed.
	Symbol, Name *string
	Decimals     uint8
	// BadDecimals: the call failed or answered more than MaxDecimals; the
	// token can have no price.
	BadDecimals bool
	// HourUsd is the price record of hour HourAt, which values everything
	// that happens in that hour and later ones until the next record.
	HourUsd float64
	HourAt  uint32
	// Where the record's price comes from: a position that closes keeps it.
	HourAsOf         int64  // unix seconds
	HourOnlyPool     uint32 // as Price.OnlyPool
	HourMarkets      uint16
	HourSource       Source
	HourReason       Reason // why there is no price
	HourCorroborated bool
	HourExitUsd      float64 // as Price.ExitUsd
	// Hours since which a price, or its corroboration, is only what it was
	// the last time that markets gave it; 0 while they do.
	PriceLostAt, TrustLostAt uint32
}

// MaxDecimals bounds the decimals with which an amount can still be priced.
const MaxDecimals = 36

// IsNative reports whether the token is the chain's native currency.
func (t *Token) IsNative() bool { return t.Address.IsZero() }

// TokenMeta is what a feed learns of a currency when it first sees it.
type TokenMeta struct {
	Address      Address
	Symbol, Name *string
	Decimals     uint8
	BadDecimals  bool
}

// Source says where a price comes from.
type Source uint8

// The sources, as pricing.source spells them.
const (
	SourceNone    Source = iota // none: there is no price
	SourceAnchor                // a stable token, or native by its stable pools
	SourcePool                  // markets against an anchor
	SourceDerived               // markets against a token that itself has a pool price
	SourceFeed                  // the configured price feed
)

// Reason says why a number is missing; ReasonNone is JSON null.
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
	ReasonOwnPoolOnly  // nothing but the position's own pool prices a leg
	ReasonUnrealizable // a leg's claim exceeds what selling it would yield
	ReasonQuarantined  // the pool's events contradict each other
)

// LastReason is the largest of the reasons, which a stored one cannot exceed.
const LastReason = ReasonQuarantined

// Price is what a token is worth in one generation, and how far to trust it.
type Price struct {
	Usd  float64 // per whole token; Unknown without a source
	AsOf int64   // unix seconds of the block or answer it was taken from
	// ExitUsd is what selling the token down to a tenth of its price would
	// yield in priced tokens over its markets; +Inf for an anchor.
	ExitUsd float64
	// OnlyPool is the single pool that prices the token, or NoIndex when
	// several do or none has to.
	OnlyPool uint32
	Markets  uint16
	Source   Source
	// Reason is why there is no price. Beside the price of an OnlyPool it may
	// be ReasonUncorroborated: other markets price the token too, and none of
	// them agrees with it. Positions of that pool have no price for that reason.
	Reason       Reason
	Corroborated bool // not risky
	Anchor       bool
}
