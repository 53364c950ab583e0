package accounts

import "sync/atomic"

// index is a hash table of pointers with one writer and any number of
// readers. A reader probes the slots it loaded and never waits; the writer
// fills empty slots, which readers see or do not see yet, and publishes a
// table twice the size when half are full. Nothing is ever removed, so a
// probe that meets an empty slot is done. Adding n entries costs O(n).
type index[T any] struct {
	slots atomic.Pointer[[]atomic.Pointer[T]]
	used  int
}

const minIndex = 64

// find returns the entry of that hash that is the one asked for, or nil.
func (x *index[T]) find(hash uint64, is func(*T) bool) *T {
	p := x.slots.Load()
	if p == nil {
		return nil
	}
	slots := *p
	mask := uint64(len(slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		e := slots[i].Load()
		if e == nil || is(e) {
			return e
		}
	}
}

// add puts in an entry that is not there yet (writer). hashOf must give the
// hash that readers ask with.
func (x *index[T]) add(e *T, hashOf func(*T) uint64) {
	slots := x.grown(hashOf)
	place(slots, e, hashOf(e))
	x.used++
}

func (x *index[T]) grown(hashOf func(*T) uint64) []atomic.Pointer[T] {
	var old []atomic.Pointer[T]
	if p := x.slots.Load(); p != nil {
		old = *p
	}
	if x.used < len(old)/2 {
		return old
	}
	grown := make([]atomic.Pointer[T], max(minIndex, 2*len(old)))
	for i := range old {
		if e := old[i].Load(); e != nil {
			place(grown, e, hashOf(e))
		}
	}
	x.slots.Store(&grown)
	return grown
}

func place[T any](slots []atomic.Pointer[T], e *T, hash uint64) {
	mask := uint64(len(slots) - 1)
	i := hash & mask
	for slots[i].Load() != nil {
		i = (i + 1) & mask
	}
	slots[i].Store(e)
}
