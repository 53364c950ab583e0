package pace

import "time"

const (
	// busyStride bounds what a request waits for while others come.
	busyStride = 150 * time.Microsecond
	// calmStride is for a node that nobody asks: the first request to come
	// waits that long at most. Strides that short cost less than a percent, but
	// with a second processor idle the work changes processors at every pause.
	calmStride = time.Millisecond
	// A node that cannot keep up with its requests would not get on with anything
	// else: each look at the network lasts until all that it finds are answered. So
	// the work has one part of the time for fairParts of its pauses. Requests are that
	// much slower then, which their own number makes slow. Three chains of a million
	// positions each refresh in a seventh of one processor's time: with less than that,
	// work would always be late, and its strides long.
	fairParts = 5
	// backgroundPatience is how much longer than their part of the time the pauses of a piece
	// of work may last in all before its strides grow. A collection of garbage, or a slow
	// answer, makes requests wait for some ten milliseconds. Work that went on in long strides
	// then would make them wait for longer.
	backgroundPatience = 100 * time.Millisecond
	// calmLooks is how many looks at the network end a pause when no requests come. The
	// work may be the first of what the scheduler finds at a look: the requests that were
	// found with it run before the next one.
	calmLooks = 2
	// maxStride bounds what follows a look during which the machine slept.
	maxStride = 50 * time.Millisecond
)

// Pacer cuts one piece of work into strides. Only one goroutine uses it.
type Pacer struct {
	requests func() uint64 // that came so far
	patience time.Duration // 0 for work that somebody waits for
	seen     uint64        // requests at the last look
	stride   time.Duration
	last     time.Time     // when the stride began
	owed     time.Duration // by how much pauses were longer than their part, at most patience
}

// New returns the pacer of a piece of work that begins now, and that somebody waits for.
// requests returns how many requests have come so far.
func New(requests func() uint64) *Pacer {
	return &Pacer{requests: requests, seen: requests(), stride: busyStride, last: time.Now()}
}

// Background is New for work that nobody waits for. It makes most of the garbage, and
// collects it in its pauses; see LimitGarbage.
func Background(requests func() uint64) *Pacer {
	p := New(requests)
	p.patience = backgroundPatience
	return p
}

// Pause gives way when a stride has passed, however often it is called, until no
// requests wait or the work has waited for its share of the time. It costs some 50 ns
// when it is not yet time.
func (p *Pacer) Pause() {
	// Work between two calls may take far longer than a stride. Requests wait as long, so
	// that their part of the time is counted from what it took.
	worked := time.Since(p.last)
	if worked < p.stride {
		return
	}
	began := time.Now()
	most := fairParts*worked + p.patience - p.owed
	p.last = began
	longest, asked := time.Duration(0), p.requestsCame()
	for calm := 0; calm < calmLooks && p.last.Sub(began) < most; calm++ {
		giveWay()
		looked := p.last
		p.last = time.Now()
		longest = max(longest, p.last.Sub(looked))
		if p.requestsCame() {
			asked, calm = true, -1
		}
	}

	p.owed = min(max(p.owed+p.last.Sub(began)-fairParts*worked, 0), p.patience)
	p.stride = strideAfter(longest, asked, p.owed == p.patience)

	if g := limit.Load(); g != nil && p.patience > 0 {
		g.collect(asked)
		p.last = time.Now()
	}
}

// Every pauses before each n-th step of a loop, of which i is the number from 0 on. A nil
// pause is none.
func Every(n, i int, pause func()) {
	if i%n == 0 && pause != nil {
		pause()
	}
}

// requestsCame reports whether requests came since the last look.
func (p *Pacer) requestsCame() bool {
	came := p.requests()
	before := p.seen
	p.seen = came
	return came != before
}

// strideAfter returns how long the stride after a pause is, by its longest look at the
// network, whether requests come, and whether the work has waited for too long. A look
// takes until all that it finds are answered: how long the pause was in all says only how
// long they came.
func strideAfter(look time.Duration, asked, late bool) time.Duration {
	switch {
	case !asked:
		return calmStride
	case !late:
		return busyStride
	}
	return max(busyStride, min(look/fairParts, maxStride))
}
