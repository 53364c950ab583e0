package accounts

import "sync/atomic"

// index is a hash table with one writer and any number of readers. A reader probes
// the slots that it loaded and never waits. The writer fills empty slots, which a
// concurrent reader may or may not see, and replaces the table by one of twice the
// size when it is half full. Entries are never removed, so a probe ends at the first
// empty slot. Adding n entries costs O(n).
type index[T any] struct {
	slots atomic.Pointer[[]entry[T]]
	used  int
}

// entry is a slot. The writer sets hash and cell before at, which marks the slot as
// used. The hash saves readers from loading other elements. The element's cell is
// here too, so that element and cell can be fetched from memory at the same time.
type entry[T any] struct {
	hash uint64
	cell *Cell
	at   atomic.Pointer[T]
}

const minIndex = 64

// find returns the first element with that hash that satisfies is, and its cell;
// nil if there is none.
func (x *index[T]) find(hash uint64, is func(*T) bool) (*T, *Cell) {
	p := x.slots.Load()
	if p == nil {
		return nil, nil
	}

	slots := *p
	mask := uint64(len(slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &slots[i]
		e := s.at.Load()
		if e == nil {
			// The slot's other fields must not be read: add may be writing them.
			return nil, nil
		}
		if s.hash == hash && is(e) {
			return e, s.cell
		}
	}
}

// add adds an element that the index does not have (writer).
func (x *index[T]) add(hash uint64, e *T, cell *Cell) {
	insertEntry(x.slotsWithRoom(), hash, e, cell)
	x.used++
}

// slotsWithRoom returns the slots, and grows the table if half of them are used.
func (x *index[T]) slotsWithRoom() []entry[T] {
	var old []entry[T]
	if p := x.slots.Load(); p != nil {
		old = *p
	}
	if x.used < len(old)/2 {
		return old
	}

	grown := make([]entry[T], max(minIndex, 2*len(old)))
	for i := range old {
		if e := old[i].at.Load(); e != nil {
			insertEntry(grown, old[i].hash, e, old[i].cell)
		}
	}
	x.slots.Store(&grown)
	return grown
}

func insertEntry[T any](slots []entry[T], hash uint64, e *T, cell *Cell) {
	mask := uint64(len(slots) - 1)
	i := hash & mask
	for slots[i].at.Load() != nil {
		i = (i + 1) & mask
	}
	slots[i].hash, slots[i].cell = hash, cell
	slots[i].at.Store(e)
}
