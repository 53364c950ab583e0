package market

import "tidemark/rankings/clmath"

// Head names a block. A zero Hash is one that is not known, as at a cut
// between the blocks of a span.
type Head struct {
	Number uint64
	Hash   Hash
	Time   int64 // unix seconds
}

// Span is every event of our contracts in the blocks From to To.
type Span struct {
	From, To uint64
	Parent   Hash        // of From; zero when not known
	Hash     Hash        // of To
	Time     int64       // of To, unix seconds
	Blocks   []Block     // those that have events, ascending
	Tokens   []TokenMeta // currencies first seen here
	// Final: no reorganisation can reach the span, so no undo is kept for it.
	Final bool
	// Strict: the logs can be read again, so an event that contradicts those
	// before it is an error, and does not quarantine its pool.
	Strict bool
}

// Head returns the head that a ledger has after the span.
func (s *Span) Head() Head { return Head{Number: s.To, Hash: s.Hash, Time: s.Time} }

// Block is a block with events.
type Block struct {
	Number uint64
	Time   int64 // unix seconds
	Txs    []Tx
	Logs   []Log // ascending in Index
}

// Log is an event and its place.
type Log struct {
	Index uint32 // in the block
	Tx    uint32 // index in Block.Txs
	Event Event
}

// Tx is a transaction that emitted events. Gas is there for those that change
// an NFT; without a receipt GasKnown is false.
type Tx struct {
	Hash     Hash
	GasUsed  uint64
	GasPrice clmath.U128 // effective, wei
	GasKnown bool
}
