package ledger

import (
	"errors"
	"fmt"

	"tidemark/rankings/market"
)

// Errors that callers tell apart from a Mismatch.
var (
	// ErrNotNext is a span that does not start after the head, or whose parent
	// is another block than the head.
	ErrNotNext = errors.New("the span does not follow the head")
	// ErrNoUndo is a Revert below the kept history.
	ErrNoUndo = errors.New("no inverse is kept for the newest span")
)

// Mismatch is an event that cannot have happened in the market that the
// ledger replayed: logs are missing, doubled or out of order.
type Mismatch struct {
	Chain    market.ChainID
	Block    uint64
	LogIndex uint32
	Tx       market.Hash
	Pool     market.PoolID // the event's, zero when no pool can be blamed
	What     string        // the quantity that differs
	Got      string        // what the event says
	Want     string        // what the ledger has
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("chain %d block %d log %d tx %s: %s is %s; the replay has %s",
		m.Chain, m.Block, m.LogIndex, m.Tx, m.What, m.Got, m.Want)
}

// place is where the event stands that is being applied.
type place struct {
	block *market.Block
	log   *market.Log
	pool  uint32 // that the event is of, NoIndex while that is not known
}

func (p place) tx() *market.Tx { return &p.block.Txs[p.log.Tx] }

// mismatch reports the event at a place.
func (l *Ledger) mismatch(at place, what string, got, want any) *Mismatch {
	m := &Mismatch{
		Chain: l.cfg.Chain, Block: at.block.Number, LogIndex: at.log.Index, Tx: at.tx().Hash,
		What: what, Got: fmt.Sprint(got), Want: fmt.Sprint(want),
	}
	if at.pool != market.NoIndex {
		m.Pool = l.st.Pools.At(at.pool).ID
	}
	return m
}

// refuse reports the event that is being applied.
func (l *Ledger) refuse(what string, got, want any) error {
	return l.mismatch(l.at, what, got, want)
}

// refusal is refuse for a caller that adds the pool itself.
func (l *Ledger) refusal(what string, got, want any) *Mismatch {
	return l.mismatch(l.at, what, got, want)
}
