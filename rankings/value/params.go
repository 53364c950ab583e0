package value

import "tidemark/rankings/market"

// Params are the thresholds by which a price is trusted, by the names that the
// configuration gives them. A threshold of 0 asks for nothing: it switches its
// rule off.
type Params struct {
	Stables       []market.Address `toml:"-"` // worth 1 USD while on their peg
	WrappedNative market.Address   `toml:"-"` // worth what the native currency is
	// HookAllow lists hooks whose pools may price although they take a part
	// of every swap.
	HookAllow []market.Address `toml:"-"`

	// A market prices a token when selling MarketUsd of it moves the price by
	// at most MarketImpact percent and that much is really reachable: less is
	// moved by a single user's trade.
	MarketUsd    float64 `toml:"market-usd" about:"USD that a market must really yield to price a token"`
	MarketImpact float64 `toml:"market-impact" about:"percent that selling market-usd may move its price"`
	// It was traded within MarketRecency seconds, or its price is history;
	// and it is MarketAge seconds old, so that nobody prices in one sitting.
	MarketRecency int64 `toml:"market-recency" about:"seconds since the last trade of a market that prices"`
	MarketAge     int64 `toml:"market-age" about:"least age in seconds of a market that prices"`
	// RealTicks: what is reachable is counted by the initialised ticks. Off,
	// it is what the liquidity at the price would hold if it never ended.
	RealTicks bool `toml:"real-ticks" about:"count what is reachable by initialised ticks"`
	// Its price is the median of the last MedianMinutes minute closes, which
	// whoever wants to move it has to hold for half that time.
	MedianMinutes int `toml:"median-minutes" about:"minute closes whose median is a market's price"`
	// Markets more than Outlier percent off the median of all are dropped.
	Outlier float64 `toml:"outlier" about:"percent off the median from which a market is dropped"`
	// NativePools is how many of the deepest native/stable pools are asked.
	NativePools int `toml:"native-pools" about:"deepest native/stable pools that price the native currency"`
	// A stable more than Peg percent off for PegTime seconds is no anchor:
	// shorter is a trade that arbitrage has not reached yet.
	Peg     float64 `toml:"peg" about:"percent off 1 USD from which a stable is no anchor"`
	PegTime int64   `toml:"peg-time" about:"seconds off the peg before it is none"`

	// Two markets corroborate a token when they are within PairAgree percent
	// of each other and PairUsd is reachable over both.
	PairAgree float64 `toml:"pair-agree" about:"percent within which two markets corroborate a token"`
	PairUsd   float64 `toml:"pair-usd" about:"USD reachable over both of them"`
	// One market does alone, when LoneUsd is reachable, it is LoneAge seconds
	// old and has seen LoneSwaps swaps: a stake, a week and a crowd.
	LoneUsd   float64 `toml:"lone-usd" about:"USD reachable in one market that corroborates alone"`
	LoneAge   int64   `toml:"lone-age" about:"its least age in seconds"`
	LoneSwaps uint64  `toml:"lone-swaps" about:"its least number of swaps"`
	// And nobody has more than LoneHolder percent of its liquidity in range:
	// whoever has all of it risks nothing by trading with himself.
	LoneHolder float64 `toml:"lone-holder" about:"percent of its liquidity that one owner may have"`
	// TrustedQuotes: only markets against an anchor or a corroborated token
	// corroborate, so that tokens of one maker cannot vouch for each other.
	TrustedQuotes bool `toml:"trusted-quotes" about:"corroborate only against anchors and corroborated tokens"`
	// BackedQuotes: the markets against a token count together for no more
	// USD than that token itself can be sold for.
	BackedQuotes bool `toml:"backed-quotes" about:"quotes count for no more than they can be sold for"`
	// ExitLimit: a claim is worth no more than selling it would yield.
	ExitLimit bool `toml:"exit-limit" about:"judge claims by what selling them would really yield"`

	// What was priced, a market or corroborated when an hour began stays so
	// while it meets each minimum divided, and each maximum multiplied, by
	// HoldSlack; and what no longer does for HoldTime seconds more.
	HoldSlack float64 `toml:"hold-slack" about:"factor by which a threshold may be missed while what was known holds"`
	HoldTime  int64   `toml:"hold-time" about:"seconds for which a value holds after that"`

	// FeedMaxAge is how many seconds an answer of the price feed is good for; it
	// is set by prices.max-age.
	FeedMaxAge int64 `toml:"-"`
}

// DefaultParams returns the thresholds of a chain about which nothing is known
// yet: the lists are empty.
func DefaultParams() Params {
	return Params{
		MarketUsd:     1000,
		MarketImpact:  2,
		MarketRecency: 7 * market.Day,
		MarketAge:     market.Day,
		RealTicks:     true,
		MedianMinutes: 30,
		Outlier:       10,
		NativePools:   3,
		Peg:           2,
		PegTime:       market.Hour,
		PairAgree:     5,
		PairUsd:       10_000,
		LoneUsd:       50_000,
		LoneAge:       7 * market.Day,
		LoneSwaps:     100,
		LoneHolder:    90,
		TrustedQuotes: true,
		BackedQuotes:  true,
		ExitLimit:     true,
		HoldSlack:     2,
		HoldTime:      6 * market.Hour,
		FeedMaxAge:    10 * market.Minute,
	}
}

// FeedPrice is one answer of the configured price feed.
type FeedPrice struct {
	Token market.Address
	Usd   float64
	AsOf  int64 // unix seconds
}
