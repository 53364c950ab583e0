package accounts

import (
	"iter"
	"sync/atomic"
)

// list is a lock-free stack of elements, each of which is on it at most once. Any
// goroutine may add to it. Its single consumer takes the whole stack at once, so there
// is no ABA problem.
type list[T any] struct{ head atomic.Pointer[T] }

// link is the place of an element on a list: a field of the element.
type link[T any] struct {
	listed atomic.Bool
	next   *T
}

// add puts an element on the list, unless it is there. at is its link. The load spares
// a write to what other processors read.
func (l *list[T]) add(e *T, at *link[T]) {
	if !at.listed.Load() && at.listed.CompareAndSwap(false, true) {
		l.push(e, at)
	}
}

func (l *list[T]) push(e *T, at *link[T]) {
	for {
		at.next = l.head.Load()
		if l.head.CompareAndSwap(at.next, e) {
			return
		}
	}
}

// takeAll empties the list and yields what was on it, each element once. It is off the
// list before it is yielded, so that a later change adds it again. The loop must not be
// left early.
func (l *list[T]) takeAll(linkOf func(*T) *link[T]) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for e := l.head.Swap(nil); e != nil; {
			at := linkOf(e)
			next := at.next
			at.next = nil
			at.listed.Store(false)
			if !yield(e) {
				panic("BUG: elements of a list are lost")
			}
			e = next
		}
	}
}
