package market

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// The rows of a table are stored in chunks. A chunk is small enough to be copied
// cheaply on the first write after a freeze, and large enough that the root of a
// million rows is copied in microseconds.
const (
	chunkBits = 6
	ChunkLen  = 1 << chunkBits
	chunkMask = ChunkLen - 1
)

// A chunk has nothing but rows. Where a row takes whole cache lines, a chunk then takes
// whole pages of memory, and each of its rows begins with a line.
type chunk[T any] [ChunkLen]T

// Fault reads a chunk that is not in memory: the rows from first on, at most
// ChunkLen, into rows. It must return the same rows at every call, and may be
// called by several readers at once.
type Fault[T any] func(first uint32, rows *[ChunkLen]T)

// Table is a growing sequence of records with a single writer. Freeze returns an
// immutable snapshot for readers; the next write to a chunk then copies it. The
// zero value is an empty table.
type Table[T any] struct {
	Frozen[T]
	epoch  uint64
	epochs []uint64 // by chunk: when it was made; a chunk of an older epoch is shared
}

// Frozen is an immutable sequence of records, shared without locks. A chunk that
// is not in memory is read by the Fault when it is first used.
type Frozen[T any] struct {
	root  []atomic.Pointer[chunk[T]]
	n     uint32
	fault Fault[T]
}

// Cold returns a sequence of n rows, none of which is in memory.
func Cold[T any](n uint32, fault Fault[T]) Frozen[T] {
	return Frozen[T]{root: make([]atomic.Pointer[chunk[T]], chunkCount(n)), n: n, fault: fault}
}

// Thaw returns a table that starts with the rows of f. f does not change: every chunk
// is copied before a write. If all rows are in memory the table does without the Fault
// of f, which may keep much else alive.
func Thaw[T any](f Frozen[T]) Table[T] {
	t := Table[T]{Frozen: f.copyRoot(), epoch: 1, epochs: make([]uint64, len(f.root))}
	if f.isWarm() {
		t.fault = nil
	}
	return t
}

func chunkCount(n uint32) int { return int((uint64(n) + chunkMask) >> chunkBits) }

// Len returns the number of rows.
func (f *Frozen[T]) Len() uint32 { return f.n }

// At returns row i, which the caller must not change. It panics if i is not less
// than Len.
func (f *Frozen[T]) At(i uint32) *T {
	if i >= f.n {
		panicRange(i, f.n)
	}

	// c is known not to be nil here, which saves a read of the chunk's header.
	if c := f.root[i>>chunkBits].Load(); c != nil {
		return &c[i&chunkMask]
	}
	return &f.loadChunk(i >> chunkBits)[i&chunkMask]
}

// Chunk returns the chunk of row i, which the caller must not change: the rows
// from i &^ (ChunkLen - 1) on, ChunkLen of them except at the end of the table.
func (f *Frozen[T]) Chunk(i uint32) []T {
	first := i &^ chunkMask
	f.At(i) // loads the chunk
	return f.root[i>>chunkBits].Load()[:min(ChunkLen, f.n-first)]
}

// Warm loads every chunk into memory. It stops early when stop reports true.
func (f *Frozen[T]) Warm(stop func() bool) {
	var room []chunk[T]
	for i := range f.root {
		if f.root[i].Load() == nil {
			if stop() {
				return
			}
			if len(room) == 0 {
				room = make([]chunk[T], min(f.chunksTogether(), len(f.root)-i))
			}
			f.loadInto(&room[0], uint32(i))
			room = room[1:]
		}
	}
}

const (
	// smallRow is the size of rows in bytes whose chunks are loaded several at a time, in
	// one object: the garbage collector passes every object in each of its cycles. One
	// that was replaced stays in memory until all of them are, which does not matter
	// where rows are small or never change, as owners.
	smallRow = 32
	// smallTogether is how many of these are one object, of up to 32 KiB.
	smallTogether = 16
)

// chunksTogether returns how many chunks are loaded as one object.
func (f *Frozen[T]) chunksTogether() int {
	var row T
	if unsafe.Sizeof(row) > smallRow {
		return 1
	}
	return smallTogether
}

// isWarm reports whether every chunk is in memory.
func (f *Frozen[T]) isWarm() bool {
	for i := range f.root {
		if f.root[i].Load() == nil {
			return false
		}
	}
	return true
}

func (f *Frozen[T]) loadChunk(i uint32) *chunk[T] { return f.loadInto(new(chunk[T]), i) }

// loadInto loads chunk i, for which there is room in c.
func (f *Frozen[T]) loadInto(c *chunk[T], i uint32) *chunk[T] {
	// Another reader may load the same chunk; all use the one stored first.
	f.fault(i<<chunkBits, (*[ChunkLen]T)(c))
	if !f.root[i].CompareAndSwap(nil, c) {
		return f.root[i].Load()
	}
	return c
}

func (f *Frozen[T]) copyRoot() Frozen[T] {
	root := make([]atomic.Pointer[chunk[T]], len(f.root))
	for i := range f.root {
		root[i].Store(f.root[i].Load())
	}
	return Frozen[T]{root: root, n: f.n, fault: f.fault}
}

// Freeze returns the rows as they are now. It copies one pointer a chunk.
func (t *Table[T]) Freeze() Frozen[T] {
	t.epoch++
	return t.copyRoot()
}

// Mut returns row i for writing. The pointer is valid until the next Freeze,
// Append or Truncate. It panics if i is not less than Len.
func (t *Table[T]) Mut(i uint32) *T {
	if i >= t.n {
		panicRange(i, t.n)
	}
	return &t.ownChunk(i >> chunkBits)[i&chunkMask]
}

// ownChunk returns chunk i, copied if a snapshot may share it.
func (t *Table[T]) ownChunk(i uint32) *chunk[T] {
	c := t.root[i].Load()
	if c == nil {
		c = t.loadChunk(i)
	}
	if t.epochs[i] != t.epoch {
		own := new(chunk[T])
		*own = *c
		t.root[i].Store(own)
		t.epochs[i] = t.epoch
		return own
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
		t.root[i>>chunkBits].Store(new(chunk[T]))
		t.epochs = append(t.epochs, t.epoch)
	}

	t.n++
	t.ownChunk(i >> chunkBits)[i&chunkMask] = row
	return i
}

// Truncate drops the rows from n on; n is at most Len.
func (t *Table[T]) Truncate(n uint32) {
	t.n = n
	t.root, t.epochs = t.root[:chunkCount(n)], t.epochs[:chunkCount(n)]
}

// panicRange is separate so that At can be inlined.
func panicRange(i, n uint32) {
	panic(fmt.Sprintf("BUG: row %d of a table of %d rows", i, n))
}
