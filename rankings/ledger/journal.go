package ledger

import (
	"slices"

	"tidemark/rankings/market"
)

// stamp is the span in which a row was last saved, and the batch of Changes in
// which it was last noted.
type stamp struct{ span, batch uint32 }

// stamps are those of the rows of a chunk. Most chunks are never written, since most
// positions are left alone.
type stamps [market.ChunkLen]stamp

// journal is the writer's side of a table. It keeps the old rows of a span, for
// undo, and the indexes of rows that changed since the last Changes, for storing.
// Stamps by row tell whether a row is in either already, without a map lookup.
type journal[T any] struct {
	market.Table[T]
	// live is the table's field in the ledger's own State, from which rows are
	// read. It shares the chunks and must be set whenever the length changes.
	live   *market.Frozen[T]
	table  *Table[T]
	now    *stamp     // of the ledger
	stamps []*stamps  // by chunk; nil: none of its rows was written yet
	before uint32     // the length at the start of the span
	saved  []Saved[T] // rows below before, as they were at the start of the span
	dirty  []uint32   // rows noted since the last Changes
}

// journaled is a journal of any row type, for loops over all tables.
type journaled interface {
	begin()
	length() uint32
	save(u *Undo)
	restore(u *Undo, length uint32)
	drain(c *Changes)
	freeze(st *market.State)
}

// open returns a journal for the table's field of the live State.
func (t *Table[T]) open(st *market.State, now *stamp) journaled {
	live := t.of(st)
	j := &journal[T]{
		Table: market.Thaw(*live), live: live, table: t,
		now: now, before: live.Len(),
	}
	j.stamps = make([]*stamps, chunks(live.Len()))
	*live = j.Frozen
	return j
}

// chunks returns how many chunks n rows take.
func chunks(n uint32) int { return int((uint64(n) + market.ChunkLen - 1) / market.ChunkLen) }

// stamp returns the stamp of row i.
func (j *journal[T]) stamp(i uint32) *stamp {
	c := &j.stamps[i/market.ChunkLen]
	if *c == nil {
		*c = new(stamps)
	}
	return &(*c)[i%market.ChunkLen]
}

// edit returns row i for writing, and saves it first if this is the span's first
// change of it. The pointer is valid until the next Freeze or add.
func (j *journal[T]) edit(i uint32) *T {
	if m := j.stamp(i); m.span != j.now.span {
		m.span = j.now.span
		if i < j.before {
			j.saved = append(j.saved, Saved[T]{Index: i, Row: *j.At(i)})
		}
	}
	return j.note(i)
}

// note returns row i for writing without saving it.
func (j *journal[T]) note(i uint32) *T {
	if m := j.stamp(i); m.batch != j.now.batch {
		m.batch = j.now.batch
		j.dirty = append(j.dirty, i)
	}
	return j.Mut(i)
}

// add appends a row.
func (j *journal[T]) add(row T) uint32 {
	i := j.Append(row)
	*j.live = j.Frozen
	if chunks(i+1) > len(j.stamps) {
		j.stamps = append(j.stamps, nil)
	}
	*j.stamp(i) = *j.now
	j.dirty = append(j.dirty, i)
	return i
}

// begin starts a span.
func (j *journal[T]) begin() {
	j.before = j.Len()
	j.saved = j.saved[:0]
}

func (j *journal[T]) length() uint32 { return j.Len() }

// save sets in u the length at the start of the span and the saved rows.
func (j *journal[T]) save(u *Undo) {
	u.Rows[j.table.index] = j.before
	if len(j.saved) > 0 {
		j.table.SetSaved(u, slices.Clone(j.saved))
	}
}

// restore writes the rows saved in u and drops the rows from length on.
func (j *journal[T]) restore(u *Undo, length uint32) {
	saved := j.table.Saved(u)
	for i := range saved {
		*j.note(saved[i].Index) = saved[i].Row
	}

	j.Truncate(length)
	*j.live = j.Frozen
}

// drain moves the noted rows that still exist to c, ascending. The caller must
// begin a new batch.
func (j *journal[T]) drain(c *Changes) {
	slices.Sort(j.dirty)
	noted := slices.Compact(j.dirty)
	end, _ := slices.BinarySearch(noted, j.Len())
	j.table.SetChanged(c, noted[:end])
	j.dirty = nil
}

func (j *journal[T]) freeze(st *market.State) { *j.table.of(st) = j.Freeze() }

// openJournals opens the journals of all tables.
func (l *Ledger) openJournals() {
	for _, t := range tables {
		l.journals = append(l.journals, t.open(&l.st, &l.now))
	}
}

// beginSpan starts a span: every row is saved at its first edit from here on.
func (l *Ledger) beginSpan() {
	l.now.span++
	for _, j := range l.journals {
		j.begin()
	}
	l.openBefore, l.transactionsBefore = l.st.OpenCount, l.st.Transactions
	l.undoOps, l.moves, l.writtenBefore = nil, l.moves[:0], len(l.writtenTicks)
}

// makeUndo returns the inverse of the changes since beginSpan, without To, Hash
// and Drops.
func (l *Ledger) makeUndo() *Undo {
	u := &Undo{
		Before: l.st.Head, Rows: make([]uint32, len(tables)),
		OpenCount: l.openBefore, Transactions: l.transactionsBefore,
	}
	for _, j := range l.journals {
		j.save(u)
	}
	return u
}

// restoreRows restores the rows of every table to before the span of u. Tokens
// keep their count and their metadata, because a feed reports each token once.
func (l *Ledger) restoreRows(u *Undo) {
	tokens := Tokens.Saved(u)
	for i := range tokens {
		saved, now := &tokens[i].Row, l.st.Tokens.At(tokens[i].Index)
		saved.Symbol, saved.Name = now.Symbol, now.Name
		saved.Decimals, saved.BadDecimals = now.Decimals, now.BadDecimals
	}

	for i, j := range l.journals {
		length := u.Rows[i]
		if i == Tokens.index {
			length = j.length()
		}
		j.restore(u, length)
	}
	l.st.OpenCount, l.st.Transactions = u.OpenCount, u.Transactions
}

// Changes returns what has to be stored since the last call. The rows that it
// names are to be read from a Freeze at the same head. TickLists are not included,
// since they follow from Ticks; a pool whose list changed is in the changed Pools.
func (l *Ledger) Changes() *Changes {
	l.fillStaleDays()
	l.writeTickDays()
	c := &Changes{
		Head: l.st.Head, Ops: l.ops,
		UndoPut: slices.Clone(l.undos[l.storedUndos:]), UndoDrop: l.droppedUndos,
	}
	for _, j := range l.journals {
		j.drain(c)
	}

	// The series has the running days too.
	for _, i := range Days.Changed(c) {
		l.putRunningDay(c, i)
	}

	l.ops, l.droppedUndos, l.storedUndos = nil, nil, len(l.undos)
	l.now.batch++
	return c
}
