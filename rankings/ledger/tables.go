package ledger

import "tidemark/rankings/market"

// The tables of a ledger. Code that concerns all tables (journal.go and the
// store) loops over them in this order.
//
// A new table needs a record and a field in market.State, a line here, and a line
// and a codec in the store.
var (
	Tokens    = define(func(st *market.State) *market.Frozen[market.Token] { return &st.Tokens })
	Owners    = define(func(st *market.State) *market.Frozen[market.Address] { return &st.Owners })
	Pools     = define(func(st *market.State) *market.Frozen[market.Pool] { return &st.Pools })
	Days      = define(func(st *market.State) *market.Frozen[market.PoolDay] { return &st.Days })
	Minutes   = define(func(st *market.State) *market.Frozen[market.Minutes] { return &st.Minutes })
	Ticks     = define(func(st *market.State) *market.Frozen[market.Tick] { return &st.Ticks })
	Positions = define(func(st *market.State) *market.Frozen[market.Position] { return &st.Positions })
	Overflow  = define(func(st *market.State) *market.Frozen[market.Sums] { return &st.Overflow })
	NonNFT    = define(func(st *market.State) *market.Frozen[market.NonNFT] { return &st.NonNFT })
	Hours     = define(func(st *market.State) *market.Frozen[market.HourBucket] { return &st.Hours })
)

// The series: data that grows without bound and is kept in the store only. A
// ledger writes them by Ops.
var (
	Transactions = defineSeries[market.Transaction]()
	PoolDays     = defineSeries[market.PoolDay]() // also the day that is not over
	TickDays     = defineSeries[market.TickDay]()
	HourPrices   = defineSeries[HourEntry]()
	PoolHours    = defineSeries[market.PoolHour]() // of hours that are over
	TickHours    = defineSeries[market.TickHour]()
)

// Table is a table with rows of type T: its index among the tables, and its field
// of a State.
type Table[T any] struct {
	index int
	of    func(*market.State) *market.Frozen[T]
}

// tables are all tables, by index.
var tables []table

// table is a Table of any row type.
type table interface {
	// open returns the journal of the table in a ledger whose live State is st.
	open(st *market.State) journaled
}

func define[T any](of func(*market.State) *market.Frozen[T]) *Table[T] {
	t := &Table[T]{index: len(tables), of: of}
	tables = append(tables, t)
	return t
}

// TableCount returns how many tables a ledger has.
func TableCount() int { return len(tables) }

// Index returns the table's place in Undo.Rows, Undo.Saved and Changes.Rows.
func (t *Table[T]) Index() int { return t.index }

// Of returns the table in a State.
func (t *Table[T]) Of(st *market.State) *market.Frozen[T] { return t.of(st) }

// Changed returns the rows of the table that c requires to be stored, ascending.
func (t *Table[T]) Changed(c *Changes) []uint32 {
	if t.index >= len(c.Rows) {
		return nil
	}
	return c.Rows[t.index]
}

// SetChanged sets what Changed returns.
func (t *Table[T]) SetChanged(c *Changes, rows []uint32) {
	if c.Rows == nil {
		c.Rows = make([][]uint32, len(tables))
	}
	c.Rows[t.index] = rows
}

// Saved returns the rows of the table that u restores.
func (t *Table[T]) Saved(u *Undo) []Saved[T] {
	if t.index >= len(u.Saved) {
		return nil
	}
	rows, _ := u.Saved[t.index].([]Saved[T])
	return rows
}

// SetSaved sets what Saved returns.
func (t *Table[T]) SetSaved(u *Undo, rows []Saved[T]) {
	if u.Saved == nil {
		u.Saved = make([]any, len(tables))
	}
	u.Saved[t.index] = rows
}

// in returns the table's journal in l.
func (t *Table[T]) in(l *Ledger) *journal[T] { return l.journals[t.index].(*journal[T]) }

// edit returns row i for writing; see journal.edit.
func (t *Table[T]) edit(l *Ledger, i uint32) *T { return t.in(l).edit(i) }

// note returns row i for writing without saving it; see journal.note.
func (t *Table[T]) note(l *Ledger, i uint32) *T { return t.in(l).note(i) }

// add appends a row and returns its index.
func (t *Table[T]) add(l *Ledger, row T) uint32 { return t.in(l).add(row) }

// Series is a series with entries of type E.
type Series[E any] struct{ index int }

func defineSeries[E any]() Series[E] {
	newEntries = append(newEntries, func() entryList { return new(entriesOf[E]) })
	return Series[E]{index: len(newEntries) - 1}
}

// Index returns the number of the series in an Op.
func (s Series[E]) Index() int { return s.index }

// Put returns the operation that writes an entry, replacing one with the same
// key.
func (s Series[E]) Put(entry E) Op { return Op{Series: s.index, Entry: &entry} }

// Drop returns the operation that deletes the entry with the key of key; its other
// fields are ignored.
func (s Series[E]) Drop(key E) Op { return Op{Series: s.index, Drop: true, Entry: &key} }

// Entry returns the entry of an operation on this series, or nil if the operation
// is on another.
func (s Series[E]) Entry(op *Op) *E {
	if op.Series != s.index {
		return nil
	}
	return op.Entry.(*E)
}
