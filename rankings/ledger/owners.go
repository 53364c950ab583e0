package ledger

import (
	"hash/maphash"

	"tidemark/rankings/market"
)

// ownerLookup finds owners by address. Their number grows with the positions, and a map
// would keep every address once more, in ten times the memory: these are hash tables of
// rows alone, whose addresses are those of the table of owners. There are many, since one
// that doubles is busy with all of its rows: with 400,000 owners, a fifth of a millisecond.
type ownerLookup struct {
	rows   *market.Frozen[market.Address]
	seed   maphash.Seed // owners choose their addresses, so places must not be foreseen
	tables [ownerTables]ownerTable
}

// ownerTable is a hash table of rows.
type ownerTable struct {
	slots []uint32 // the row plus one; 0: none. A power of two of them, or nil
	used  uint32
}

const (
	// ownerTables is the number of tables of an ownerLookup, a power of two.
	ownerTables = 256
	// minOwnerSlots is the size of the smallest table with a row.
	minOwnerSlots = 8
)

// newOwnerLookup returns an empty index over rows, with room for all of them.
func newOwnerLookup(rows *market.Frozen[market.Address]) *ownerLookup {
	x := &ownerLookup{rows: rows, seed: maphash.MakeSeed()}
	if rows.Len() == 0 {
		return x
	}
	size := minOwnerSlots
	for isCrowded(rows.Len()/ownerTables, size) {
		size *= 2
	}
	for i := range x.tables {
		x.tables[i].slots = make([]uint32, size)
	}
	return x
}

// isCrowded reports whether a search among so many slots would take too long.
func isCrowded(used uint32, slots int) bool { return uint64(used)*4 > uint64(slots)*3 }

// find returns the row of an address.
func (x *ownerLookup) find(a *market.Address) (row uint32, ok bool) {
	hash := x.hash(a)
	t := x.table(hash)
	if t.used == 0 {
		return 0, false
	}
	row = t.slots[x.slotOf(t, hash, a)]
	return row - 1, row != 0
}

func (x *ownerLookup) hash(a *market.Address) uint64 { return maphash.Bytes(x.seed, a[:]) }

// table returns the table of a hash, whose low bits choose it.
func (x *ownerLookup) table(hash uint64) *ownerTable { return &x.tables[hash%ownerTables] }

// slotOf returns the slot of an address in its table: the one with its row, or the free
// one in which it belongs.
func (x *ownerLookup) slotOf(t *ownerTable, hash uint64, a *market.Address) int {
	for i := t.home(hash); ; i = t.after(i) {
		if row := t.slots[i]; row == 0 || *x.rows.At(row - 1) == *a {
			return i
		}
	}
}

// home returns the slot in which the search for a hash begins.
func (t *ownerTable) home(hash uint64) int { return int(hash/ownerTables) & (len(t.slots) - 1) }

func (t *ownerTable) after(slot int) int { return (slot + 1) & (len(t.slots) - 1) }

// add adds a row that is in the table of owners, and whose address is not in the index.
func (x *ownerLookup) add(row uint32) {
	a := x.rows.At(row)
	hash := x.hash(a)
	t := x.table(hash)
	if isCrowded(t.used+1, len(t.slots)) {
		x.grow(t)
	}
	t.slots[x.slotOf(t, hash, a)] = row + 1
	t.used++
}

func (x *ownerLookup) grow(t *ownerTable) {
	old := t.slots
	t.slots = make([]uint32, max(2*len(old), minOwnerSlots))
	for _, row := range old {
		if row != 0 {
			a := x.rows.At(row - 1)
			t.slots[x.slotOf(t, x.hash(a), a)] = row
		}
	}
}

// remove removes a row of the index that is still in the table of owners. The rows behind
// its slot move up where the free slot would end the search for them.
func (x *ownerLookup) remove(row uint32) {
	a := x.rows.At(row)
	hash := x.hash(a)
	t := x.table(hash)

	free := x.slotOf(t, hash, a)
	for i := t.after(free); t.slots[i] != 0; i = t.after(i) {
		home := t.home(x.hash(x.rows.At(t.slots[i] - 1)))
		if t.distance(home, i) >= t.distance(free, i) {
			t.slots[free] = t.slots[i]
			free = i
		}
	}

	t.slots[free] = 0
	t.used--
}

// distance returns how many slots a search goes on from one slot to another.
func (t *ownerTable) distance(from, to int) int { return (to - from) & (len(t.slots) - 1) }
