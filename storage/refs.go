package storage

import (
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// The references of a row to rows of other tables. Each function reports whether
// all of those rows exist.

func poolRefs(h *head, p *market.Pool) bool {
	return h.has(ledger.Tokens, p.Currency0) && h.has(ledger.Tokens, p.Currency1) &&
		h.hasOrNone(ledger.Hours, p.LastHour)
}

func tickRefs(h *head, t *market.Tick) bool { return h.hasOrNone(ledger.Pools, t.Pool) }

func positionRefs(h *head, p *market.Position) bool {
	ticks := h.has(ledger.Ticks, p.LowerSlot) && h.has(ledger.Ticks, p.UpperSlot)
	return (ticks || p.Liquidity().IsZero()) &&
		h.has(ledger.Pools, p.Pool) && h.has(ledger.Owners, p.Owner) &&
		h.hasOrNone(ledger.Overflow, p.Overflow)
}

func nonNFTRefs(h *head, n *market.NonNFT) bool { return h.has(ledger.Pools, n.Pool) }

func hourRefs(h *head, b *market.HourBucket) bool { return h.hasOrNone(ledger.Hours, b.Prev) }

func priceRefs(h *head, p *market.Price) bool { return h.hasOrNone(ledger.Pools, p.OnlyPool) }
