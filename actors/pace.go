package actors

import "time"

// A refresh of a million positions is half a second of work. On a machine whose
// processors are all busy a request would wait for most of it, so the work is
// cut into strides with a pause after each.
//
// The pause is a sleep. runtime.Gosched does not do: the scheduler takes the
// work up again before it looks at the network, where the next request waits
// for the 10 ms after which the runtime looks there in any case. With one
// processor and strides of 150 us that is a p99 of 9.8 ms; a sleep of 20 us in
// its place makes it 0.3 ms.
const (
	// busyStride bounds what a request waits for while others come.
	busyStride = 150 * time.Microsecond
	// calmStride is for a node that nobody asks: the first request to come
	// waits that long at most, and the pauses cost a refresh a few percent.
	calmStride = time.Millisecond
	// breath is the shortest sleep that lets the scheduler look at the network;
	// the kernel's timers make 70 us of it.
	breath = 20 * time.Microsecond
)

// pacer cuts the work of one refresh into strides.
type pacer struct {
	requests func() uint64 // that came so far
	seen     uint64
	stride   time.Duration
	last     time.Time // when the stride began
}

func newPacer(requests func() uint64) *pacer {
	return &pacer{requests: requests, seen: requests(), stride: busyStride, last: time.Now()}
}

// pause gives way when a stride has passed, however often it is called.
func (p *pacer) pause() {
	if time.Since(p.last) < p.stride {
		return
	}
	time.Sleep(breath)

	p.stride = calmStride
	if now := p.requests(); now != p.seen {
		p.seen, p.stride = now, busyStride
	}
	p.last = time.Now()
}
