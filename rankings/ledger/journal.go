package ledger

import (
	"slices"

	"tidemark/rankings/market"
)

// journal is the writer's side of a table. It keeps the old rows of a span, for
// undo, and the indexes of rows that changed since the last Changes, for storing.
// A bit a row for each tells whether it is in them already, without a map lookup.
type journal[T any] struct {
	market.Table[T]
	// live is the table's field in the ledger's own State, from which rows are read. It
	// shares the chunks and must be set whenever the length changes or the table freezes.
	live    *market.Frozen[T]
	table   *Table[T]
	before  uint32     // the length at the start of the span
	saved   []Saved[T] // rows below before, as they were at the start of the span
	isSaved rowSet     // the rows in saved
	dirty   []uint32   // rows noted since the last Changes
	isDirty rowSet     // the rows in dirty
}

// rowSet is a set of rows, a word for each 64 of them. It is emptied row by row, since a
// span changes few of a million rows.
type rowSet []uint64

func (s rowSet) has(i uint32) bool { return s[i/64]>>(i%64)&1 != 0 }

func (s rowSet) add(i uint32) { s[i/64] |= 1 << (i % 64) }

func (s rowSet) remove(i uint32) { s[i/64] &^= 1 << (i % 64) }

// grow makes room for n rows.
func (s rowSet) grow(n uint32) rowSet {
	for uint64(len(s))*64 < uint64(n) {
		s = append(s, 0)
	}
	return s
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
func (t *Table[T]) open(st *market.State) journaled {
	live := t.of(st)
	j := &journal[T]{
		Table: market.Thaw(*live), live: live, table: t, before: live.Len(),
	}
	j.growSets()
	*live = j.Frozen
	return j
}

func (j *journal[T]) growSets() {
	j.isSaved, j.isDirty = j.isSaved.grow(j.Len()), j.isDirty.grow(j.Len())
}

// edit returns row i for writing, and saves it first if this is the span's first
// change of it. The pointer is valid until the next Freeze or add.
func (j *journal[T]) edit(i uint32) *T {
	if i < j.before && !j.isSaved.has(i) {
		j.isSaved.add(i)
		j.saved = append(j.saved, Saved[T]{Index: i, Row: *j.At(i)})
	}
	return j.note(i)
}

// note returns row i for writing without saving it.
func (j *journal[T]) note(i uint32) *T {
	j.noteDirty(i)
	return j.Mut(i)
}

func (j *journal[T]) noteDirty(i uint32) {
	if !j.isDirty.has(i) {
		j.isDirty.add(i)
		j.dirty = append(j.dirty, i)
	}
}

// add appends a row.
func (j *journal[T]) add(row T) uint32 {
	i := j.Append(row)
	*j.live = j.Frozen
	j.growSets()
	j.noteDirty(i)
	return i
}

// begin starts a span.
func (j *journal[T]) begin() {
	j.before = j.Len()
	for i := range j.saved {
		j.isSaved.remove(j.saved[i].Index)
	}
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

// drain moves the noted rows that still exist to c, ascending.
func (j *journal[T]) drain(c *Changes) {
	for _, i := range j.dirty {
		j.isDirty.remove(i)
	}

	slices.Sort(j.dirty)
	end, _ := slices.BinarySearch(j.dirty, j.Len())
	j.table.SetChanged(c, j.dirty[:end])
	j.dirty = nil
}

func (j *journal[T]) freeze(st *market.State) {
	*j.table.of(st) = j.Freeze()
	*j.live = j.Frozen
}

// openJournals opens the journals of all tables.
func (l *Ledger) openJournals() {
	for _, t := range tables {
		l.journals = append(l.journals, t.open(&l.st))
	}
}

// beginSpan starts a span: every row is saved at its first edit from here on.
func (l *Ledger) beginSpan() {
	for _, j := range l.journals {
		j.begin()
	}
	l.openBefore, l.transactionsBefore = l.st.OpenCount, l.st.Transactions
	l.moves, l.writtenBefore = l.moves[:0], len(l.writtenTicks)
	l.undoOps.reset()
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
		if saved.Decimals != now.Decimals || saved.BadDecimals != now.BadDecimals {
			l.learnedToken = true // older undos may be stored against this row
		}
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

	// A stored undo is what differs from later rows, and a token's metadata is not undone:
	// where it changed, the undos that are stored would no longer be read as they were.
	if l.learnedToken {
		l.storedUndos, l.learnedToken = 0, false
	}

	c := &Changes{
		Head: l.st.Head, UndoableTime: l.undoableTime(), Ops: l.ops,
		UndoPut: slices.Clone(l.undos[l.storedUndos:]), UndoDrop: l.droppedUndos,
	}
	for _, j := range l.journals {
		j.drain(c)
	}

	// The series has the running days too.
	for _, i := range Days.Changed(c) {
		l.putRunningDay(c, i)
	}

	l.ops, l.droppedUndos, l.storedUndos = Ops{}, nil, len(l.undos)
	return c
}
