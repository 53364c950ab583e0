package storage

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/block"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// Cut is everything that changed on one chain since its last Commit: what the
// ledger did, and the generation that was made of it.
type Cut struct {
	State   *market.State   // at Changes.Head
	Changes *ledger.Changes // nil: none
	// Prices and Stats are the rows of State.Prices and State.Stats that are
	// not as they were committed last; rows that table did not have then are
	// written without being named.
	Prices, Stats []uint32
	// Publication is nil while the chain catches up.
	Publication *block.Publication
	Confirmed   int64 // unix milliseconds at which State.Head was seen to be the chain's
	// Pause is called every 100 µs or so while the batch is built; nil: never.
	Pause func()
}

// ErrReadOnly is the error of a write to a store that takes none, because of
// Options.ReadOnly or a disk that is nearly full.
var ErrReadOnly = errors.New("store takes no writes")

// writer builds the batches of one chain. Its buffers are kept from commit to
// commit.
type writer struct {
	mu    sync.Mutex
	chain market.ChainID
	batch *pebble.Batch
	key   []byte
	walk  bigEndian
	c     coder
	last  head // as committed
	known bool // last was read or written
	// state is of the last cut, nil when that is of an earlier process. It is
	// also on the board, so that holding it costs nothing.
	state *market.State
	undo  undoBasis
	days  map[uint32]*market.PoolDay // of the cut that is being written; see newestDays

	pause   func()
	records int // written to the batch since the last pause
}

// maxRetainedBatch is how much memory the writer of a chain keeps between
// commits: a refresh fits, the first load of a corpus does not.
const maxRetainedBatch = 8 << 20

// Commit writes the cut in one synced batch: after a crash the chain is as it
// was after the last Commit that returned nil, or after the one that was under
// way, whole. Commits of different chains may overlap.
//
// The State must stay as it is (it is frozen); Changes and Publication may be
// reused when Commit has returned.
func (s *Store) Commit(cut *Cut) error {
	chain, at := cut.State.Chain, cut.State.Head.Number
	if err := s.writable(); err != nil {
		return fmt.Errorf("cannot commit chain %d at block %d: %w", chain, at, err)
	}
	started := time.Now()
	w := s.writer(chain)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.load(s); err != nil {
		return err
	}

	w.pause = cut.Pause
	next := w.write(cut)
	size := w.batch.Len()
	if err := w.commit(s); err != nil {
		return fmt.Errorf("cannot commit chain %d at block %d: %w", chain, at, err)
	}
	w.last, w.state = next, cut.State
	s.tele.commit(size, time.Since(started))
	return nil
}

// load prepares the writer: an empty batch, and the head that is in force.
func (w *writer) load(s *Store) error {
	w.clear(s)
	if w.known {
		return nil
	}
	last, _, err := s.head(w.chain)
	if err != nil {
		return err
	}
	w.last, w.known = last, true
	return nil
}

// clear empties the batch.
func (w *writer) clear(s *Store) {
	if w.batch == nil {
		w.batch = s.db.NewBatch(pebble.WithMaxRetainedSizeBytes(maxRetainedBatch))
	}
	w.batch.Reset()
}

// commit makes the batch durable.
func (w *writer) commit(s *Store) error {
	if s.opts.Tee != nil {
		if err := s.opts.Tee(w.chain, w.batch.Repr()); err != nil {
			return err
		}
	}
	return s.db.Apply(w.batch, pebble.Sync)
}

// write fills the batch and returns the head that it ends with.
func (w *writer) write(cut *Cut) head {
	st := cut.State
	// The generation stays the last one's while the chain catches up.
	next := w.last
	next.At, next.Native, next.Rows = st.Head, st.Native, lengths(st)
	next.OpenCount, next.Transactions = st.OpenCount, st.Transactions
	next.Confirmed = max(next.Confirmed, cut.Confirmed)

	w.dropTails(&next)
	for _, t := range tables {
		t.write(w, cut)
	}
	w.days = nil
	if cut.Changes != nil {
		w.writeChanges(st, cut.Changes)
	}
	if p := cut.Publication; p != nil {
		next.Generation, next.PublishedAt = p.Generation, st.Head
		w.writePublication(p)
	}

	put(w, appendKind(w.key[:0], w.chain, kindHead), &next, codeHead)
	return next
}

// write writes the changed rows of the table, and every row that it did not
// have at the last commit.
func (t *rows[T]) write(w *writer, cut *Cut) {
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

// dropTails deletes the rows that a revert cut off, so that a table holds
// exactly as many rows as the head says.
func (w *writer) dropTails(next *head) {
	for i, t := range tables {
		about := t.about()
		for row := next.Rows[i]; row < w.last.Rows[i]; row++ {
			for part := range about.parts {
				w.drop(about.key(w.key[:0], w.chain, row, part))
			}
		}
	}
}

// writeChanges writes the ledger's changes other than rows: series and undos.
func (w *writer) writeChanges(st *market.State, ch *ledger.Changes) {
	for i := range ch.Ops {
		allSeries[ch.Ops[i].Series].put(w, &ch.Ops[i])
	}
	for _, to := range ch.UndoDrop {
		w.drop(appendNumber(w.key[:0], w.chain, kindUndo, to))
	}
	w.writeUndos(st, ch.UndoPut)
}

// writeUndos writes from the newest to the oldest, as they are read.
func (w *writer) writeUndos(st *market.State, undos []*ledger.Undo) {
	w.undo.reset(st)
	for i, u := range slices.Backward(undos) {
		put(w, appendNumber(w.key[:0], w.chain, kindUndo, u.To), u, w.undo.code)
		if i > 0 {
			w.undo.older(u)
		}
	}
	w.undo.reset(new(market.State))
}

func (w *writer) writePublication(p *block.Publication) {
	if p.First { // whatever a damaged generation left behind
		from := appendKind(nil, w.chain, kindLeaf)
		must(w.batch.DeleteRange(from, appendKind(nil, w.chain, kindLeaf+1), nil))
	}
	for _, number := range p.Dead {
		w.drop(appendNumber(w.key[:0], w.chain, kindLeaf, number))
	}
	for i := range p.Leaves {
		w.set(appendNumber(w.key[:0], w.chain, kindLeaf, p.Leaves[i].Number), p.Leaves[i].Bytes)
	}
	w.set(appendKind(w.key[:0], w.chain, kindDirectory), p.Directory)
}

// put appends a record under a key that was built in w.key.
func put[T any](w *writer, key []byte, record *T, code func(*coder, *T)) {
	w.c.buf = w.c.buf[:0]
	code(&w.c, record)
	w.set(key, w.c.buf)
}

func (w *writer) set(key, value []byte) {
	w.key = key
	must(w.batch.Set(key, value, nil))
	w.countRecord()
}

func (w *writer) drop(key []byte) {
	w.key = key
	must(w.batch.Delete(key, nil))
	w.countRecord()
}

// recordsPerPause is about 100 µs of coding and copying.
const recordsPerPause = 128

func (w *writer) countRecord() {
	if w.records++; w.records >= recordsPerPause && w.pause != nil {
		w.records = 0
		w.pause()
	}
}

// must stands around writes to a batch in memory, which fail only for a batch
// that is used after its commit.
func must(err error) {
	if err != nil {
		panic("BUG: " + err.Error())
	}
}
