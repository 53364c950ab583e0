package endpoint

import (
	"sync"
	"time"
)

// Pauses after failures: the first is about a quarter of a second, so that a
// single lost answer costs little; the longest keeps a dead node cheap and
// still lets a healed one be noticed within seconds.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 15 * time.Second
	// calmAfter is how long after its last rest an endpoint counts as healthy.
	calmAfter = time.Minute
)

// maxRetryAfter bounds how long a provider may tell us to stay away.
const maxRetryAfter = 5 * time.Minute

// Pause returns how long to wait after so many failures in a row: doubled each
// time, of which between half and all, by rand in [0, 1).
func Pause(failures int, rand float64) time.Duration {
	d := longestPause
	if n := max(failures-1, 0); n < 8 {
		d = min(firstPause<<n, longestPause)
	}
	return d/2 + time.Duration(rand*float64(d/2))
}

// rest is how long an endpoint is left alone after it failed.
type rest struct {
	mu       sync.Mutex
	failures int // in a row
	until    time.Time
}

// Failed lets the endpoint rest, longer at every failure in a row and at least
// as long as its Retry-After asked for. It returns the failures in a row and
// the rest. Requests that were under way together fail together: while the endpoint
// rests, another failure does not count.
func (e *Endpoint) Failed(err error, rand float64) (failures int, pause time.Duration) {
	e.rest.mu.Lock()
	defer e.rest.mu.Unlock()

	now := e.clock.Now()
	if pause = e.rest.until.Sub(now); pause <= 0 {
		e.rest.failures++
		pause = Pause(e.rest.failures, rand)
	}
	if asked := AsError(err).RetryAfter; asked > 0 {
		pause = max(pause, min(asked, maxRetryAfter))
	}
	e.rest.until = now.Add(pause)
	return e.rest.failures, pause
}

// Succeeded ends a row of failures.
func (e *Endpoint) Succeeded() {
	e.rest.mu.Lock()
	defer e.rest.mu.Unlock()
	e.rest.failures = 0
}

// Calmed ends a row of failures that lies well back: an endpoint may answer
// the lightest calls and fail at all others.
func (e *Endpoint) Calmed() {
	e.rest.mu.Lock()
	defer e.rest.mu.Unlock()
	if e.clock.Now().Sub(e.rest.until) > calmAfter {
		e.rest.failures = 0
	}
}

// RestsUntil returns when the endpoint may be asked again; a time in the past
// when it does not rest.
func (e *Endpoint) RestsUntil() time.Time {
	e.rest.mu.Lock()
	defer e.rest.mu.Unlock()
	return e.rest.until
}

// healthy reports whether the endpoint's last use succeeded.
func (e *Endpoint) healthy() bool {
	e.rest.mu.Lock()
	defer e.rest.mu.Unlock()
	return e.rest.failures == 0
}
