package ledger

import "tidemark/rankings/market"

// HourPrice is the record of one token for one hour: USD per whole token,
// Unknown when it has lost its price. The series keeps what a chart needs of
// it; the rest stays with the token, for the positions that close in the hour
// and for the hours after it.
type HourPrice struct {
	Token        uint32
	Usd          float64
	AsOf         int64  // unix seconds
	OnlyPool     uint32 // the single pool that prices the token, or NoIndex
	Markets      uint16
	Source       market.Source
	Reason       market.Reason // why there is no price
	Corroborated bool
	ExitUsd      float64 // as market.Price has it
	// Hours since which the price, and its corroboration, are only held.
	PriceLostAt, TrustLostAt uint32
}

// HourPriceOf makes a record of a token's price as it stands.
func HourPriceOf(token uint32, p *market.Price) HourPrice {
	return HourPrice{
		Token: token, Usd: p.Usd, AsOf: p.AsOf, OnlyPool: p.OnlyPool,
		Markets: p.Markets, Source: p.Source, Reason: p.Reason, Corroborated: p.Corroborated,
		ExitUsd: p.ExitUsd,
	}
}

// HourRecord returns the record that is in force for a token.
func HourRecord(token uint32, t *market.Token) HourPrice {
	return HourPrice{
		Token: token, Usd: t.HourUsd, AsOf: t.HourAsOf, OnlyPool: t.HourOnlyPool,
		Markets: t.HourMarkets, Source: t.HourSource, Reason: t.HourReason,
		Corroborated: t.HourCorroborated, ExitUsd: t.HourExitUsd,
		PriceLostAt: t.PriceLostAt, TrustLostAt: t.TrustLostAt,
	}
}

// HourEntry is an entry of the series of hour prices.
type HourEntry struct {
	HourPrice
	Hour uint32
}

// Changes is what happened since the last call of Ledger.Changes: the rows to
// write again, the series to append or take back, the inverses to keep. The
// rows themselves are read from the State frozen at the same head.
type Changes struct {
	Head market.Head

	// Rows are the changed rows of each table, ascending, all below its
	// length; see Table.Changed.
	Rows [][]uint32

	// Ops are in the order in which they happened: a later operation on the
	// same key wins.
	Ops []Op

	UndoPut  []*Undo  // inverses still in force
	UndoDrop []uint64 // Undo.To of those taken back or expired
}

// Op is an operation on a series, made and read by its Series.
type Op struct {
	Series int
	Drop   bool // of the entry that has the key of Entry
	Entry  any  // a pointer to the entry
}

// Saved is a row as it was before a span changed it.
type Saved[T any] struct {
	Index uint32
	Row   T
}

// Undo is the inverse of one span: applied, it makes the ledger what it was
// at Before.
type Undo struct {
	Before market.Head
	To     uint64      // the span's last block, which names the Undo
	Hash   market.Hash // of To; zero at a cut between blocks

	// Rows are the lengths of the tables before the span, and Saved the rows
	// that it changed, a []Saved[T] or nil for each table; see Table.Saved.
	Rows         []uint32
	Saved        []any
	OpenCount    uint32
	Transactions uint64

	// Drops takes back what the span wrote into the series.
	Drops []Op
}
