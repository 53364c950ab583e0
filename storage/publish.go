package storage

import (
	"bytes"
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
	c     coder
	last  head // as committed
	known bool // last was read or written
	// state is of the last cut, nil when that is of an earlier process. It is
	// also on the board, so that holding it costs nothing.
	state *market.State
	undo  undoBasis
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
	if err := s.writable(); err != nil {
		return err
	}
	started := time.Now()
	w := s.writer(cut.State.Chain)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.load(s); err != nil {
		return err
	}
	next := w.write(cut)
	size := w.batch.Len()
	if err := s.db.Apply(w.batch, pebble.Sync); err != nil {
		return fmt.Errorf("cannot commit chain %d at block %d: %w", w.chain, next.At.Number, err)
	}
	w.last, w.state = next, cut.State
	s.tele.commit(size, time.Since(started))
	return nil
}

// load prepares the writer: an empty batch, and the head that is in force.
func (w *writer) load(s *Store) error {
	if !w.known {
		last, _, err := s.head(w.chain)
		if err != nil {
			return err
		}
		w.last, w.known = last, true
	}
	if w.batch == nil {
		w.batch = s.db.NewBatch(pebble.WithMaxRetainedSizeBytes(maxRetainedBatch))
	}
	w.batch.Reset()
	return nil
}

// write fills the batch and returns the head that it ends with.
func (w *writer) write(cut *Cut) head {
	st := cut.State
	next := w.last
	next.At, next.Lens, next.Native = st.Head, lensOf(st), st.Native
	next.Prices, next.Stats = st.Prices.Len(), st.Stats.Len()
	next.Confirmed = max(next.Confirmed, cut.Confirmed)
	w.dropTails(&next)
	if cut.Changes != nil {
		w.writeChanges(st, cut.Changes)
	}
	writeGrown(w, kindPrice, cut.Prices, w.last.Prices, &st.Prices, codePrice)
	writeGrown(w, kindStats, cut.Stats, w.last.Stats, &st.Stats, codeStats)
	if p := cut.Publication; p != nil {
		next.Generation, next.PublishedAt = p.Generation, st.Head
		w.writePublication(p)
	}
	put(w, appendKind(w.key[:0], w.chain, kindHead), &next, codeHead)
	return next
}

func (w *writer) writeChanges(st *market.State, ch *ledger.Changes) {
	writeRows(w, kindToken, ch.Tokens, &st.Tokens, codeToken)
	writeRows(w, kindOwner, ch.Owners, &st.Owners, codeOwner)
	writeRows(w, kindPool, ch.Pools, &st.Pools, codePool)
	w.writeDays(st, ch)
	w.writeMinutes(st, ch.Minutes)
	writeRows(w, kindTick, ch.Ticks, &st.Ticks, codeTick)
	writeRows(w, kindPosition, ch.Positions, &st.Positions, codePosition)
	writeRows(w, kindWide, ch.Wides, &st.Wides, codeWide)
	writeRows(w, kindDirect, ch.Directs, &st.Directs, codeDirect)
	writeRows(w, kindHour, ch.Hours, &st.Hours, codeHour)
	for _, op := range ch.Ops {
		w.applyOp(op)
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

// writeDays writes the changed rows of the table of days, by name only where
// this cut puts the same record into the series.
func (w *writer) writeDays(st *market.State, ch *ledger.Changes) {
	last := make(map[uint32]*market.PoolDay, len(ch.Days)) // put and not dropped, by pool
	for _, op := range ch.Ops {
		switch op := op.(type) {
		case ledger.PutPoolDay:
			last[op.Pool] = &op.PoolDay
		case ledger.DropPoolDay:
			delete(last, op.Pool)
		}
	}
	for _, i := range ch.Days {
		row := dayRow{PoolDay: *st.Days.At(i)}
		d := last[row.Pool]
		row.inSeries = d != nil && d.Day == row.Day && w.sameDay(d, &row.PoolDay)
		put(w, appendRow(w.key[:0], w.chain, kindDay, i), &row, codeDayRow)
	}
}

// sameDay compares records by their only encoding, since NaN is no equal of
// itself.
func (w *writer) sameDay(a, b *market.PoolDay) bool {
	w.c.buf = w.c.buf[:0]
	codePoolDay(&w.c, a)
	n := len(w.c.buf)
	codePoolDay(&w.c, b)
	return bytes.Equal(w.c.buf[:n], w.c.buf[n:])
}

// writeMinutes writes the parts of rings that are not as in the cut before, or
// all of them when that is not known.
func (w *writer) writeMinutes(st *market.State, pools []uint32) {
	for _, i := range pools {
		ring := st.Minutes.At(i)
		for part := range uint32(ringParts) {
			r := partOf(ring, part)
			if w.state != nil && i < w.state.Minutes.Len() &&
				r == partOf(w.state.Minutes.At(i), part) {
				continue
			}
			put(w, appendRingPart(w.key[:0], w.chain, i, part), &r, codeRingPart)
		}
	}
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

// dropTails deletes the rows that a revert cut off, so that a table holds
// exactly as many rows as the head says.
func (w *writer) dropTails(next *head) {
	was, is := &w.last.Lens, &next.Lens
	w.dropTail(kindToken, is.Tokens, was.Tokens)
	w.dropTail(kindOwner, is.Owners, was.Owners)
	w.dropTail(kindPool, is.Pools, was.Pools)
	w.dropTail(kindDay, is.Pools, was.Pools)
	for pool := is.Pools; pool < was.Pools; pool++ {
		for part := range uint32(ringParts) {
			w.drop(appendRingPart(w.key[:0], w.chain, pool, part))
		}
	}
	w.dropTail(kindTick, is.Ticks, was.Ticks)
	w.dropTail(kindPosition, is.Positions, was.Positions)
	w.dropTail(kindWide, is.Wides, was.Wides)
	w.dropTail(kindDirect, is.Directs, was.Directs)
	w.dropTail(kindHour, is.Hours, was.Hours)
	w.dropTail(kindPrice, next.Prices, w.last.Prices)
	w.dropTail(kindStats, next.Stats, w.last.Stats)
}

func (w *writer) dropTail(k kind, from, to uint32) {
	for row := from; row < to; row++ {
		w.drop(appendRow(w.key[:0], w.chain, k, row))
	}
}

func writeRows[T any](
	w *writer, k kind, rows []uint32, table *market.Frozen[T], code func(*coder, *T),
) {
	for _, row := range rows {
		put(w, appendRow(w.key[:0], w.chain, k, row), table.At(row), code)
	}
}

// writeGrown writes the named rows below was, and every row from there on.
func writeGrown[T any](
	w *writer, k kind, rows []uint32, was uint32, table *market.Frozen[T], code func(*coder, *T),
) {
	for _, row := range rows {
		if row < was {
			put(w, appendRow(w.key[:0], w.chain, k, row), table.At(row), code)
		}
	}
	for row := was; row < table.Len(); row++ {
		put(w, appendRow(w.key[:0], w.chain, k, row), table.At(row), code)
	}
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
}

func (w *writer) drop(key []byte) {
	w.key = key
	must(w.batch.Delete(key, nil))
}

// must stands around writes to a batch in memory, which fail only for a batch
// that is used after its commit.
func must(err error) {
	if err != nil {
		panic("BUG: " + err.Error())
	}
}
