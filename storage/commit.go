package storage

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/block"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// Cut is everything that changed on one chain since its last Commit: the
// ledger's changes and the generation built from them.
type Cut struct {
	State   *market.State   // at Changes.Head
	Changes *ledger.Changes // nil: none
	// Prices and Stats list the rows of State.Prices and State.Stats that changed
	// since the last Commit, ascending; of the stats only those of which something is
	// stored (stats.go). New rows are written without being listed.
	Prices, Stats []uint32
	// Publication is nil while the chain catches up.
	Publication *block.Publication
	Confirmed   int64 // unix milliseconds at which State.Head was seen to be the chain's
	// Note goes to Options.Tee with the batch. It is not stored.
	Note []byte
	// Pause is called every 100 µs or so while the batch is built and inserted; nil: never.
	Pause func()
}

// ErrReadOnly is the error of a write to a read-only store: it was opened with
// Options.ReadOnly, or its disk is nearly full.
var ErrReadOnly = errors.New("store is read-only")

// maxRetainedBatch is how long the batch that is left for the next commit, of any chain,
// may be. A refresh of a million positions fits, for which its memory grew in doubling
// steps; the first one of a process, which writes every leaf, does not.
const maxRetainedBatch = 8 << 20

// Commit writes the cut in one synced batch. After a crash the chain is at the
// last Commit that returned nil, or at the one that was running, as a whole.
// Commits of different chains may overlap.
//
// The State must not change (it is frozen). Changes and Publication may be reused
// after Commit has returned.
func (s *Store) Commit(cut *Cut) error {
	chain, at := cut.State.Chain, cut.State.Head.Number
	if err := s.checkWritable(); err != nil {
		return fmt.Errorf("cannot commit chain %d at block %d: %w", chain, at, err)
	}
	started := time.Now()

	w := s.writerOf(chain)
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.prepareBatch(s)
	defer w.releaseBatch(s)
	if err != nil {
		return err
	}

	w.pause = cut.Pause
	next := w.fillBatch(cut)
	size := w.batch.Len()
	err = w.commitBatch(s, cut.Note)
	if err == nil {
		w.sequence++
		w.last, w.state, w.mark = next, cut.State, w.sequence
		err = s.heads.write(w.acknowledged(s))
	}
	if err != nil {
		w.known, w.state = false, nil // what was patched belongs to the batch that failed
		return fmt.Errorf("cannot commit chain %d at block %d: %w", chain, at, err)
	}

	s.tele.commit(size, time.Since(started))
	return nil
}

// prepareBatch empties the batch and reads the last committed head if needed.
func (w *writer) prepareBatch(s *Store) error {
	w.resetBatch(s)
	if w.lost != nil {
		return w.lost
	}
	if w.known {
		return nil
	}
	last, _, err := s.readHead(w.chain)
	if err != nil {
		return err
	}
	stored, err := s.readCommit(w.chain)
	if err != nil {
		return err
	}

	marks, err := s.readChainMarks(w.chain)
	if err != nil {
		return s.reportDamage(w.chain, "commits", err)
	}
	if err := w.readPatched(s); err != nil {
		return err
	}
	if err := w.directory.restart(s, w.chain); err != nil {
		return err
	}
	w.mark = 0
	if len(marks) > 0 {
		w.mark = marks[len(marks)-1]
	}
	w.placed = true // maybe by an earlier process

	// After a rollback numbers go on from the acknowledged one.
	acknowledged, _ := s.heads.get(w.chain)
	w.sequence = max(w.sequence, stored, acknowledged.sequence)
	w.last, w.known, w.firstDay = last, true, 0
	return nil
}

// resetBatch gives the writer an empty batch: the one that the last commit has left, or
// a new one. Chains commit one after the other, so one is kept for all of them.
func (w *writer) resetBatch(s *Store) {
	if w.batch == nil {
		w.batch = s.spareBatch.Swap(nil)
	}
	if w.batch == nil {
		w.batch = s.db.NewBatch(pebble.WithMaxRetainedSizeBytes(maxRetainedBatch))
	}
	w.batch.Reset()
}

// releaseBatch leaves the batch to the next commit, unless it is large.
func (w *writer) releaseBatch(s *Store) {
	if w.batch.Len() > maxRetainedBatch || !s.spareBatch.CompareAndSwap(nil, w.batch) {
		w.batch.Close()
	}
	w.batch = nil
}

// commitBatch passes the batch to Options.Tee and makes it durable.
func (w *writer) commitBatch(s *Store, note []byte) error {
	if err := w.teeBatch(s, note); err != nil {
		return err
	}
	return s.apply(w.batch, w.pause)
}

// teeBatch passes the batch to Options.Tee and adds the chain's new Place. A commit
// without a Tee has none: what the store holds then is no longer what others have.
func (w *writer) teeBatch(s *Store, note []byte) error {
	key := appendKind(w.key[:0], w.chain, kindPlace)
	if s.opts.Tee == nil {
		if w.placed {
			w.deleteKey(key)
		}
		w.placed = false
		return nil
	}

	place, err := s.opts.Tee(w.chain, w.batch.Repr(), note)
	if err != nil {
		return err
	}
	w.setKey(key, place)
	w.placed = true
	return nil
}

// acknowledged returns what the file of heads is to record of the last commit.
func (w *writer) acknowledged(s *Store) acknowledgedHead {
	return acknowledgedHead{
		chain: w.chain, sequence: w.sequence, block: w.last.At.Number, hash: w.last.At.Hash,
		generation: max(w.last.Generation, s.LastGeneration(w.chain)),
	}
}
