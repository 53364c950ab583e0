package ledger

import (
	"slices"

	"tidemark/rankings/market"
)

// mark says in which span a row was last saved and in which batch of Changes
// it was last noted.
type mark struct{ span, batch uint32 }

// rows is a table that remembers what a span changed, to take it back, and
// what changed since the last Changes, to store it. Both are stamps beside the
// rows, so that the hot path looks nothing up.
type rows[T any] struct {
	market.Table[T]
	now    *mark      // of the ledger
	marks  []mark     // one a row
	before uint32     // the length when the span began
	saved  []Saved[T] // rows below before as they were when the span began
	dirty  []uint32   // rows noted since the last Changes
}

func (r *rows[T]) thaw(now *mark, f market.Frozen[T]) {
	*r = rows[T]{Table: market.Thaw(f), now: now, marks: make([]mark, f.Len()), before: f.Len()}
}

// begin starts a span.
func (r *rows[T]) begin() {
	r.before = r.Len()
	r.saved = r.saved[:0]
}

// edit returns row i for writing, saved first when this is the span's first
// change of it. The pointer is good until the next Freeze.
func (r *rows[T]) edit(i uint32) *T {
	if m := &r.marks[i]; m.span != r.now.span {
		m.span = r.now.span
		if i < r.before {
			r.saved = append(r.saved, Saved[T]{Index: i, Row: *r.At(i)})
		}
	}
	return r.note(i)
}

// note returns row i for writing without saving it.
func (r *rows[T]) note(i uint32) *T {
	if m := &r.marks[i]; m.batch != r.now.batch {
		m.batch = r.now.batch
		r.dirty = append(r.dirty, i)
	}
	return r.Mut(i)
}

// add appends a row.
func (r *rows[T]) add(row T) uint32 {
	i := r.Append(row)
	r.marks = append(r.marks, *r.now)
	r.dirty = append(r.dirty, i)
	return i
}

// restore puts saved rows back and drops those from n on.
func (r *rows[T]) restore(saved []Saved[T], n uint32) {
	for i := range saved {
		*r.note(saved[i].Index) = saved[i].Row
	}
	r.Truncate(n)
	r.marks = r.marks[:n]
}

// drain returns the noted rows that still exist, ascending, and forgets them.
// The caller then begins a new batch.
func (r *rows[T]) drain() []uint32 {
	slices.Sort(r.dirty)
	noted := slices.Compact(r.dirty)
	end, _ := slices.BinarySearch(noted, r.Len())
	r.dirty = nil
	return noted[:end]
}
