package storage

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/rankings/field"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/storage/database"
)

// rowReader reads rows of one cut.
type rowReader struct {
	s     *Store
	chain market.ChainID
	head  *head
}

// poolDay reads the record of d.Pool and d.Day from the series, except for its hour.
func (f rowReader) poolDay(d *market.PoolDay) error {
	var buf [maxKeyLen]byte
	key := seriesFor(ledger.PoolDays).appendKey(buf[:0], f.chain, d)
	value, closer, err := f.s.db.Get(key)
	if err != nil {
		return err
	}
	return errors.Join(readDay(value, d), closer.Close())
}

// readDay reads a day as the series has it. The hour of d stays as it is.
func readDay(value []byte, d *market.PoolDay) error {
	entry := market.PoolDay{Pool: d.Pool, Day: d.Day}
	c := field.Reader(value)
	codeDayEntry(&c, &entry)
	entry.EventHour, entry.HourHigh, entry.HourLow = d.EventHour, d.HourHigh, d.HourLow
	entry.HourVolumeUsd, entry.HourFeesUsd = 0, 0
	*d = entry
	return c.Done()
}

// dayCursor reads records of the pool days one after the other. Asked for ascending
// pools, it finds each of them near the last one.
type dayCursor struct {
	chain market.ChainID
	it    *pebble.Iterator
}

func (f rowReader) dayCursor() *dayCursor {
	k := seriesFor(ledger.PoolDays).kind
	return &dayCursor{f.chain, database.Iterate(f.s.db, appendKind(nil, f.chain, k), appendKind(nil, f.chain, k+1))}
}

func (c *dayCursor) poolDay(d *market.PoolDay) error {
	var buf [maxKeyLen]byte
	key := seriesFor(ledger.PoolDays).appendKey(buf[:0], c.chain, d)
	if !c.it.SeekGE(key) || string(c.it.Key()) != string(key) {
		return cmp.Or(c.it.Error(), pebble.ErrNotFound)
	}
	value, err := c.it.ValueAndErr()
	if err != nil {
		return err
	}
	return readDay(value, d)
}

// makeCold makes the table of st read its rows from the store when they are
// asked for. References between rows are checked here, so that damage is
// reported where it is and not as an index out of range somewhere else.
func (t *rows[T]) makeCold(f rowReader, st *market.State) {
	chunks := t.chunks(f, st)
	*t.of(st) = market.Cold(f.head.Rows[t.index], func(first uint32, rows []T) {
		end := uint64(first) + uint64(len(rows))
		it := t.iterate(f, first, end)
		err := chunks.read(f, it, first, rows)
		t.panicIf(f, errors.Join(err, it.Close()))
	})
}

// warm loads the rows with one iterator, which reads ahead, instead of one a chunk.
func (t *rows[T]) warm(f rowReader, st *market.State, stop func() bool) {
	it, days := t.iterate(f, 0, 1<<32), f.dayCursor()
	defer func() { _ = errors.Join(it.Close(), days.it.Close()) }() // what failed was told already

	chunks := t.chunks(f, st)
	t.of(st).WarmBy(func(first uint32, rows []T) {
		t.panicIf(f, chunks.read(days, it, first, rows))
	}, stop)
}

// panicIf reports an error of reading the table as damage. The rows are asked for where
// no error can be returned.
func (t *rows[T]) panicIf(f rowReader, err error) {
	if err != nil {
		panic(f.s.reportDamage(f.chain, "table "+t.name, err))
	}
}

// iterate returns an iterator over the rows from first up to end.
func (t *rows[T]) iterate(f rowReader, first uint32, end uint64) *pebble.Iterator {
	var low, high [maxKeyLen]byte
	upper := appendKind(high[:0], f.chain, t.kind+1)
	if end < 1<<32 {
		upper = appendRow(high[:0], f.chain, t.kind, uint32(end))
	}
	return database.Iterate(f.s.db, appendRow(low[:0], f.chain, t.kind, first), upper)
}

// chunkReader reads chunks of a table of st.
type chunkReader[T any] struct {
	*rows[T]
	from  rowReader
	st    *market.State
	patch func(first uint32, rows []T) error // brings rows to the last commit; nil: they are
}

func (t *rows[T]) chunks(f rowReader, st *market.State) *chunkReader[T] {
	r := &chunkReader[T]{rows: t, from: f, st: st}
	if t.patcher != nil {
		r.patch = t.patcher(f)
	}
	return r
}

// read fills the chunk that begins with row first. The iterator is new, or where the
// chunk before it ends.
func (r *chunkReader[T]) read(
	days daySource, it *pebble.Iterator, first uint32, chunk []T,
) error {
	rows := chunk[:min(r.from.head.Rows[r.index]-first, uint32(len(chunk)))]
	if err := r.readRecords(days, it, first, rows); err != nil {
		return err
	}

	if r.patch != nil {
		if err := r.patch(first, rows); err != nil {
			return err
		}
	}
	if r.derive != nil {
		for i := range rows {
			r.derive(r.st, first+uint32(i), &rows[i])
		}
	}
	return nil
}

// readRecords reads rows as they are stored.
func (r *chunkReader[T]) readRecords(
	days daySource, it *pebble.Iterator, first uint32, rows []T,
) error {
	var at [maxKeyLen]byte
	if key := r.key(at[:0], r.from.chain, first, 0); !it.Valid() || string(it.Key()) != string(key) {
		it.SeekGE(key)
	}

	var c field.Coder // of all rows, because each one would be on the heap
	for i := range rows {
		row, current := first+uint32(i), 0
		for part := range r.parts {
			key := r.key(at[:0], r.from.chain, row, part)
			if !it.Valid() || string(it.Key()) != string(key) {
				if !r.needs(part) {
					continue
				}
				return errors.Join(fmt.Errorf("%s is missing", r.nameOf(row, part)), it.Error())
			}
			c = field.Reader(it.Value())
			is, err := r.form.read(r.rows, days, &c, part, &rows[i])
			if err != nil {
				return fmt.Errorf("%s: %w", r.nameOf(row, part), err)
			}
			if is {
				current++
			}
			it.Next()
		}
		if err := r.checkRow(r.from.head, row, current, &rows[i]); err != nil {
			return err
		}
	}

	return it.Error()
}
