package endpoint

import (
	"sync"
	"time"
)

const (
	// firstDeadline bounds the first requests of an endpoint, unless its timeout
	// is shorter; leastDeadline is what a fast one is always given.
	firstDeadline = 5 * time.Second
	leastDeadline = 3 * time.Second
	// deadlineFactor is how many times longer than a recent answer a request
	// may take before it is given up.
	deadlineFactor = 8
)

// deadline learns how long a request may take: a request that hangs must cost
// seconds at an endpoint that answers in milliseconds, and a slow endpoint must
// be given its time.
type deadline struct {
	mu    sync.Mutex
	limit time.Duration // the configured timeout
	now   time.Duration
}

func newDeadline(timeout time.Duration) deadline {
	return deadline{limit: timeout, now: min(firstDeadline, timeout)}
}

func (d *deadline) get() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

// answered notes how long an answer took: the bound falls slowly.
func (d *deadline) answered(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = min(d.limit, max(leastDeadline, d.now*7/8, deadlineFactor*took))
}

// passed notes that a request was given up.
func (d *deadline) passed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = min(2*d.now, d.limit)
}
