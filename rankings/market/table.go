package market

import (
	"bytes"
	"fmt"
	"slices"
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

	// AllRows are the rows of a chunk, the first one by the lowest bit.
	AllRows = 1<<ChunkLen - 1

	// wideRow is the size in bytes from which on chunks have fewer rows. Those are the closes
	// of minutes and the days of pools, which every swap writes: in a calm market one row of
	// most chunks a refresh. Positions are none, since their chunks are words of bitmaps.
	wideRow = 289
	// wideBits make chunks of 6 KiB. There are a few thousand, which the garbage collector
	// passes in each of its cycles.
	wideBits = 4
	// sparseRow is the size from which on they have fewer still, which only the closes of
	// minutes have. Most pools have none, since they never traded, and chunks of a few such
	// pools take no memory.
	sparseRow  = 361
	sparseBits = 2
)

var (
	_ [wideRow - 1 - unsafe.Sizeof(Position{})]byte
	_ [sparseRow - 1 - unsafe.Sizeof(PoolDay{})]byte
)

// rowBits returns the bits of a row's index within its chunk. The compiler knows it.
func rowBits[T any]() uint32 {
	switch size := unsafe.Sizeof(*new(T)); {
	case size >= sparseRow:
		return sparseBits
	case size >= wideRow:
		return wideBits
	}
	return chunkBits
}

// A chunk is known by its first row, and has nothing but rows. Where a row takes whole cache
// lines, a chunk of them then takes whole pages of memory, and each row begins with a line.

// rowIn returns the row of a chunk that is row i of a table.
func rowIn[T any](chunk *T, i uint32) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(chunk), uintptr(i&(1<<rowBits[T]()-1))*unsafe.Sizeof(*chunk)))
}

// rowsIn returns the rows of a chunk.
func rowsIn[T any](chunk *T) []T { return unsafe.Slice(chunk, 1<<rowBits[T]()) }

// newChunks returns chunks of zeros, one after the other.
func newChunks[T any](n int) []T { return make([]T, n<<rowBits[T]()) }

// zeros is the memory of all chunks that were loaded and have nothing but zeros. Nobody
// writes to it, since a table copies a chunk before a write.
var zeros [wideRow << chunkBits / 8]uint64

// zeroChunk returns the chunk that has nothing but zeros.
func zeroChunk[T any]() *T { return (*T)(unsafe.Pointer(&zeros)) }

// isZero reports whether a chunk may be the one that has nothing but zeros.
func isZero[T any](rows []T) bool {
	size := uintptr(len(rows)) * unsafe.Sizeof(rows[0])
	return size <= unsafe.Sizeof(zeros) && bytes.Equal(bytesOf(&rows[0], size), bytesOf(&zeros, size))
}

func bytesOf[T any](at *T, size uintptr) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(at)), size)
}

// Fault reads a chunk that is not in memory: the rows from first on, at most
// ChunkLen, into rows. It must return the same rows at every call, and may be
// called by several readers at once.
type Fault[T any] func(first uint32, rows []T)

// Table is a growing sequence of records with a single writer. Freeze returns an
// immutable snapshot for readers; the next write to a chunk then copies it. The
// zero value is an empty table. A copy of its Frozen has the rows of the table until the
// next Freeze or change of its length.
//
// The chunks that were written since are apart, and the root with the others is that of
// the snapshot:
//
//	snapshot  root  [A B C D]
//	             |
//	table     root  [A B C D]  own  [- 1 - 0]  chunks D' B'
//
// So the garbage collector, which looks up the chunk behind every pointer in each of its
// cycles, has one root to pass and not two of nearly the same pointers.
type Table[T any] struct {
	Frozen[T]
}

// Frozen is an immutable sequence of records, shared without locks. A chunk that
// is not in memory is read by the Fault when it is first used.
type Frozen[T any] struct {
	root  []atomic.Pointer[T] // the chunks
	n     uint32
	fault Fault[T]
	own   *ownChunks[T] // of a table, which keeps it; nil of a snapshot
}

// ownChunks are the chunks that a table has written since it was frozen.
type ownChunks[T any] struct {
	place  []uint32 // by chunk: its place in chunks plus one; 0: it is in the root
	chunks []*T
	of     []uint32 // the chunk at each place; a truncation may have dropped it
}

// Cold returns a sequence of n rows, none of which is in memory.
func Cold[T any](n uint32, fault Fault[T]) Frozen[T] {
	return Frozen[T]{root: make([]atomic.Pointer[T], chunkCount[T](n)), n: n, fault: fault}
}

// Thaw returns a table that starts with the rows of f, a snapshot. f does not change:
// every chunk is copied before a write. If all rows are in memory the table does without
// the Fault of f, which may keep much else alive.
func Thaw[T any](f Frozen[T]) Table[T] {
	if f.own != nil {
		panic("BUG: a table is no snapshot")
	}
	if f.isWarm() {
		f.fault = nil
	}
	f.own = &ownChunks[T]{place: make([]uint32, len(f.root))}
	return Table[T]{f}
}

func chunkCount[T any](n uint32) int {
	return int((uint64(n) + 1<<rowBits[T]() - 1) >> rowBits[T]())
}

// Len returns the number of rows.
func (f *Frozen[T]) Len() uint32 { return f.n }

// At returns row i, which the caller must not change. It panics if i is not less
// than Len.
func (f *Frozen[T]) At(i uint32) *T {
	if i >= f.n {
		panicRange(i, f.n)
	}

	if o := f.own; o == nil {
		if c := f.root[i>>rowBits[T]()].Load(); c != nil {
			return rowIn(c, i)
		}
	} else if place := o.place[i>>rowBits[T]()]; place != 0 {
		return rowIn(o.chunks[place-1], i)
	}
	return rowIn(f.findChunk(i>>rowBits[T]()), i)
}

// findChunk returns chunk i, and loads it if it is not in memory.
func (f *Frozen[T]) findChunk(i uint32) *T {
	if f.own != nil {
		if place := f.own.place[i]; place != 0 {
			return f.own.chunks[place-1]
		}
	}
	if c := f.root[i].Load(); c != nil {
		return c
	}
	return f.loadInto(newChunks[T](1), f.fault, i)
}

// Chunk returns the chunk of row i, which the caller must not change: the rows
// from i &^ (ChunkLen - 1) on, ChunkLen of them except at the end of the table. Chunks of
// wide rows have fewer, and no one asks for them.
func (f *Frozen[T]) Chunk(i uint32) []T {
	if i >= f.n {
		panicRange(i, f.n)
	}
	n := min(ChunkLen, f.n-i&^chunkMask)
	if f.own == nil {
		if c := f.root[i>>chunkBits].Load(); c != nil { // as in At
			return rowsIn(c)[:n]
		}
	}
	return rowsIn(f.findChunk(i >> chunkBits))[:n]
}

// Warm loads every chunk into memory. It stops early when stop reports true.
func (f *Frozen[T]) Warm(stop func() bool) { f.WarmBy(f.fault, stop) }

// WarmBy is Warm by another Fault of the same rows. It is asked for chunks in ascending
// order, by one reader, so that it may go on from the chunk before.
func (f *Frozen[T]) WarmBy(fault Fault[T], stop func() bool) {
	var room []T
	for i := range f.root {
		if f.root[i].Load() != nil {
			continue
		}
		if stop() {
			return
		}

		if len(room) == 0 {
			room = newChunks[T](min(f.chunksTogether(), len(f.root)-i))
		}
		chunk := room[:1<<rowBits[T]()]
		if f.loadInto(chunk, fault, uint32(i)) != zeroChunk[T]() {
			room = room[len(chunk):]
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

// loadInto loads chunk i by a Fault into rows, which stay free if they are all zero.
func (f *Frozen[T]) loadInto(rows []T, fault Fault[T], i uint32) *T {
	fault(i<<rowBits[T](), rows)
	chunk := &rows[0]
	if isZero(rows) {
		chunk = zeroChunk[T]()
	}

	// Another reader may load the same chunk; all use the one stored first.
	if !f.root[i].CompareAndSwap(nil, chunk) {
		return f.root[i].Load()
	}
	return chunk
}

// Freeze returns the rows as they are now. It copies one pointer a chunk if any row was
// written since the last time.
func (t *Table[T]) Freeze() Frozen[T] {
	if o := t.own; o != nil && (len(o.chunks) > 0 || len(t.root) != chunkCount[T](t.n)) {
		t.root = t.joinedRoot()
		for _, i := range o.of {
			if int(i) < len(o.place) {
				o.place[i] = 0
			}
		}
		o.chunks, o.of = nil, nil
	}
	return Frozen[T]{root: t.root, n: t.n, fault: t.fault}
}

// joinedRoot returns a root with all chunks of the table.
func (t *Table[T]) joinedRoot() []atomic.Pointer[T] {
	root := make([]atomic.Pointer[T], chunkCount[T](t.n))
	for i := range min(len(root), len(t.root)) {
		root[i].Store(t.root[i].Load())
	}
	for i, place := range t.own.place {
		if place != 0 {
			root[i].Store(t.own.chunks[place-1])
		}
	}
	return root
}

// Mut returns row i for writing. The pointer is valid until the next Freeze,
// Append or Truncate. It panics if i is not less than Len.
func (t *Table[T]) Mut(i uint32) *T {
	if i >= t.n {
		panicRange(i, t.n)
	}
	return rowIn(t.ownChunk(i>>rowBits[T]()), i)
}

// ownChunk returns chunk i for writing, copied if a snapshot may share it.
func (t *Table[T]) ownChunk(i uint32) *T {
	if place := t.own.place[i]; place != 0 {
		return t.own.chunks[place-1]
	}
	c := slices.Clone(rowsIn(t.findChunk(i))) // a new chunk would be cleared first
	t.setChunk(i, &c[0])
	return &c[0]
}

// setChunk makes c chunk i.
func (t *Table[T]) setChunk(i uint32, c *T) {
	if t.own == nil {
		t.own = new(ownChunks[T]) // the zero table
	}
	o := t.own
	if int(i) == len(o.place) {
		o.place = append(o.place, 0)
	}
	o.chunks, o.of = append(o.chunks, c), append(o.of, i)
	o.place[i] = uint32(len(o.chunks))
}

// Append adds a row and returns its index.
func (t *Table[T]) Append(row T) uint32 {
	i := t.n
	if i&(1<<rowBits[T]()-1) == 0 {
		t.setChunk(i>>rowBits[T](), &newChunks[T](1)[0])
	}

	t.n++
	*rowIn(t.ownChunk(i>>rowBits[T]()), i) = row
	return i
}

// Truncate drops the rows from n on; n is at most Len.
func (t *Table[T]) Truncate(n uint32) {
	t.n = n
	if t.own != nil {
		t.own.place = t.own.place[:chunkCount[T](n)]
	}
}

// panicRange is separate so that At can be inlined.
func panicRange(i, n uint32) {
	panic(fmt.Sprintf("BUG: row %d of a table of %d rows", i, n))
}
