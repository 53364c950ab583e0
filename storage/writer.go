package storage

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/block"
	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

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
