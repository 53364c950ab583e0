package pages

import "container/list"

// recent keeps the values that were used last, at most max of them. It has no
// lock of its own.
type recent[V any] struct {
	max   int
	byKey map[string]*list.Element
	order *list.List // of entry[V], the last used first
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

// put keeps a value; when there are too many, the last used of those that may
// go does. It reports false, and keeps nothing, when none may.
func (r *recent[V]) put(key string, value V, mayGo func(V) bool) bool {
	if e, ok := r.byKey[key]; ok {
		e.Value.(*entry[V]).value = value
		r.order.MoveToFront(e)
		return true
	}
	if r.order.Len() >= r.max && !r.evict(mayGo) {
		return false
	}
	r.byKey[key] = r.order.PushFront(&entry[V]{key, value})
	return true
}

func (r *recent[V]) evict(mayGo func(V) bool) bool {
	for e := r.order.Back(); e != nil; e = e.Prev() {
		if old := e.Value.(*entry[V]); mayGo(old.value) {
			r.order.Remove(e)
			delete(r.byKey, old.key)
			return true
		}
	}
	return false
}

// dropAll forgets every value that is says.
func (r *recent[V]) dropAll(is func(V) bool) {
	for e := r.order.Front(); e != nil; {
		next := e.Next()
		if old := e.Value.(*entry[V]); is(old.value) {
			r.order.Remove(e)
			delete(r.byKey, old.key)
		}
		e = next
	}
}

// drop forgets a key if it still has the value that is says.
func (r *recent[V]) drop(key string, is func(V) bool) {
	if e, ok := r.byKey[key]; ok && is(e.Value.(*entry[V]).value) {
		r.order.Remove(e)
		delete(r.byKey, key)
	}
}
