package pages

import (
	"sync"

	"tidemark/rankings/value"
)

// Buffer is what a list is rendered into. A page that is kept has a copy of its body.
// One that nobody keeps is sent from the buffer, which saves the copy and the memory
// for it, and the kernel reads what is still in the processor's cache.
type Buffer struct {
	body    []byte
	metrics value.Metrics
	read    uint64 // keeps the reads of readAhead
}

var buffers = sync.Pool{New: func() any { return new(Buffer) }}

// takeBuffer returns a buffer, which is the caller's until Release.
func takeBuffer() *Buffer { return buffers.Get().(*Buffer) }

// Release gives the buffer back, once the body in it is not used any more. A buffer
// that is never given back is garbage; nil is none.
func (b *Buffer) Release() {
	if b != nil && cap(b.body) <= maxBuffer {
		buffers.Put(b)
	}
}
