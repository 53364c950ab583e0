package accounts

import (
	"sync/atomic"
	"unsafe"
)

// index is a hash table of pairs of pointers with one writer and any number of
// readers. A reader probes the slots it loaded and never waits; the writer
// fills empty slots, which readers see or do not see yet, and publishes a
// table twice the size when half are full. Nothing is ever removed, so a
// probe that meets an empty slot is done. Adding n entries costs O(n).
type index[T any] struct {
	slots atomic.Pointer[[]entry[T]]
	used  int
}

// entry is a slot. Hash and cell are written before at, which tells that the
// slot is taken. The hash spares readers a look at what they did not ask for;
// the cell, if the element leads to one, stands here too so that memory fetches
// both at once: two misses one after the other become one.
type entry[T any] struct {
	hash uint64
	cell *Cell
	at   atomic.Pointer[T]
}

const minIndex = 64

// prefetch has the slot fetched where find will begin.
func (x *index[T]) prefetch(hash uint64) {
	if p := x.slots.Load(); p != nil {
		slots := *p
		prefetch(unsafe.Pointer(&slots[hash&uint64(len(slots)-1)]))
	}
}

// find returns the element of that hash that is the one asked for, and its
// cell; nil when there is none.
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
			// Nothing else of an empty slot may be read: add may be filling it.
			return nil, nil
		}
		if s.hash == hash && is(e) {
			return e, s.cell
		}
	}
}

// add puts in an element that is not there yet (writer).
func (x *index[T]) add(hash uint64, e *T, cell *Cell) {
	place(x.roomy(), hash, e, cell)
	x.used++
}

// roomy returns the slots, at most half of them taken.
func (x *index[T]) roomy() []entry[T] {
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
			place(grown, old[i].hash, e, old[i].cell)
		}
	}
	x.slots.Store(&grown)
	return grown
}

func place[T any](slots []entry[T], hash uint64, e *T, cell *Cell) {
	mask := uint64(len(slots) - 1)
	i := hash & mask
	for slots[i].at.Load() != nil {
		i = (i + 1) & mask
	}
	slots[i].hash, slots[i].cell = hash, cell
	slots[i].at.Store(e)
}
