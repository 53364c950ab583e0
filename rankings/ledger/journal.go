package ledger

import (
	"slices"

	"tidemark/rankings/market"
)

// mark says in which span a row was last saved and in which batch of Changes
// it was last noted.
type mark struct{ span, batch uint32 }

// journal is the writer's side of a table. It remembers what a span changed,
// to take it back, and what changed since the last Changes, to store it. Both
// are stamps beside the rows, so that the hot path looks nothing up.
type journal[T any] struct {
	market.Table[T]
	// live is the table's field of the ledger's own State, from which rows are
	// read. It shares the chunks, and is set again whenever the length changes.
	live   *market.Frozen[T]
	table  *Table[T]
	now    *mark      // of the ledger
	marks  []mark     // one a row
	before uint32     // the length when the span began
	saved  []Saved[T] // rows below before as they were when the span began
	dirty  []uint32   // rows noted since the last Changes
}

// journaled is a journal whatever its rows are: what the loops below need.
type journaled interface {
	begin()
	length() uint32
	save(u *Undo)
	restore(u *Undo, length uint32)
	drain(c *Changes)
	freeze(st *market.State)
}

func (t *Table[T]) open(st *market.State, now *mark) journaled {
	live := t.of(st)
	j := &journal[T]{
		Table: market.Thaw(*live), live: live, table: t,
		now: now, marks: make([]mark, live.Len()), before: live.Len(),
	}
	*live = j.Frozen
	return j
}

// edit returns row i for writing, saved first when this is the span's first
// change of it. The pointer is good until the next Freeze.
func (j *journal[T]) edit(i uint32) *T {
	if m := &j.marks[i]; m.span != j.now.span {
		m.span = j.now.span
		if i < j.before {
			j.saved = append(j.saved, Saved[T]{Index: i, Row: *j.At(i)})
		}
	}
	return j.note(i)
}

// note returns row i for writing without saving it.
func (j *journal[T]) note(i uint32) *T {
	if m := &j.marks[i]; m.batch != j.now.batch {
		m.batch = j.now.batch
		j.dirty = append(j.dirty, i)
	}
	return j.Mut(i)
}

// add appends a row.
func (j *journal[T]) add(row T) uint32 {
	i := j.Append(row)
	*j.live = j.Frozen
	j.marks = append(j.marks, *j.now)
	j.dirty = append(j.dirty, i)
	return i
}

func (j *journal[T]) begin() {
	j.before = j.Len()
	j.saved = j.saved[:0]
}

func (j *journal[T]) length() uint32 { return j.Len() }

// save puts into u the length at the span's begin and what edit has saved.
func (j *journal[T]) save(u *Undo) {
	u.Rows[j.table.index] = j.before
	if len(j.saved) > 0 {
		j.table.SetSaved(u, slices.Clone(j.saved))
	}
}

// restore puts the rows of u back and drops those from length on.
func (j *journal[T]) restore(u *Undo, length uint32) {
	saved := j.table.Saved(u)
	for i := range saved {
		*j.note(saved[i].Index) = saved[i].Row
	}

	j.Truncate(length)
	*j.live = j.Frozen
	j.marks = j.marks[:length]
}

// drain puts into c the noted rows that still exist, ascending, and forgets
// them. The caller then begins a new batch.
func (j *journal[T]) drain(c *Changes) {
	slices.Sort(j.dirty)
	noted := slices.Compact(j.dirty)
	end, _ := slices.BinarySearch(noted, j.Len())
	j.table.SetChanged(c, noted[:end])
	j.dirty = nil
}

func (j *journal[T]) freeze(st *market.State) { *j.table.of(st) = j.Freeze() }

// open opens a journal for every table of the live State.
func (l *Ledger) open() {
	for _, t := range tables {
		l.journals = append(l.journals, t.open(&l.st, &l.now))
	}
}

// begin starts a span: from here on every row that is edited for the first
// time is saved, until the next begin.
func (l *Ledger) begin() {
	l.now.span++
	for _, j := range l.journals {
		j.begin()
	}
	l.openBefore, l.transactionsBefore = l.st.OpenCount, l.st.Transactions
	l.drops, l.moves, l.written = nil, l.moves[:0], l.written[:0]
}

// saved returns the inverse of what was changed since begin, without its name.
func (l *Ledger) saved() *Undo {
	u := &Undo{
		Before: l.st.Head, Rows: make([]uint32, len(tables)),
		OpenCount: l.openBefore, Transactions: l.transactionsBefore,
	}
	for _, j := range l.journals {
		j.save(u)
	}
	return u
}

// restore makes the rows of every table what they were before the span of u.
// Tokens keep their number and their metadata: a feed tells each of them once.
func (l *Ledger) restore(u *Undo) {
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

// Changes returns what happened since the last call, and forgets it. The rows
// it names are those of a Freeze at the same head. A State's TickLists are not
// among them, since they follow from its Ticks; a pool whose list changed is
// among the changed Pools.
func (l *Ledger) Changes() *Changes {
	l.settleDays()
	c := &Changes{
		Head: l.st.Head, Ops: l.ops, UndoPut: slices.Clone(l.undos[l.put:]), UndoDrop: l.gone,
	}
	for _, j := range l.journals {
		j.drain(c)
	}

	// The running days go into their series too, so that it has the newest day.
	for _, i := range Days.Changed(c) {
		c.Ops = append(c.Ops, PoolDays.Put(*l.st.Days.At(i)))
	}

	// A block whose inverse was replaced by that of another span of the same
	// block is not to be deleted.
	c.UndoDrop = slices.DeleteFunc(c.UndoDrop, func(to uint64) bool {
		return slices.ContainsFunc(c.UndoPut, func(u *Undo) bool { return u.To == to })
	})

	l.ops, l.gone, l.put = nil, nil, len(l.undos)
	l.now.batch++
	return c
}
