package ledger

import (
	"errors"
	"fmt"

	"tidemark/rankings/market"
)

// Errors other than a Mismatch that callers handle.
var (
	// ErrNotNext reports a span that does not start after the head, or whose parent
	// is not the head.
	ErrNotNext = errors.New("the span does not follow the head")
	// ErrOutOfOrder reports a block whose number or time does not follow the one before
	// it, as where a span was read while its blocks were replaced.
	ErrOutOfOrder = errors.New("out of order")
	// ErrNoUndo reports a Revert of a span that has no undo.
	ErrNoUndo = errors.New("no undo is kept for the newest span")
)

// Mismatch is an event that contradicts the replayed state: logs are missing,
// duplicated or out of order.
type Mismatch struct {
	Chain    market.ChainID
	Block    uint64
	LogIndex uint32
	Tx       market.Hash
	Pool     market.PoolID // of the event; zero if no pool can be blamed
	What     string        // the quantity that differs
	Got      string        // its value in the event
	Want     string        // the expected value, or a description of it
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("chain %d block %d log %d tx %s: %s is %s; expected %s",
		m.Chain, m.Block, m.LogIndex, m.Tx, m.What, m.Got, m.Want)
}

// eventPlace is an event's block, log and pool.
type eventPlace struct {
	block *market.Block
	log   *market.Log
	pool  uint32 // NoIndex until it is known
}

func (p eventPlace) tx() *market.Tx { return &p.block.Txs[p.log.Tx] }

// mismatch returns a Mismatch of the event at a place.
func (l *Ledger) mismatch(at eventPlace, what string, got, want any) *Mismatch {
	m := &Mismatch{
		Chain: l.cfg.Chain, Block: at.block.Number, LogIndex: at.log.Index, Tx: at.tx().Hash,
		What: what, Got: fmt.Sprint(got), Want: fmt.Sprint(want),
	}
	if at.pool != market.NoIndex {
		m.Pool = l.st.Pools.At(at.pool).ID
	}
	return m
}

// refuse returns a Mismatch of the event that is being applied.
func (l *Ledger) refuse(what string, got, want any) error {
	return l.mismatch(l.at, what, got, want)
}

// refusal is refuse for a caller that sets the pool itself.
func (l *Ledger) refusal(what string, got, want any) *Mismatch {
	return l.mismatch(l.at, what, got, want)
}
