package ledger

import "tidemark/rankings/market"

// HourPrice is the price record of one token for one hour: USD per whole token,
// Unknown if the token lost its price. The series keeps what charts need of it.
// The rest is kept with the token, for positions that close in the hour and for
// the hours after it.
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
	// As in market.Token.
	PriceLostAt, TrustLostAt uint32
}

// HourPriceOf returns a record of a token's present price.
func HourPriceOf(token uint32, p *market.Price) HourPrice {
	return HourPrice{
		Token: token, Usd: p.Usd, AsOf: p.AsOf, OnlyPool: p.OnlyPool,
		Markets: p.Markets, Source: p.Source, Reason: p.Reason, Corroborated: p.Corroborated,
		ExitUsd: p.ExitUsd,
	}
}

// HourRecord returns the record that a token has now.
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

// Changes is what has to be stored since the last call of Ledger.Changes: changed
// rows, operations on the series, and undos. The rows themselves are read from
// the State frozen at the same head.
type Changes struct {
	Head         market.Head
	UndoableTime int64 // of the oldest block that Revert can go back to; Head's if it cannot

	// Rows are the changed rows of each table, ascending, all below its
	// length; see Table.Changed.
	Rows [][]uint32

	// Ops are in order: a later operation on the same key wins.
	Ops Ops

	// UndoDrop are Undo.To of stored undos that were reverted or dropped, and UndoPut
	// new ones, or all of them after the metadata of a token changed. The drops come
	// first, as another span with the same last block may have replaced one of them.
	UndoDrop []uint64
	UndoPut  []*Undo
}

// Saved is a row as it was before a span changed it.
type Saved[T any] struct {
	Index uint32
	Row   T
}

// Undo is the inverse of one span: it restores the ledger at Before.
type Undo struct {
	Before market.Head
	To     uint64      // the span's last block, which identifies the Undo
	Hash   market.Hash // of To; zero at a cut between blocks

	// Rows are the lengths of the tables before the span, and Saved the rows
	// that it changed, a []Saved[T] or nil for each table; see Table.Saved.
	Rows         []uint32
	Saved        []any
	OpenCount    uint32
	Transactions uint64

	// Drops reverts what the span wrote into the series.
	Drops Ops
}
