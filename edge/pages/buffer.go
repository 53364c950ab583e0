package pages

import (
	"bytes"
	"sync"

	"tidemark/rankings/value"
)

// Buffer is what lists and details are rendered into. A page that is kept has a copy of its body.
// One that nobody keeps is sent from the buffer, which saves the copy and the memory
// for it, and the kernel reads what is still in the processor's cache.
type Buffer struct {
	body    []byte
	metrics value.Metrics
	rows    []rowAhead // of the page that is being rendered
	read    uint64     // keeps the reads of readAhead
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

// keepOrLend keeps the page of a reply, whose body is in room, for later requests. A page
// that the cache would not keep is sent from the buffer.
func (p *Pages) keepOrLend(reply *Reply, key []byte, room *Buffer) {
	if !p.cache.keeps(reply.Page) {
		reply.Buffer = room
		return
	}
	reply.Body = bytes.Clone(reply.Body)
	room.Release()
	reply.key = string(key)
	p.cache.put(reply.Page)
}
