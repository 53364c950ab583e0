package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// The tables, a line each: kind, name, where its rows are, the codec of a row,
// and which rows of other tables a row names. First those of the ledger, in
// its order, then those that are computed for a generation. Committing,
// restoring, undos, checks and replicas are loops over this list.
//
// Exceptions follow as calls: rows that no undo holds, a row for each pool, rows
// that are not kept as one record, what else an undo can derive a row from.
var tables = numbered(
	rowsOf(0x10, "tokens", ledger.Tokens, codeToken, nil).undoneFrom(tokenIdentity),
	rowsOf(0x11, "owners", ledger.Owners, codeOwner, nil).neverEdited(),
	rowsOf(0x12, "pools", ledger.Pools, codePool, poolRefs),
	rowsOf(0x13, "days", ledger.Days, codeDay, nil).perPool().inParts(1, dayForm{}).undoneFrom(dayOfPool),
	rowsOf(0x14, "minutes", ledger.Minutes, codeMinutes, nil).perPool().inParts(ringParts, ringForm{}),
	rowsOf(0x15, "ticks", ledger.Ticks, codeTick, tickRefs),
	rowsOf(0x16, "positions", ledger.Positions, codePosition, positionRefs),
	rowsOf(0x17, "overflow", ledger.Overflow, codeOverflow, nil),
	rowsOf(0x18, "nonNFT", ledger.NonNFT, codeNonNFT, nonNFTRefs),
	rowsOf(0x19, "hours", ledger.Hours, codeHour, hourRefs),
	computed(0x1a, "prices", cutPrices, codePrice, priceRefs),
	computed(0x1b, "stats", cutStats, codeStats, nil),
)

// table is one of them, whatever its rows are.
type table interface {
	about() *tableLayout
	length(st *market.State) uint32
	write(w *writer, cut *Cut)
	chill(f faults, st *market.State)
	warm(st *market.State, stop func() bool)
	basis() basis
	replica(st *market.State) replicated
}

// tableLayout describes a table without its rows.
type tableLayout struct {
	layout
	index  int    // in tables; of a table of the ledger, its index there too
	sizeOf int    // the table that is always as long: itself, or the pools
	field  string // of the length in a head or undo
	parts  int    // keys a row
	ledger bool   // kept by the ledger
	edited bool   // rows can change: undos hold them
}

// rows is a table with rows of type T.
type rows[T any] struct {
	tableLayout
	source[T]
	table  *ledger.Table[T] // nil: computed
	code   func(*coder, *T)
	refers func(h *head, row *T) bool // what a row names is there; nil: nothing is named
	form   form[T]
	likely likeliness[T]
}

// source is where the rows of a table are.
type source[T any] struct {
	of      func(*market.State) *market.Frozen[T]
	changed func(*Cut) []uint32 // rows to be written again
}

// likeliness returns what row i was likely to be before a span of undo u, when
// after is what it was afterwards. See undo.go.
type likeliness[T any] func(b *undoBasis, u *ledger.Undo, i uint32, after *T) T

// form is how the rows of a table are kept, in one or more parts under a key
// each.
type form[T any] interface {
	// write puts the parts of row i that differ from the cut before.
	write(t *rows[T], w *writer, cut *Cut, i uint32)
	// read reads a part into its row. Of every row exactly one part must be
	// current.
	read(t *rows[T], in daySource, part int, value []byte, row *T) (current bool, err error)
	// current is the current part of a whole row.
	current(row *T) int
}

// daySource is where the series of pool days is read for a row that is kept
// there.
type daySource interface {
	poolDay(d *market.PoolDay) error
}

func rowsOf[T any](
	k kind, name string, t *ledger.Table[T], code func(*coder, *T), refers func(*head, *T) bool,
) *rows[T] {
	changed := func(cut *Cut) []uint32 {
		if cut.Changes == nil {
			return nil
		}
		return t.Changed(cut.Changes)
	}
	r := computed(k, name, source[T]{t.Of, changed}, code, refers)
	r.table, r.ledger, r.edited, r.field = t, true, true, "lens."+name
	return r
}

func computed[T any](
	k kind, name string, from source[T], code func(*coder, *T), refers func(*head, *T) bool,
) *rows[T] {
	r := &rows[T]{source: from, code: code, refers: refers, form: recordForm[T]{}}
	r.layout = layout{kind: k, name: name, tail: 4}
	r.field, r.sizeOf, r.parts = name, -1, 1
	return r
}

var (
	cutPrices = source[market.Price]{
		of:      func(st *market.State) *market.Frozen[market.Price] { return &st.Prices },
		changed: func(cut *Cut) []uint32 { return cut.Prices },
	}
	cutStats = source[market.PoolStats]{
		of:      func(st *market.State) *market.Frozen[market.PoolStats] { return &st.Stats },
		changed: func(cut *Cut) []uint32 { return cut.Stats },
	}
)

// neverEdited: rows are only added, so no undo holds any.
func (t *rows[T]) neverEdited() *rows[T] { t.edited = false; return t }

// perPool: row i is of pool i, and the head has the length once.
func (t *rows[T]) perPool() *rows[T] { t.sizeOf = ledger.Pools.Index(); return t }

// inParts keeps a row in several parts, in a form of its own.
func (t *rows[T]) inParts(n int, f form[T]) *rows[T] {
	t.form, t.parts = f, n
	if n > 1 {
		t.tail = 5
	}
	return t
}

func (t *rows[T]) undoneFrom(l likeliness[T]) *rows[T] { t.likely = l; return t }

// numbered gives every table its index, which for those of the ledger has to
// be the one that they have there.
func numbered(all ...table) []table {
	for i, t := range all {
		about := t.about()
		about.index = i
		if about.sizeOf < 0 {
			about.sizeOf = i
		}
		if about.ledger != (i < ledger.TableCount()) {
			panic("BUG: the store has other tables than the ledger")
		}
	}
	return all
}

func (t *rows[T]) about() *tableLayout { return &t.tableLayout }

func (t *rows[T]) length(st *market.State) uint32 { return t.of(st).Len() }

func (t *rows[T]) warm(st *market.State, stop func() bool) { t.of(st).Warm(stop) }

// key is the key of a part of a row.
func (t *tableLayout) key(dst []byte, chain market.ChainID, row uint32, part int) []byte {
	dst = appendRow(dst, chain, t.kind, row)
	if t.parts > 1 {
		dst = append(dst, byte(part))
	}
	return dst
}

// lengths returns how many rows every table of st has.
func lengths(st *market.State) []uint32 {
	n := make([]uint32, len(tables))
	for i, t := range tables {
		n[i] = t.length(st)
	}
	return n
}

// recordForm keeps a row as one record.
type recordForm[T any] struct{}

func (recordForm[T]) write(t *rows[T], w *writer, cut *Cut, i uint32) {
	put(w, t.key(w.key[:0], w.chain, i, 0), t.of(cut.State).At(i), t.code)
}

func (recordForm[T]) read(
	t *rows[T], _ daySource, _ int, value []byte, row *T,
) (current bool, err error) {
	var zero T
	*row = zero
	c := coder{buf: value, read: true}
	t.code(&c, row)
	return true, c.done()
}

func (recordForm[T]) current(*T) int { return 0 }

// chill makes the table of st one that is read from the store, with none of
// its rows in memory. What a row names must be inside its table, so that damage
// shows where it is and not as an index out of range in whoever reads the row.
func (t *rows[T]) chill(f faults, st *market.State) {
	n := f.head.Rows[t.index]
	*t.of(st) = market.Cold(n, func(first uint32, rows *[market.ChunkLen]T) {
		if err := t.readChunk(f, first, rows[:min(n-first, market.ChunkLen)]); err != nil {
			panic(f.s.damaged(f.chain, "table "+t.name, err))
		}
	})
}

// readChunk reads as many rows as there is room for, from first on, with one
// iterator.
func (t *rows[T]) readChunk(f faults, first uint32, rows []T) (err error) {
	var low, high, at [maxKeyLen]byte
	upper := appendKind(high[:0], f.chain, t.kind+1)
	if end := uint64(first) + uint64(len(rows)); end < 1<<32 {
		upper = appendRow(high[:0], f.chain, t.kind, uint32(end))
	}
	it, err := f.s.db.NewIter(&pebble.IterOptions{
		LowerBound: appendRow(low[:0], f.chain, t.kind, first), UpperBound: upper,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()

	it.First()
	for i := range rows {
		row, current := first+uint32(i), 0
		for part := range t.parts {
			key := t.key(at[:0], f.chain, row, part)
			if !it.Valid() || string(it.Key()) != string(key) {
				return errors.Join(fmt.Errorf("%s is missing", t.place(row, part)), it.Error())
			}
			is, err := t.form.read(t, f, part, it.Value(), &rows[i])
			if err != nil {
				return fmt.Errorf("%s: %w", t.place(row, part), err)
			}
			if is {
				current++
			}
			it.Next()
		}
		if err := t.whole(f.head, row, current, &rows[i]); err != nil {
			return err
		}
	}
	return it.Error()
}

// whole checks a row of which every part was read.
func (t *rows[T]) whole(h *head, row uint32, current int, r *T) error {
	switch {
	case current != 1:
		return fmt.Errorf("row %d has %d current parts; it must have one", row, current)
	case t.refers != nil && !t.refers(h, r):
		return fmt.Errorf("row %d names a row that is not there", row)
	}
	return nil
}

// place names a part of a row.
func (t *tableLayout) place(row uint32, part int) string {
	if t.parts > 1 {
		return fmt.Sprintf("part %d of row %d", part, row)
	}
	return fmt.Sprintf("row %d", row)
}
