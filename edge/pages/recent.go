package pages

import (
	"container/list"
	"sync"
)

// recent is a map that keeps at most max values and evicts the least recently
// used one. It is not safe for concurrent use.
type recent[V any] struct {
	max   int
	byKey map[string]*list.Element
	order *list.List // of *entry[V], the most recently used first
}

type entry[V any] struct {
	key   string
	value V
}

func newRecent[V any](max int) *recent[V] {
	return &recent[V]{max: max, byKey: map[string]*list.Element{}, order: list.New()}
}

func (r *recent[V]) len() int { return r.order.Len() }

func (r *recent[V]) get(key string) (value V, ok bool) {
	e, ok := r.byKey[key]
	if !ok {
		return value, false
	}
	r.order.MoveToFront(e)
	return e.Value.(*entry[V]).value, true
}

// put stores a value. If the map is full it evicts the least recently used value
// that is evictable; if there is none, it stores nothing and returns false.
func (r *recent[V]) put(key string, value V, evictable func(V) bool) bool {
	if e, ok := r.byKey[key]; ok {
		e.Value.(*entry[V]).value = value
		r.order.MoveToFront(e)
		return true
	}
	if r.order.Len() >= r.max && !r.evict(evictable) {
		return false
	}

	r.byKey[key] = r.order.PushFront(&entry[V]{key, value})
	return true
}

func (r *recent[V]) evict(evictable func(V) bool) bool {
	for e := r.order.Back(); e != nil; e = e.Prev() {
		if old := e.Value.(*entry[V]); evictable(old.value) {
			r.order.Remove(e)
			delete(r.byKey, old.key)
			return true
		}
	}
	return false
}

// sum adds up a number of every value.
func (r *recent[V]) sum(number func(V) int) (n int) {
	for e := r.order.Front(); e != nil; e = e.Next() {
		n += number(e.Value.(*entry[V]).value)
	}
	return n
}

// dropAll removes every value that matches.
func (r *recent[V]) dropAll(matches func(V) bool) {
	for e := r.order.Front(); e != nil; {
		next := e.Next()
		if old := e.Value.(*entry[V]); matches(old.value) {
			r.order.Remove(e)
			delete(r.byKey, old.key)
		}
		e = next
	}
}

// drop removes a key if its value matches.
func (r *recent[V]) drop(key string, matches func(V) bool) {
	if e, ok := r.byKey[key]; ok && matches(e.Value.(*entry[V]).value) {
		r.order.Remove(e)
		delete(r.byKey, key)
	}
}

// sharedRecent is a recent for concurrent use, of which any value may be evicted.
type sharedRecent[V any] struct {
	mu   sync.Mutex
	kept *recent[V]
}

func newSharedRecent[V any](max int) *sharedRecent[V] {
	return &sharedRecent[V]{kept: newRecent[V](max)}
}

func (r *sharedRecent[V]) get(key string) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept.get(key)
}

func (r *sharedRecent[V]) put(key string, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept.put(key, value, func(V) bool { return true })
}
