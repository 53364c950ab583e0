package accounts

import "sync/atomic"

// index is a hash table of pointers with one writer and any number of
// readers. A reader probes the slots it loaded and never waits; the writer
// fills empty slots, which readers see or do not see yet, and publishes a
// table twice the size when half are full. Nothing is ever removed, so a
// probe that meets an empty slot is done. Adding n entries costs O(n).
type index[T any] struct {
	slots atomic.Pointer[[]entry[T]]
	used  int
}

// entry is a slot: the hash is written before the pointer and spares readers
// a look at what they did not ask for.
type entry[T any] struct {
	hash uint64
	at   atomic.Pointer[T]
}

const minIndex = 64

// find returns the element of that hash that is the one asked for, or nil.
func (x *index[T]) find(hash uint64, is func(*T) bool) *T {
	p := x.slots.Load()
	if p == nil {
		return nil
	}
	slots := *p
	mask := uint64(len(slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		e := slots[i].at.Load()
		if e == nil || slots[i].hash == hash && is(e) {
			return e
		}
	}
}

// add puts in an element that is not there yet (writer).
func (x *index[T]) add(hash uint64, e *T) {
	place(x.roomy(), hash, e)
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
			place(grown, old[i].hash, e)
		}
	}
	x.slots.Store(&grown)
	return grown
}

func place[T any](slots []entry[T], hash uint64, e *T) {
	mask := uint64(len(slots) - 1)
	i := hash & mask
	for slots[i].at.Load() != nil {
		i = (i + 1) & mask
	}
	slots[i].hash = hash
	slots[i].at.Store(e)
}
