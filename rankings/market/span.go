package market

import "tidemark/rankings/clmath"

// Head is a block. A zero Hash is unknown: a span that is cut between its blocks
// has no hash at the cut.
type Head struct {
	Number uint64
	Hash   Hash
	Time   int64 // unix seconds
}

// Span is every event of the two contracts in the blocks From to To, both
// included.
type Span struct {
	From, To uint64
	Parent   Hash        // of From; zero when not known
	Hash     Hash        // of To
	Time     int64       // of To, unix seconds
	Blocks   []Block     // those that have events, ascending
	Tokens   []TokenMeta // currencies first seen here
	// Final: no reorg can reach the span, so no undo is kept for it.
	Final bool
	// Strict: an event that contradicts earlier ones is an error, because the logs
	// can be read again. Otherwise it quarantines its pool.
	Strict bool
}

// UndoBlocks is how many blocks below a chain's head a reorg is followed, even if the chain
// has finalized them. The ledger keeps the undo of these, and no feed calls them final.
const UndoBlocks = 256

// Head returns the last block of the span.
func (s *Span) Head() Head { return Head{Number: s.To, Hash: s.Hash, Time: s.Time} }

// Block is a block with events.
type Block struct {
	Number uint64
	Time   int64 // unix seconds
	Txs    []Tx
	Logs   []Log // ascending in Index
}

// Log is an event and its position in the block.
type Log struct {
	Index uint32 // in the block
	Tx    uint32 // index in Block.Txs
	Event Event
}

// Tx is a transaction that emitted events. Gas is set for those that change an
// NFT. GasKnown is false if the receipt is missing.
type Tx struct {
	Hash     Hash
	GasUsed  uint64
	GasPrice clmath.U128 // effective, wei
	GasKnown bool
}
