package storage

import (
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// head is what a chain's head record says of its cut: the block, how long the
// tables are, and which publication stands beside them. It is written last in
// every batch, so whatever it counts is there.
type head struct {
	At     market.Head
	Lens   ledger.Lens
	Native uint32
	Prices uint32 // rows
	Stats  uint32 // rows

	// Generation and PublishedAt name the last publication; its rows are these
	// when PublishedAt is At, as it is unless the chain was catching up.
	Generation  uint64
	PublishedAt market.Head
	Confirmed   int64 // unix milliseconds
}

func codeHead(c *coder, h *head) {
	codeBlock(c, &h.At)
	codeLens(c, &h.Lens)
	c.index("native", &h.Native)
	c.u32("prices", &h.Prices)
	c.u32("stats", &h.Stats)
	c.u64("generation", &h.Generation)
	codeBlock(c, &h.PublishedAt)
	c.i64("confirmed", &h.Confirmed)
}

func codeBlock(c *coder, h *market.Head) {
	c.u64("block.number", &h.Number)
	c.fixed("block.hash", h.Hash[:])
	c.i64("block.time", &h.Time)
}

func codeLens(c *coder, l *ledger.Lens) {
	c.u32("lens.tokens", &l.Tokens)
	c.u32("lens.owners", &l.Owners)
	c.u32("lens.pools", &l.Pools)
	c.u32("lens.ticks", &l.Ticks)
	c.u32("lens.positions", &l.Positions)
	c.u32("lens.wides", &l.Wides)
	c.u32("lens.directs", &l.Directs)
	c.u32("lens.hours", &l.Hours)
	c.u32("lens.openCount", &l.OpenCount)
	c.u64("lens.transactions", &l.Transactions)
}

// lensOf returns the lengths of a State's tables.
func lensOf(st *market.State) ledger.Lens {
	return ledger.Lens{
		Tokens: st.Tokens.Len(), Owners: st.Owners.Len(), Pools: st.Pools.Len(),
		Ticks: st.Ticks.Len(), Positions: st.Positions.Len(), Wides: st.Wides.Len(),
		Directs: st.Directs.Len(), Hours: st.Hours.Len(),
		OpenCount: st.OpenCount, Transactions: st.Transactions,
	}
}
