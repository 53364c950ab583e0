package storage

import (
	"fmt"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// The list of tables: kind, name, source of the rows, codec of a row, and a check
// of the rows of other tables that a row refers to. The ledger's tables come
// first, in the ledger's order, then those computed for a generation. Commits,
// restores, undos, checks and replicas loop over this list.
//
// Chained calls mark the exceptions: rows that are never edited, one row per
// pool, rows stored in several parts, rows that an undo can predict.
var tables = numberTables(
	ledgerTable(0x10, "tokens", ledger.Tokens, codeToken, nil).predictedBy(tokenIdentity),
	ledgerTable(0x11, "owners", ledger.Owners, codeOwner, nil).neverEdited(),
	ledgerTable(0x12, "pools", ledger.Pools, codePool, poolRefs).inParts(2, poolForm{}).afterFirst(),
	ledgerTable(0x13, "days", ledger.Days, codeDay, nil).perPool().inForm(dayForm{}).
		predictedBy(dayOfPool).derivedBy(closeRow),
	ledgerTable(0x14, "minutes", ledger.Minutes, codeMinutes, nil).perPool().inParts(ringParts, ringForm{}),
	ledgerTable(0x15, "ticks", ledger.Ticks, codeTick, tickRefs),
	ledgerTable(0x16, "positions", ledger.Positions, codePosition, positionRefs),
	ledgerTable(0x17, "overflow", ledger.Overflow, codeOverflow, nil),
	ledgerTable(0x18, "nonNFT", ledger.NonNFT, codeNonNFT, nonNFTRefs),
	ledgerTable(0x19, "hours", ledger.Hours, codeHour, hourRefs),
	computedTable(0x1a, "prices", cutPrices, codePrice, priceRefs).patchedBy(writePrices, pricePatcher),
	computedTable(0x1b, "stats", cutStats, codeStats, nil).derivedBy(deriveStats),
)

// The indexes of the computed tables.
var (
	pricesIndex = ledger.TableCount()
	statsIndex  = pricesIndex + 1
)

// table is a table with rows of any type.
type table interface {
	about() *tableLayout
	length(st *market.State) uint32
	writeRows(w *writer, cut *Cut)
	makeCold(f rowReader, st *market.State)
	// warm loads the rows of st, which makeCold has made.
	warm(f rowReader, st *market.State, stop func() bool)
	basis() basis
	replica(st *market.State) replicated
}

// tableLayout describes a table.
type tableLayout struct {
	layout
	index  int    // in tables; of a table of the ledger, its index there too
	sizeOf int    // index of the table with the same length: itself, or the pools
	field  string // of the length in a head or undo
	parts  int    // keys per row
	first  bool   // the first part has a key as if it were the only one; others may be missing
	ledger bool   // kept by the ledger
	edited bool   // rows can change, so undos hold them
}

// rows is a table with rows of type T.
type rows[T any] struct {
	tableLayout
	source[T]
	table   *ledger.Table[T] // nil: computed
	code    func(*field.Coder, *T)
	refers  func(h *head, row *T) bool // the rows it refers to exist; nil: it has no references
	form    form[T]
	predict predictor[T]
	derive  deriver[T] // computes what a row is stored without; nil: nothing

	// Of a table with patches: writes what a cut changed, and returns what brings rows that
	// were read to the last commit. nil: there are none.
	writeCut func(t *rows[T], w *writer, cut *Cut)
	patcher  func(f rowReader) func(first uint32, rows []T) error
}

// deriver computes, in a row that was read, what follows from other rows of its State.
type deriver[T any] func(st *market.State, i uint32, row *T)

// source says where the rows of a table are.
type source[T any] struct {
	of      func(*market.State) *market.Frozen[T]
	changed func(*Cut) []uint32 // rows to write again
}

// predictor guesses what row i was before the span of undo u. after is the row
// after the span. See undo.go.
type predictor[T any] func(b *undoBasis, u *ledger.Undo, i uint32, after *T) T

// form says how the rows of a table are stored: in one or more parts, each
// under its own key.
type form[T any] interface {
	// write writes the parts of row i that differ from the previous cut.
	write(t *rows[T], w *writer, cut *Cut, i uint32)
	// read reads a part, whose bytes c has, into its row. Exactly one part of every row
	// must be current.
	read(t *rows[T], in daySource, c *field.Coder, part int, row *T) (current bool, err error)
	// current is the current part of a whole row.
	current(row *T) int
}

// daySource reads a record of the pool days for a row that refers to it.
type daySource interface {
	poolDay(d *market.PoolDay) error
}

func ledgerTable[T any](
	k kind, name string, t *ledger.Table[T], code func(*field.Coder, *T), refers func(*head, *T) bool,
) *rows[T] {
	changed := func(cut *Cut) []uint32 {
		if cut.Changes == nil {
			return nil
		}
		return t.Changed(cut.Changes)
	}
	r := computedTable(k, name, source[T]{t.Of, changed}, code, refers)
	r.table, r.ledger, r.edited, r.field = t, true, true, "lens."+name
	return r
}

func computedTable[T any](
	k kind, name string, from source[T], code func(*field.Coder, *T), refers func(*head, *T) bool,
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

// neverEdited marks a table whose rows are only added: no undo holds them.
func (t *rows[T]) neverEdited() *rows[T] { t.edited = false; return t }

// perPool marks a table whose row i belongs to pool i. The head does not repeat
// its length.
func (t *rows[T]) perPool() *rows[T] { t.sizeOf = ledger.Pools.Index(); return t }

// inForm stores a row in its own form.
func (t *rows[T]) inForm(f form[T]) *rows[T] { t.form = f; return t }

// inParts stores a row in n parts, more than one, in its own form.
func (t *rows[T]) inParts(n int, f form[T]) *rows[T] {
	t.form, t.parts, t.tail = f, n, 5
	return t
}

// afterFirst marks a table whose rows have their other parts only after they changed.
func (t *rows[T]) afterFirst() *rows[T] { t.first, t.tail, t.more = true, 4, 1; return t }

func (t *rows[T]) predictedBy(l predictor[T]) *rows[T] { t.predict = l; return t }

// derivedBy marks a table whose rows are stored without what follows from other tables.
func (t *rows[T]) derivedBy(derive deriver[T]) *rows[T] { t.derive = derive; return t }

// patchedBy marks a table whose rows can be older than the last commit; see patches.go.
func (t *rows[T]) patchedBy(
	writeCut func(*rows[T], *writer, *Cut), patcher func(rowReader) func(uint32, []T) error,
) *rows[T] {
	t.writeCut, t.patcher = writeCut, patcher
	return t
}

// numberTables gives every table its index. A table of the ledger must have the
// same index as in the ledger.
func numberTables(all ...table) []table {
	for i, t := range all {
		about := t.about()
		about.index = i
		if about.sizeOf < 0 {
			about.sizeOf = i
		}
		if about.ledger != (i < ledger.TableCount()) {
			panic("BUG: the tables of the store and of the ledger differ")
		}
	}
	return all
}

func (t *rows[T]) about() *tableLayout { return &t.tableLayout }

func (t *rows[T]) length(st *market.State) uint32 { return t.of(st).Len() }

// key is the key of a part of a row.
func (t *tableLayout) key(dst []byte, chain market.ChainID, row uint32, part int) []byte {
	dst = appendRow(dst, chain, t.kind, row)
	if t.numbered(part) {
		dst = append(dst, byte(part))
	}
	return dst
}

// numbered reports whether the key of a part has its number.
func (t *tableLayout) numbered(part int) bool { return t.parts > 1 && !(t.first && part == 0) }

// needs reports whether a row must have a part.
func (t *tableLayout) needs(part int) bool { return part == 0 || !t.first }

// lengths returns how many rows every table of st has.
func lengths(st *market.State) []uint32 {
	n := make([]uint32, len(tables))
	for i, t := range tables {
		n[i] = t.length(st)
	}
	return n
}

// recordForm stores a row as one record.
type recordForm[T any] struct{}

func (recordForm[T]) write(t *rows[T], w *writer, cut *Cut, i uint32) {
	putRecord(w, t.key(w.key[:0], w.chain, i, 0), t.of(cut.State).At(i), t.code)
}

func (recordForm[T]) read(
	t *rows[T], _ daySource, c *field.Coder, _ int, row *T,
) (current bool, err error) {
	var zero T
	*row = zero
	t.code(c, row)
	return true, c.Done()
}

func (recordForm[T]) current(*T) int { return 0 }

// checkRow checks a row after all of its parts were read.
func (t *rows[T]) checkRow(h *head, row uint32, current int, r *T) error {
	switch {
	case current != 1:
		return fmt.Errorf("row %d has %d current parts; want 1", row, current)
	case t.refers != nil && !t.refers(h, r):
		return fmt.Errorf("row %d refers to a row that does not exist", row)
	}
	return nil
}

// nameOf describes a part of a row, for messages.
func (t *tableLayout) nameOf(row uint32, part int) string {
	if t.numbered(part) {
		return fmt.Sprintf("part %d of row %d", part, row)
	}
	return fmt.Sprintf("row %d", row)
}
