package pace

import "time"

const (
	// busyStride bounds what a request waits for while others come.
	busyStride = 150 * time.Microsecond
	// calmStride is for a node that nobody asks: the first request to come
	// waits that long at most. Strides that short cost less than a percent, but
	// with a second processor idle the work changes processors at every pause.
	calmStride = time.Millisecond
)

// Pacer cuts one piece of work into strides. Only one goroutine uses it.
type Pacer struct {
	requests func() uint64 // that came so far
	seen     uint64
	stride   time.Duration
	last     time.Time // when the stride began
}

// New returns the pacer of a piece of work that begins now. requests returns how
// many requests have come so far.
func New(requests func() uint64) *Pacer {
	return &Pacer{requests: requests, seen: requests(), stride: busyStride, last: time.Now()}
}

// Pause gives way when a stride has passed, however often it is called. It costs
// some 50 ns when it is not yet time.
func (p *Pacer) Pause() {
	if time.Since(p.last) < p.stride {
		return
	}
	giveWay()

	p.stride = calmStride
	if now := p.requests(); now != p.seen {
		p.seen, p.stride = now, busyStride
	}
	p.last = time.Now()
}
