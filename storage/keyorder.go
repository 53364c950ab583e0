package storage

import (
	"bytes"
	"sync/atomic"
	"unsafe"

	"github.com/cockroachdb/pebble/v2"
)

// keyOrder is Pebble's own order of keys, which also lets a commit pause. To insert the ten
// thousand keys of a refresh takes Pebble ten milliseconds, and to compare keys is all that it
// asks for meanwhile.
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

// comparisonsPerPause is of some five keys to thirty: those of neighbours are compared least,
// and leaves are among them, whose memory the system has to provide.
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
