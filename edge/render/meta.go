package render

import "tidemark/rankings/market"

// Chain is a registered chain as /v1/chains shows it.
type Chain struct {
	ID                          market.ChainID
	Slug, Name, ShortName       string
	ExplorerURL                 string
	NativeSymbol, WrappedSymbol string
	WrappedNative               market.Address
	Enabled                     bool
}

// AppendChains appends the array of chain records.
func AppendChains(dst []byte, chains []Chain) []byte {
	dst = append(dst, '[')
	for i := range chains {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendChain(dst, &chains[i])
	}
	return append(dst, ']')
}

func appendChain(dst []byte, c *Chain) []byte {
	dst = integer(append(dst, `{"chainId":`...), c.ID)
	dst = String(append(dst, `,"slug":`...), c.Slug)
	dst = String(append(dst, `,"name":`...), c.Name)
	dst = String(append(dst, `,"shortName":`...), c.ShortName)
	dst = String(append(dst, `,"explorerUrl":`...), c.ExplorerURL)
	dst = appendCurrency(append(dst, `,"nativeToken":`...), c.NativeSymbol, market.Address{})
	dst = appendCurrency(append(dst, `,"wrappedNativeToken":`...), c.WrappedSymbol, c.WrappedNative)
	if c.Enabled {
		return append(dst, `,"protocols":["`+market.Protocol+`"]}`...)
	}
	return append(dst, `,"protocols":[]}`...)
}

func appendCurrency(dst []byte, symbol string, a market.Address) []byte {
	dst = String(append(dst, `{"symbol":`...), symbol)
	dst = a.AppendHex(append(dst, `,"address":"`...))
	return append(dst, `"}`...)
}

// AppendProtocols appends the array of protocol records. It has the one protocol,
// with the chains on which it is enabled, or is empty if there are none.
func AppendProtocols(dst []byte, chains []Chain) []byte {
	var on []market.ChainID
	for i := range chains {
		if chains[i].Enabled {
			on = append(on, chains[i].ID)
		}
	}

	if len(on) == 0 {
		return append(dst, `[]`...)
	}
	dst = append(dst, `[{"key":"`+market.Protocol+`","displayName":"Swapdex v4",`+
		`"version":"v4","family":"swapdex","chains":[`...)
	dst = appendChainIDs(dst, on)
	return append(dst, `],"enabled":true}]`...)
}
