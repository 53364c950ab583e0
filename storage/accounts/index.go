package accounts

import (
	"sync/atomic"

	"tidemark/rankings/ahead"
)

// index is a hash table with one writer and any number of readers. A reader probes
// the slots that it loaded and never waits. The writer fills empty slots, which a
// concurrent reader may or may not see, and replaces the table by one of twice the
// size when it is half full. Entries are never removed, so a probe ends at the first
// empty slot. Adding n entries costs O(n).
type index[T any] struct {
	slots    atomic.Pointer[[]entry]
	elements slab[T]
}

// entry is a slot. The writer sets hash and cell before at, which marks the slot as
// used. The hash saves readers from loading other elements. The number of the element's
// cell is here too, so that element and cell can be fetched from memory at the same time.
type entry struct {
	hash uint64
	cell uint32
	at   atomic.Uint32 // the element's number plus one; 0: the slot is empty
}

const minIndex = 64

// find returns the first element with that hash that satisfies is, and the number of its
// cell; nil if there is none.
func (x *index[T]) find(hash uint64, is func(*T) bool) (e *T, cell uint32) {
	p := x.slots.Load()
	if p == nil {
		return nil, 0
	}

	slots := *p
	mask := uint64(len(slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &slots[i]
		at := s.at.Load()
		if at == 0 {
			// The slot's other fields must not be read: add may be writing them.
			return nil, 0
		}
		if s.hash != hash {
			continue
		}
		if e := x.elements.at(at - 1); is(e) {
			return e, s.cell
		}
	}
}

// ask asks for the slot at which find begins.
func (x *index[T]) ask(hash uint64) {
	if p := x.slots.Load(); p != nil {
		slots := *p
		ahead.Line(&slots[hash&uint64(len(slots)-1)])
	}
}

// add adds the element that elements.next returned, which the index does not have
// (writer). It returns its number.
func (x *index[T]) add(hash uint64, cell uint32) (number uint32) {
	slots := x.slotsWithRoom()
	number = x.elements.add()
	insertEntry(slots, hash, number+1, cell)
	return number
}

// slotsWithRoom returns the slots, and grows the table if half of them are used.
func (x *index[T]) slotsWithRoom() []entry {
	var old []entry
	if p := x.slots.Load(); p != nil {
		old = *p
	}
	if int(x.elements.count.Load()) < len(old)/2 {
		return old
	}

	grown := make([]entry, max(minIndex, 2*len(old)))
	for i := range old {
		if at := old[i].at.Load(); at != 0 {
			insertEntry(grown, old[i].hash, at, old[i].cell)
		}
	}
	x.slots.Store(&grown)
	return grown
}

func insertEntry(slots []entry, hash uint64, at, cell uint32) {
	mask := uint64(len(slots) - 1)
	i := hash & mask
	for slots[i].at.Load() != 0 {
		i = (i + 1) & mask
	}
	slots[i].hash, slots[i].cell = hash, cell
	slots[i].at.Store(at)
}
