package storage

import (
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// head is what a chain's head record says of its cut: the block, how long the
// tables are, and which publication belongs to them. It is the last record of
// every batch.
type head struct {
	At           market.Head
	Rows         []uint32 // of every table, by index
	OpenCount    uint32
	Transactions uint64
	Native       uint32

	// Generation and PublishedAt name the last publication; its rows are these
	// when PublishedAt is At, as it is unless the chain was catching up.
	Generation  uint64
	PublishedAt market.Head
	Confirmed   int64 // unix milliseconds
}

// noHead is the head of a chain that has no cut.
func noHead() head { return head{Rows: make([]uint32, len(tables)), Native: market.NoIndex} }

// indexed is a table of the ledger, whatever its rows are.
type indexed interface{ Index() int }

// has reports whether a table of the ledger has the row.
func (h *head) has(t indexed, row uint32) bool { return row < h.Rows[t.Index()] }

// hasOrNone is has of a row that need not be named.
func (h *head) hasOrNone(t indexed, row uint32) bool {
	return row == market.NoIndex || h.has(t, row)
}

func codeHead(c *coder, h *head) {
	if c.read {
		h.Rows = make([]uint32, len(tables))
	}

	codeBlock(c, &h.At)
	codeLengths(c, tables[:ledger.TableCount()], h.Rows)
	c.u32("lens.openCount", &h.OpenCount)
	c.u64("lens.transactions", &h.Transactions)
	c.index("native", &h.Native)
	codeLengths(c, tables[ledger.TableCount():], h.Rows)
	c.u64("generation", &h.Generation)
	codeBlock(c, &h.PublishedAt)
	c.i64("confirmed", &h.Confirmed)
}

// codeLengths walks the lengths of some tables. Those that are always as long
// as another are left out.
func codeLengths(c *coder, of []table, rows []uint32) {
	for _, t := range of {
		about := t.about()
		if about.sizeOf == about.index {
			c.u32(about.field, &rows[about.index])
		} else if c.read {
			rows[about.index] = rows[about.sizeOf]
		}
	}
}

func codeBlock(c *coder, h *market.Head) {
	c.u64("block.number", &h.Number)
	c.fixed("block.hash", h.Hash[:])
	c.i64("block.time", &h.Time)
}
