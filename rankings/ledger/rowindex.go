package ledger

import (
	"bytes"
	"hash/maphash"

	"tidemark/rankings/market"
)

// rowIndex finds the rows of a table by a key that each has. A map would keep every key
// once more, in ten times the memory: these are hash tables of rows alone, whose keys are
// those of the table. There are many, since one that doubles is busy with all of its rows:
// with 400,000 owners, a fifth of a millisecond.
type rowIndex[T any] struct {
	rows   *market.Frozen[T]
	keyOf  func(row *T) []byte // never changes; in the memory of the row
	seed   maphash.Seed        // others choose the keys, so places must not be foreseen
	tables [indexTables]slotTable
}

// slotTable is a hash table of rows.
type slotTable struct {
	slots []uint32 // the row plus one; 0: none. A power of two of them, or nil
	used  uint32
}

const (
	// indexTables is the number of tables of a rowIndex, a power of two.
	indexTables = 256
	// minSlots is the size of the smallest table with a row.
	minSlots = 8
)

// newRowIndex returns an empty index over rows, with room for all of them.
func newRowIndex[T any](rows *market.Frozen[T], keyOf func(row *T) []byte) *rowIndex[T] {
	x := &rowIndex[T]{rows: rows, keyOf: keyOf, seed: maphash.MakeSeed()}
	if rows.Len() == 0 {
		return x
	}
	size := minSlots
	for isCrowded(rows.Len()/indexTables, size) {
		size *= 2
	}
	for i := range x.tables {
		x.tables[i].slots = make([]uint32, size)
	}
	return x
}

// isCrowded reports whether a search among so many slots would take too long.
func isCrowded(used uint32, slots int) bool { return uint64(used)*4 > uint64(slots)*3 }

// find returns the row of a key.
func (x *rowIndex[T]) find(key []byte) (row uint32, ok bool) {
	hash := x.hash(key)
	t := x.table(hash)
	if t.used == 0 {
		return 0, false
	}
	row = t.slots[x.slotOf(t, hash, key)]
	return row - 1, row != 0
}

func (x *rowIndex[T]) hash(key []byte) uint64 { return maphash.Bytes(x.seed, key) }

// key returns the key of a row.
func (x *rowIndex[T]) key(row uint32) []byte { return x.keyOf(x.rows.At(row)) }

// table returns the table of a hash, whose low bits choose it.
func (x *rowIndex[T]) table(hash uint64) *slotTable { return &x.tables[hash%indexTables] }

// slotOf returns the slot of a key in its table: the one with its row, or the free one in
// which it belongs.
func (x *rowIndex[T]) slotOf(t *slotTable, hash uint64, key []byte) int {
	for i := t.home(hash); ; i = t.after(i) {
		if row := t.slots[i]; row == 0 || bytes.Equal(x.key(row-1), key) {
			return i
		}
	}
}

// home returns the slot in which the search for a hash begins.
func (t *slotTable) home(hash uint64) int { return int(hash/indexTables) & (len(t.slots) - 1) }

func (t *slotTable) after(slot int) int { return (slot + 1) & (len(t.slots) - 1) }

// add adds a row that is in the table, and whose key is not in the index.
func (x *rowIndex[T]) add(row uint32) {
	key := x.key(row)
	hash := x.hash(key)
	t := x.table(hash)
	if isCrowded(t.used+1, len(t.slots)) {
		x.grow(t)
	}
	t.slots[x.slotOf(t, hash, key)] = row + 1
	t.used++
}

func (x *rowIndex[T]) grow(t *slotTable) {
	old := t.slots
	t.slots = make([]uint32, max(2*len(old), minSlots))
	for _, row := range old {
		if row != 0 {
			key := x.key(row - 1)
			t.slots[x.slotOf(t, x.hash(key), key)] = row
		}
	}
}

// remove removes a row of the index that is still in the table. The rows behind its slot
// move up where the free slot would end the search for them.
func (x *rowIndex[T]) remove(row uint32) {
	key := x.key(row)
	hash := x.hash(key)
	t := x.table(hash)

	free := x.slotOf(t, hash, key)
	for i := t.after(free); t.slots[i] != 0; i = t.after(i) {
		home := t.home(x.hash(x.key(t.slots[i] - 1)))
		if t.distance(home, i) >= t.distance(free, i) {
			t.slots[free] = t.slots[i]
			free = i
		}
	}

	t.slots[free] = 0
	t.used--
}

// distance returns how many slots a search goes on from one slot to another.
func (t *slotTable) distance(from, to int) int { return (to - from) & (len(t.slots) - 1) }
