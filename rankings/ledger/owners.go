package ledger

import (
	"hash/maphash"

	"tidemark/rankings/market"
)

// ownerLookup finds owners by address. Their number grows with the positions, and a map
// would keep every address once more, in ten times the memory: this is a hash table of
// rows alone, whose addresses are those of the table.
type ownerLookup struct {
	rows  *market.Frozen[market.Address]
	seed  maphash.Seed // owners choose their addresses, so places must not be foreseen
	slots []uint32     // the row plus one; 0: none. A power of two of them
	used  uint32
}

// minOwnerSlots is the size of the smallest table.
const minOwnerSlots = 64

// newOwnerLookup returns an empty index over rows, with room for all of them.
func newOwnerLookup(rows *market.Frozen[market.Address]) ownerLookup {
	x := ownerLookup{rows: rows, seed: maphash.MakeSeed()}
	size := minOwnerSlots
	for isCrowded(rows.Len(), size) {
		size *= 2
	}
	x.slots = make([]uint32, size)
	return x
}

// isCrowded reports whether a search among so many slots would take too long.
func isCrowded(used uint32, slots int) bool { return uint64(used)*4 > uint64(slots)*3 }

// find returns the row of an address.
func (x *ownerLookup) find(a *market.Address) (row uint32, ok bool) {
	row = x.slots[x.slotOf(a)]
	return row - 1, row != 0
}

// slotOf returns the slot of an address: the one with its row, or the free one in
// which it belongs.
func (x *ownerLookup) slotOf(a *market.Address) int {
	for i := x.home(a); ; i = x.after(i) {
		if row := x.slots[i]; row == 0 || *x.rows.At(row - 1) == *a {
			return i
		}
	}
}

// home returns the slot in which the search for an address begins.
func (x *ownerLookup) home(a *market.Address) int {
	return int(maphash.Bytes(x.seed, a[:]) & uint64(len(x.slots)-1))
}

func (x *ownerLookup) after(slot int) int { return (slot + 1) & (len(x.slots) - 1) }

// add adds a row that is in the table, and whose address is not in the index.
func (x *ownerLookup) add(row uint32) {
	if isCrowded(x.used+1, len(x.slots)) {
		x.grow()
	}
	x.slots[x.slotOf(x.rows.At(row))] = row + 1
	x.used++
}

func (x *ownerLookup) grow() {
	old := x.slots
	x.slots = make([]uint32, 2*len(old))
	for _, row := range old {
		if row != 0 {
			x.slots[x.slotOf(x.rows.At(row-1))] = row
		}
	}
}

// remove removes a row of the index that is still in the table. The rows behind its slot
// move up where the free slot would end the search for them.
func (x *ownerLookup) remove(row uint32) {
	free := x.slotOf(x.rows.At(row))
	for i := x.after(free); x.slots[i] != 0; i = x.after(i) {
		home := x.home(x.rows.At(x.slots[i] - 1))
		if x.distance(home, i) >= x.distance(free, i) {
			x.slots[free] = x.slots[i]
			free = i
		}
	}
	x.slots[free] = 0
	x.used--
}

// distance returns how many slots a search goes on from one slot to another.
func (x *ownerLookup) distance(from, to int) int { return (to - from) & (len(x.slots) - 1) }
