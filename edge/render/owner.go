package render

import (
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// Holdings is what an owner's positions on a chain come to.
type Holdings struct {
	Chain market.ChainID
	rankings.Holdings
}

// AppendOwner begins the body of an owner: what the positions come to on each chain
// and in total.
func AppendOwner(dst []byte, owner *market.Address, chains []Holdings) []byte {
	dst = owner.AppendHex(append(dst, `{"owner":"`...))
	dst = append(dst, `","chains":[`...)
	var total rankings.Holdings
	for i := range chains {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = integer(append(dst, `{"chainId":`...), chains[i].Chain)
		dst = appendHoldings(append(dst, ','), &chains[i].Holdings)
		total.Add(&chains[i].Holdings)
	}
	return appendHoldings(append(dst, `],"total":{`...), &total)
}

// appendHoldings appends the fields of sums to an object, and its end.
func appendHoldings(dst []byte, h *rankings.Holdings) []byte {
	dst = integer(append(dst, `"openPositions":`...), h.Open)
	dst = integer(append(dst, `,"closedPositions":`...), h.Closed)
	dst = number(append(dst, `,"underlyingValueUsd":`...), h.UnderlyingValueUsd.Usd())
	dst = number(append(dst, `,"pendingFeesUsd":`...), h.PendingFeesUsd.Usd())
	dst = number(append(dst, `,"pnlUsd":`...), h.PnlUsd.Usd())
	dst = integer(append(dst, `,"unknown":`...), h.Unknown)
	return append(dst, '}')
}
