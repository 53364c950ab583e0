package render

import "tidemark/rankings/market"

// appendToken appends a token as a row shows it. usd is its price in the row. risky
// is whether it is risky now, also if the row has older prices.
func appendToken(dst []byte, t *market.Token, usd float64, risky bool) []byte {
	return append(appendTokenFields(append(dst, '{'), t, usd, risky), '}')
}

// appendTokenFields appends the fields of a token to an object.
func appendTokenFields(dst []byte, t *market.Token, usd float64, risky bool) []byte {
	dst = append(dst, `"address":"`...)
	dst = t.Address.AppendHex(dst)
	dst = text(append(dst, `","symbol":`...), t.Symbol, maxSymbol)
	dst = text(append(dst, `,"name":`...), t.Name, maxName)

	dst = append(dst, `,"decimals":`...)
	if t.DecimalsKnown() {
		dst = integer(dst, t.Decimals)
	} else {
		dst = append(dst, null...)
	}

	dst = boolean(append(dst, `,"isNative":`...), t.IsNative())
	dst = number(append(dst, `,"priceUsd":`...), usd)
	return boolean(append(dst, `,"risky":`...), risky)
}

var sources = [...]string{
	market.SourceNone:    "none",
	market.SourceAnchor:  "anchor",
	market.SourcePool:    "pool",
	market.SourceDerived: "derived",
	market.SourceFeed:    "feed",
}

// appendPrice appends a leg's price and its origin.
func appendPrice(dst []byte, p *market.Price) []byte {
	dst = number(append(dst, `{"priceUsd":`...), p.Usd)
	dst = append(append(dst, `,"source":"`...), sources[p.Source]...)
	dst = boolean(append(dst, `","corroborated":`...), p.Corroborated)
	dst = integer(append(dst, `,"markets":`...), p.Markets)
	dst = moment(append(dst, `,"asOf":`...), p.AsOf*1000)
	return append(dst, '}')
}

var reasons = [...]string{
	market.ReasonNone:           null,
	market.ReasonNoMarket:       `"no_market"`,
	market.ReasonThinMarket:     `"thin_market"`,
	market.ReasonUncorroborated: `"uncorroborated"`,
	market.ReasonStalePrice:     `"stale_price"`,
	market.ReasonBadDecimals:    `"bad_decimals"`,
	market.ReasonHookDelta:      `"hook_delta"`,
	market.ReasonOwnPoolOnly:    `"own_pool_only"`,
	market.ReasonUnrealizable:   `"unrealizable"`,
	market.ReasonQuarantined:    `"quarantined"`,
}

// appendPricing opens a pricing group with the prices of both legs and of the
// native currency.
func appendPricing(dst []byte, legs *[2]market.Price, nativeUsd float64) []byte {
	dst = appendPrice(append(dst, `"pricing":{"token0":`...), &legs[0])
	dst = appendPrice(append(dst, `,"token1":`...), &legs[1])
	return number(append(dst, `,"nativePriceUsd":`...), nativeUsd)
}
