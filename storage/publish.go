package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/block"
	"tidemark/rankings/field"
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

// writer builds the batches of one chain. It reuses its buffers.
type writer struct {
	mu    sync.Mutex
	chain market.ChainID
	batch *pebble.Batch // of the commit under way; nil: none is
	key   []byte
	walk  bigEndian
	c     field.Coder
	last  head // as committed
	known bool // last was read or written
	// sequence is the number of the last commit.
	sequence uint64
	mark     uint64 // the newest mark of the store; 0: the first commit is to come
	placed   bool   // the chain may have a Place
	// lost is set when the chain's data was removed with that of another chain. It
	// must be dropped before the next commit.
	lost *Damage
	// state is the State of the last cut, nil if an earlier process committed it.
	// The board holds it too, so it costs no memory.
	state *market.State
	undo  undoBasis
	// patched is of the store after the last commit, if that is known.
	patched patchedPrices
	// directory is of the store after the last commit, if this process wrote it.
	directory wholeDirectory
	days      map[uint32]*market.PoolDay // of the cut that is being written; see newestDays
	firstDay  uint32                     // the days before it were pruned; 0: the first commit does it

	pause   func()
	records int // written to the batch since the last pause
}

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

// fillBatch fills the batch and returns the head that it ends with.
func (w *writer) fillBatch(cut *Cut) head {
	st := cut.State
	// While the chain catches up it keeps its last generation.
	next := w.last
	next.At, next.Native, next.Rows = st.Head, st.Native, lengths(st)
	next.OpenCount, next.Transactions = st.OpenCount, st.Transactions
	next.DaysFrom, next.HoursFrom = st.DaysFrom, st.HoursFrom
	next.Confirmed = max(next.Confirmed, cut.Confirmed)

	w.dropTails(&next)
	for _, t := range tables {
		t.writeRows(w, cut)
	}
	w.days = nil
	if cut.Changes != nil {
		w.writeChanges(st, cut.Changes)
		w.pruneSeries(cut.Changes) // of what it wrote too, after days of catching up
	}
	if p := cut.Publication; p != nil {
		next.Generation, next.PublishedAt = p.Generation, st.Head
		w.writePublication(p)
	}

	number := binary.BigEndian.AppendUint64(nil, w.sequence+1)
	w.setKey(appendKind(w.key[:0], w.chain, kindCommit), number)
	w.markCommit(w.sequence + 1)
	putRecord(w, appendKind(w.key[:0], w.chain, kindHead), &next, codeHead)
	return next
}

// acknowledged returns what the file of heads is to record of the last commit.
func (w *writer) acknowledged(s *Store) acknowledgedHead {
	return acknowledgedHead{
		chain: w.chain, sequence: w.sequence, block: w.last.At.Number, hash: w.last.At.Hash,
		generation: max(w.last.Generation, s.LastGeneration(w.chain)),
	}
}

// writeRows writes the changed rows of the table and every row that it did not
// have at the last commit.
func (t *rows[T]) writeRows(w *writer, cut *Cut) {
	if t.writeCut != nil {
		t.writeCut(t, w, cut)
		return
	}

	was := w.last.Rows[t.index]
	for _, row := range t.changed(cut) {
		if row < was {
			t.form.write(t, w, cut, row)
		}
	}
	for row := was; row < t.length(cut.State); row++ {
		t.form.write(t, w, cut, row)
	}
}

// dropTails deletes the rows that a revert removed, so that a table has exactly
// the length in the head.
func (w *writer) dropTails(next *head) {
	for i, t := range tables {
		about := t.about()
		for row := next.Rows[i]; row < w.last.Rows[i]; row++ {
			for part := range about.parts {
				w.deleteKey(about.key(w.key[:0], w.chain, row, part))
			}
		}
	}
}

// writeChanges writes the ledger's changes other than rows: series and undos.
func (w *writer) writeChanges(st *market.State, ch *ledger.Changes) {
	for op := range ch.Ops.All() {
		allSeries[op.Series].writeOp(w, st, op)
	}
	for _, to := range ch.UndoDrop {
		w.deleteKey(appendNumber(w.key[:0], w.chain, kindUndo, to))
	}
	w.writeUndos(st, ch.UndoPut)
}

// writeUndos writes the undos newest first, the order in which they are read.
func (w *writer) writeUndos(st *market.State, undos []*ledger.Undo) {
	w.undo.reset(st)
	for i, u := range slices.Backward(undos) {
		w.setKey(appendNumber(w.key[:0], w.chain, kindUndo, u.To), w.undo.write(u, w.pause))
		if i > 0 {
			w.undo.advance(u)
		}
	}
	w.undo.reset(new(market.State))
}

func (w *writer) writePublication(p *block.Publication) {
	if p.First { // delete what a damaged generation may have left
		from := appendKind(nil, w.chain, kindLeaf)
		must(w.batch.DeleteRange(from, appendKind(nil, w.chain, kindLeaf+1), nil))
	}
	for _, number := range p.Dead {
		w.deleteKey(appendNumber(w.key[:0], w.chain, kindLeaf, number))
	}
	for i := range p.Leaves {
		w.setKey(appendNumber(w.key[:0], w.chain, kindLeaf, p.Leaves[i].Number), p.Leaves[i].Bytes)
	}
	w.writeDirectory(p.Directory)
}

// putRecord appends a record under a key that was built in w.key.
func putRecord[T any](w *writer, key []byte, record *T, code func(*field.Coder, *T)) {
	w.c.Buf = w.c.Buf[:0]
	code(&w.c, record)
	w.setKey(key, w.c.Buf)
}

func (w *writer) setKey(key, value []byte) {
	w.key = key
	must(w.batch.Set(key, value, nil))
	w.countRecord(len(value))
}

func (w *writer) deleteKey(key []byte) {
	w.key = key
	must(w.batch.Delete(key, nil))
	w.countRecord(0)
}

const (
	// recordsPerPause is about 100 µs of coding and copying.
	recordsPerPause = 128
	// recordBytes is how much of a long record, such as a leaf, counts as another one.
	recordBytes = 256
)

func (w *writer) countRecord(size int) {
	if w.records += 1 + size/recordBytes; w.records >= recordsPerPause && w.pause != nil {
		w.records = 0
		w.pause()
	}
}

// must panics if something fails that reads and writes nothing on the disk, which happens
// only to a batch that is used after its commit and to a database that is closed.
func must(err error) {
	if err != nil {
		panic("BUG: " + err.Error())
	}
}
