package storage

import (
	"bytes"
	"sync/atomic"
	"unsafe"

	"github.com/cockroachdb/pebble/v2"
)

// keyOrder is Pebble's own order of keys, which also lets a commit pause. Pebble takes ten
// milliseconds to insert the ten thousand keys of a refresh, and calls nothing of the store's
// meanwhile but the comparison of keys.
type keyOrder struct {
	insertion atomic.Pointer[insertion] // under way; nil: none is, or none that pauses
}

// insertion is a batch whose keys are inserted. Pebble compares them where they are in the
// batch, by which they are told from those that others compare at the same time.
type insertion struct {
	from, to uintptr // where the batch is in memory
	compared int
	pause    func()
}

// comparisonsPerPause is what five to ten keys take, and up to thirty that follow each other.
// Among these are leaves, which are long and for which the system has to provide memory.
const comparisonsPerPause = 24

// comparer returns the order for Pebble, which names the default one: a store can be opened
// with either.
func (o *keyOrder) comparer() *pebble.Comparer {
	c := *pebble.DefaultComparer
	c.Compare = o.compare
	return &c
}

func (o *keyOrder) compare(a, b []byte) int {
	if at := o.insertion.Load(); at != nil && (at.has(a) || at.has(b)) {
		if at.compared++; at.compared%comparisonsPerPause == 0 {
			at.pause()
		}
	}
	return bytes.Compare(a, b)
}

func (i *insertion) has(key []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(key)))
	return i.from <= at && at < i.to
}

// pausing lets a batch pause that is applied until end is called. Of two that are applied at
// once the later one does not pause, and a nil pause is none.
func (o *keyOrder) pausing(batch *pebble.Batch, pause func()) (end func()) {
	repr := batch.Repr()
	from := uintptr(unsafe.Pointer(unsafe.SliceData(repr)))
	i := &insertion{from: from, to: from + uintptr(len(repr)), pause: pause}
	if pause == nil || !o.insertion.CompareAndSwap(nil, i) {
		return func() {}
	}
	return func() { o.insertion.Store(nil) }
}
