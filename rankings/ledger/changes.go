package ledger

import "tidemark/rankings/market"

// HourPrice is the record of one token for one hour: USD per whole token,
// Unknown when it has lost its price. The series keeps Usd; where it comes
// from stays with the token, for the positions that close in the hour.
type HourPrice struct {
	Token        uint32
	Usd          float64
	AsOf         int64  // unix seconds
	OnlyPool     uint32 // the single pool that prices the token, or NoIndex
	Markets      uint16
	Source       market.Source
	Reason       market.Reason // why there is no price
	Corroborated bool
}

// HourPriceOf makes a record of a token's price as it stands.
func HourPriceOf(token uint32, p *market.Price) HourPrice {
	return HourPrice{
		Token: token, Usd: p.Usd, AsOf: p.AsOf, OnlyPool: p.OnlyPool,
		Markets: p.Markets, Source: p.Source, Reason: p.Reason, Corroborated: p.Corroborated,
	}
}

// HourRecord returns the record that is in force for a token.
func HourRecord(token uint32, t *market.Token) HourPrice {
	return HourPrice{
		Token: token, Usd: t.HourUsd, AsOf: t.HourAsOf, OnlyPool: t.HourOnlyPool,
		Markets: t.HourMarkets, Source: t.HourSource, Reason: t.HourReason,
		Corroborated: t.HourCorroborated,
	}
}

// Changes is what happened since the last call of Ledger.Changes: the rows to
// write again, the series to append or take back, the inverses to keep. The
// rows themselves are read from the State frozen at the same head.
type Changes struct {
	Head market.Head

	// Changed rows of each table, ascending, all below its length.
	Tokens, Owners, Pools, Days, Minutes []uint32
	Ticks, Positions, Wides, Directs     []uint32
	Hours                                []uint32

	// Series, in the order in which they happened: a later operation on the
	// same key wins.
	Ops []Op

	UndoPut  []*Undo  // inverses still in force
	UndoDrop []uint64 // Undo.To of those taken back or expired
}

// Op is an operation on a series kept in the store only.
type Op interface{ op() }

// The operations on series, each keyed by what its Drop names.
type (
	PutTransaction  struct{ market.Transaction }
	DropTransaction struct {
		Position uint32
		Block    uint64
		LogIndex uint32
	}
	PutPoolDay  struct{ market.PoolDay } // also for the day that is not over
	DropPoolDay struct{ Pool, Day uint32 }
	PutTickDay  struct{ market.TickDay }
	DropTickDay struct {
		Pool uint32
		Tick int32
		Day  uint32
	}
	PutHourPrice struct {
		HourPrice
		Hour uint32
	}
	DropHourPrice struct{ Token, Hour uint32 }
)

func (PutTransaction) op()  {}
func (DropTransaction) op() {}
func (PutPoolDay) op()      {}
func (DropPoolDay) op()     {}
func (PutTickDay) op()      {}
func (DropTickDay) op()     {}
func (PutHourPrice) op()    {}
func (DropHourPrice) op()   {}

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
	Lens   Lens        // of the tables before the span

	Tokens    []Saved[market.Token]
	Pools     []Saved[market.Pool]
	Days      []Saved[market.PoolDay]
	Minutes   []Saved[market.Minutes]
	Ticks     []Saved[market.Tick]
	Positions []Saved[market.Position]
	Wides     []Saved[market.Sums]
	Directs   []Saved[market.Direct]
	Hours     []Saved[market.HourBucket]

	// Drops takes back what the span appended to the series.
	Drops []Op
}

// Lens are the lengths of the tables, and the counts beside them.
type Lens struct {
	Tokens, Owners, Pools, Ticks, Positions, Wides, Directs, Hours uint32
	OpenCount                                                      uint32
	Transactions                                                   uint64
}
