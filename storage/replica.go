package storage

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"tidemark/rankings/field"
	"tidemark/rankings/market"
)

// Replica is the last cut of a chain with all of its rows in memory. ApplyBatch
// brings it to the next cut: it then equals what a restart would read from a store
// with that batch. A node that follows another one applies the batches of that
// node's commits instead of events.
//
// A Replica has no leaves and no series, because a State has neither, and no undos: who
// becomes the writer reads them from the store.
//
// It has a single writer. The States that it returns never change.
type Replica struct {
	chain  market.ChainID
	cut    *Restored // nil: there is no cut
	tables []replicated
	lists  market.TickListTable
	patch  pricePatch // memory for that of a batch
	err    error      // of a batch that failed and left the tables half changed
}

// replicated is a table of a Replica with rows of any type.
type replicated interface {
	// restart begins the next batch.
	restart()
	// setPart reads a part of a row.
	setPart(in daySource, row uint32, part int, value []byte) error
	// finish cuts the table to the length in the head and checks the rows that
	// were set since restart.
	finish(h *head) error
	freeze(st *market.State)
}

// Replica loads the last cut of a chain, which Restore returned; nil if there is none.
// Who reads the State of that cut goes on to read that cut, whatever is applied later.
func (s *Store) Replica(chain market.ChainID, cut *Restored) (r *Replica, err error) {
	defer catchDamage(&err)
	r = &Replica{chain: chain, cut: cut}
	st := &market.State{Chain: chain}
	if cut != nil {
		cut.Warm(func() bool { return false })
		st = cut.State
	}
	r.thaw(st)
	return r, nil
}

// Cut returns the cut after the last batch, nil if there is none. Its State is
// warm.
func (r *Replica) Cut() *Restored { return r.cut }

// thaw makes the tables of st the ones that the next batch changes.
func (r *Replica) thaw(st *market.State) {
	r.tables = r.tables[:0]
	for _, t := range tables {
		r.tables = append(r.tables, t.replica(st))
	}
	r.lists = market.ThawTickLists(st.TickLists)
}

// ApplyBatch applies a batch that Commit or DropChain wrote, as Pebble's bytes;
// see Options.Tee. Every batch of the chain must be applied, in order. After an
// error the Replica cannot be used any more.
func (r *Replica) ApplyBatch(batch []byte) error {
	if r.err == nil {
		r.err = r.applyBatch(batch)
	}
	if r.err != nil {
		return fmt.Errorf("cannot apply batch to replica of chain %d: %w", r.chain, r.err)
	}
	return nil
}

func (r *Replica) applyBatch(batch []byte) error {
	b := replicaBatch{r: r, days: make(batchDays)}
	if r.cut != nil {
		b.directory, b.whole = r.cut.Directory, r.cut.whole
	}

	for _, t := range r.tables {
		t.restart()
	}

	// The series is read first: a row of a day can refer to a record that comes
	// later in the batch.
	if err := eachRecord(batch, b.readSeries); err != nil {
		return err
	}
	if err := eachRecord(batch, b.applyRecord); err != nil {
		return err
	}
	if !b.hasHead {
		if !b.reset {
			return errors.New("the batch has no head record")
		}
		return nil
	}
	return b.makeCut()
}

// replicaOf is a table of a Replica with rows of type T.
type replicaOf[T any] struct {
	*rows[T]
	table market.Table[T]
	parts []rowParts // by row: of those set since restart
	last  []uint32   // these rows
	coder field.Coder
}

// rowParts has a bit for each part of a row: it exists, it is the current one. Nothing
// is there of a row that was not set.
type rowParts struct{ there, current uint8 }

// replicaTable returns a table of a Replica by its index.
func replicaTable[T any](r *Replica, index int) *replicaOf[T] { return r.tables[index].(*replicaOf[T]) }

func (t *rows[T]) replica(st *market.State) replicated {
	return &replicaOf[T]{rows: t, table: market.Thaw(*t.of(st))}
}

func (t *replicaOf[T]) setPart(in daySource, row uint32, part int, value []byte) error {
	if part >= t.rows.parts {
		return fmt.Errorf("part %d of %d", part, t.rows.parts)
	}
	n := t.table.Len()
	if row > n {
		return fmt.Errorf("row %d is missing", n)
	}
	p := t.touch(row)

	t.coder = field.Reader(value)
	current, err := t.form.read(t.rows, in, &t.coder, part, t.table.Mut(row))
	p.there |= 1 << part
	p.current &^= 1 << part
	if current {
		p.current |= 1 << part
	}
	return err
}

// touch notes that a row is set, which is at most one past the end.
func (t *replicaOf[T]) touch(row uint32) *rowParts {
	n := t.table.Len()
	if grown := int(max(row+1, n)); grown > len(t.parts) {
		t.parts = slices.Grow(t.parts, grown-len(t.parts))[:grown]
	}

	p := &t.parts[row]
	seen := p.there != 0
	if !seen {
		t.last = append(t.last, row)
	}
	if row == n {
		t.table.Append(*new(T))
	} else if !seen {
		*p = rowParts{there: 1<<t.rows.parts - 1, current: 1 << t.form.current(t.table.At(row))}
	}
	return p
}

// restart forgets which rows were set.
func (t *replicaOf[T]) restart() {
	for _, row := range t.last {
		t.parts[row] = rowParts{}
	}
	t.last = t.last[:0]
}

func (t *replicaOf[T]) finish(h *head) error {
	n := h.Rows[t.index]
	if t.table.Len() < n {
		return fmt.Errorf("table %s: row %d is missing", t.name, t.table.Len())
	}
	t.table.Truncate(n)

	kept := t.last[:0]
	for _, row := range t.last {
		if row >= n {
			t.parts[row] = rowParts{}
			continue
		}
		kept = append(kept, row)

		p := t.parts[row]
		for part := range t.rows.parts {
			if p.there>>part&1 == 0 && t.needs(part) {
				return fmt.Errorf("table %s: row %d lacks parts", t.name, row)
			}
		}
		if err := t.checkRow(h, row, bits.OnesCount8(p.current), t.table.At(row)); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	t.last = kept
	return nil
}

func (t *replicaOf[T]) freeze(st *market.State) { *t.of(st) = t.table.Freeze() }
