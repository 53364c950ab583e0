package market

import "sync/atomic"

// Rows of a table stand in chunks: small enough that copying one on the first
// write after a freeze is cheap, large enough that a root of a million rows
// copies in microseconds.
const (
	chunkBits = 6
	ChunkLen  = 1 << chunkBits
	chunkMask = ChunkLen - 1
)

type chunk[T any] struct {
	epoch uint64 // the table's when the chunk was made; older ones are shared
	rows  [ChunkLen]T
}

// Fault reads the rows of a chunk that is not in memory yet: those from first
// on, at most ChunkLen, into rows. It must give the same rows at every call.
type Fault[T any] func(first uint32, rows *[ChunkLen]T)

// Table is a growing sequence of records with a single writer. Freeze gives
// readers an immutable snapshot; the next write to a chunk then copies it.
// The zero value is an empty table.
type Table[T any] struct {
	Frozen[T]
	epoch uint64
}

// Frozen is an immutable sequence of records, shared without locks. Chunks
// that are not in memory are read through the table's Fault when asked for.
type Frozen[T any] struct {
	root  []atomic.Pointer[chunk[T]]
	n     uint32
	fault Fault[T]
}

// Cold returns a sequence of n rows of which none is in memory.
func Cold[T any](n uint32, fault Fault[T]) Frozen[T] {
	return Frozen[T]{root: make([]atomic.Pointer[chunk[T]], chunks(n)), n: n, fault: fault}
}

// Thaw returns a table that continues f, which stays what it is: the table is
// younger than any chunk that f may share with others.
func Thaw[T any](f Frozen[T]) Table[T] {
	t := Table[T]{Frozen: f.share()}
	for i := range t.root {
		if c := t.root[i].Load(); c != nil {
			t.epoch = max(t.epoch, c.epoch)
		}
	}
	t.epoch++
	return t
}

func chunks(n uint32) int { return int((uint64(n) + chunkMask) >> chunkBits) }

// Len returns the number of rows.
func (f *Frozen[T]) Len() uint32 { return f.n }

// At returns row i, which the caller must not change. It panics when i is not
// less than Len.
func (f *Frozen[T]) At(i uint32) *T {
	if i >= f.n {
		panic("BUG: row past the end of its table")
	}
	if c := f.root[i>>chunkBits].Load(); c != nil {
		return &c.rows[i&chunkMask] // known not to be nil: no look at the chunk's head
	}
	return &f.load(i >> chunkBits).rows[i&chunkMask]
}

// Chunk returns the rows in the same chunk as row i, which the caller must not
// change: from i &^ (ChunkLen - 1) on, ChunkLen of them or those there are.
func (f *Frozen[T]) Chunk(i uint32) []T {
	first := i &^ chunkMask
	f.At(i)
	return f.root[i>>chunkBits].Load().rows[:min(ChunkLen, f.n-first)]
}

// Warm brings every chunk into memory; it stops early when stop reports true.
func (f *Frozen[T]) Warm(stop func() bool) {
	for i := range f.root {
		if f.root[i].Load() == nil {
			if stop() {
				return
			}
			f.load(uint32(i))
		}
	}
}

func (f *Frozen[T]) load(i uint32) *chunk[T] {
	c := new(chunk[T])
	f.fault(i<<chunkBits, &c.rows)
	if !f.root[i].CompareAndSwap(nil, c) {
		return f.root[i].Load()
	}
	return c
}

func (f *Frozen[T]) share() Frozen[T] {
	root := make([]atomic.Pointer[chunk[T]], len(f.root))
	for i := range f.root {
		root[i].Store(f.root[i].Load())
	}
	return Frozen[T]{root: root, n: f.n, fault: f.fault}
}

// Freeze returns the rows as they are now. It costs one pointer a chunk.
func (t *Table[T]) Freeze() Frozen[T] {
	t.epoch++
	return t.share()
}

// Mut returns row i for writing. The pointer is good until the next Freeze,
// Append or Truncate.
func (t *Table[T]) Mut(i uint32) *T {
	if i >= t.n {
		panic("BUG: row past the end of its table")
	}
	return &t.own(i >> chunkBits).rows[i&chunkMask]
}

func (t *Table[T]) own(i uint32) *chunk[T] {
	c := t.root[i].Load()
	if c == nil {
		c = t.load(i)
	}
	if c.epoch != t.epoch {
		c = &chunk[T]{epoch: t.epoch, rows: c.rows}
		t.root[i].Store(c)
	}
	return c
}

// Append adds a row and returns its index.
func (t *Table[T]) Append(row T) uint32 {
	i := t.n
	if i&chunkMask == 0 {
		if len(t.root) == cap(t.root) {
			grown := make([]atomic.Pointer[chunk[T]], len(t.root), 2*cap(t.root)+4)
			for k := range t.root {
				grown[k].Store(t.root[k].Load())
			}
			t.root = grown
		}
		t.root = t.root[:len(t.root)+1]
		t.root[i>>chunkBits].Store(&chunk[T]{epoch: t.epoch})
	}

	t.n++
	t.own(i >> chunkBits).rows[i&chunkMask] = row
	return i
}

// Truncate drops the rows from n on.
func (t *Table[T]) Truncate(n uint32) {
	t.n = n
	t.root = t.root[:chunks(n)]
}
