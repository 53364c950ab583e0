package storage

import (
	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// head is a chain's head record: the block of its cut, the lengths of the tables
// and the last publication. It is the last record of every batch.
type head struct {
	At           market.Head
	Rows         []uint32 // of every table, by index
	OpenCount    uint32
	Transactions uint64
	Native       uint32
	DaysFrom     uint32 // as market.State has it
	HoursFrom    uint32 // likewise

	// Generation and PublishedAt name the last publication. PublishedAt is At
	// unless the chain was catching up.
	Generation  uint64
	PublishedAt market.Head
	Confirmed   int64 // unix milliseconds
}

// noHead is the head of a chain without a cut.
func noHead() head { return head{Rows: make([]uint32, len(tables)), Native: market.NoIndex} }

// indexed is a table of the ledger with rows of any type.
type indexed interface{ Index() int }

// has reports whether the row exists in a table of the ledger.
func (h *head) has(t indexed, row uint32) bool { return row < h.Rows[t.Index()] }

// hasOrNone is has for an optional reference.
func (h *head) hasOrNone(t indexed, row uint32) bool {
	return row == market.NoIndex || h.has(t, row)
}

func codeHead(c *field.Coder, h *head) {
	if c.Read {
		h.Rows = make([]uint32, len(tables))
	}

	codeBlock(c, &h.At)
	codeLengths(c, tables[:ledger.TableCount()], h.Rows)
	c.U32("lens.openCount", &h.OpenCount)
	c.U64("lens.transactions", &h.Transactions)
	c.Index("native", &h.Native)
	codeLengths(c, tables[ledger.TableCount():], h.Rows)
	c.U64("generation", &h.Generation)
	codeBlock(c, &h.PublishedAt)
	c.I64("confirmed", &h.Confirmed)
	c.LateU32("daysFrom", &h.DaysFrom)
	if h.DaysFrom != 0 {
		c.LateU32("hoursFrom", &h.HoursFrom)
	}
}

// codeLengths walks the lengths of some tables. A table that always has the
// length of another one is left out.
func codeLengths(c *field.Coder, of []table, rows []uint32) {
	for _, t := range of {
		about := t.about()
		if about.sizeOf == about.index {
			c.U32(about.field, &rows[about.index])
		} else if c.Read {
			rows[about.index] = rows[about.sizeOf]
		}
	}
}

func codeBlock(c *field.Coder, h *market.Head) {
	c.U64("block.number", &h.Number)
	c.Fixed("block.hash", h.Hash[:])
	c.I64("block.time", &h.Time)
}
