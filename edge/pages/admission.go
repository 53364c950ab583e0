package pages

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/edge/render"
)

// errBusy is the 503 for expensive work that would wait too long for its turn.
var errBusy = render.Busy(
	"the server is busy and this request needs much work; retry in a second", retryAfter)

// admission decides when the expensive work of requests may run: the first walk
// and count of a new filter, the selection of a deep page, charts of years. Cached
// pages, seeks and results of earlier work never come here, so that a flood of
// new filters does not delay them.
//
// As many works run at once as there are processors, those of one account on all
// but one of them. The others wait, each account in turn (start-time fair
// queueing): an account that has many works waiting delays its own, and hardly
// those of others. A work that would wait longer than limits.queue is refused at
// once, by an estimate from how long the last ones took, and one that does wait
// longer is refused then.
type admission struct {
	limit             time.Duration
	slots, perAccount int
	now               func() time.Time
	refused, waited   *metrics.Counter

	mu       sync.Mutex
	running  int
	waiting  []*waiter // ascending by start
	accounts map[uint64]*accountWork
	clock    int64         // the start of the work that began last
	average  time.Duration // of the works that ended, newer ones weighing more
}

// accountWork is the works of an account that run or wait.
type accountWork struct {
	running, waiting int
	next             int64 // the earliest start of its next work
}

// waiter is a work that waits for its turn.
type waiter struct {
	account uint64
	start   int64 // its place in the fair order; among equals the first comes first
	begun   chan struct{}
}

func newAdmission(limit time.Duration, set *metrics.Set) *admission {
	slots := runtime.GOMAXPROCS(0)
	return &admission{
		limit: limit, slots: slots, perAccount: max(1, slots-1), now: time.Now,
		refused:  set.NewCounter(`tidemark_edge_refused_total{reason="busy"}`),
		waited:   set.NewCounter(`tidemark_edge_queue_waits_total`),
		accounts: map[uint64]*accountWork{},
	}
}

// work is an admitted work. The zero work was not admitted and ends nothing.
type work struct {
	admission *admission
	account   uint64
	begun     time.Time
}

// begin waits for the turn of a work of an account. It returns errBusy if that
// takes too long; otherwise the caller must end the work.
func (a *admission) begin(account uint64) (work, *render.Error) {
	a.mu.Lock()
	of := a.accounts[account]
	if of == nil {
		of = new(accountWork)
		a.accounts[account] = of
	}

	// Whoever waits now is not allowed to begin, so none of them comes before this
	// work if it is.
	start := max(a.clock, of.next)
	if a.mayRun(of) {
		of.next = start + 1
		a.markRunning(of, start)
		a.mu.Unlock()
		return work{a, account, a.now()}, nil
	}

	if a.limit <= 1 || a.estimate(of, start) > a.limit {
		a.forget(account, of)
		a.mu.Unlock()
		a.refused.Inc()
		return work{}, errBusy
	}
	w := &waiter{account, start, make(chan struct{})}
	of.next = start + 1
	of.waiting++
	at, _ := slices.BinarySearchFunc(a.waiting, start+1, func(w *waiter, s int64) int {
		return int(w.start - s)
	})
	a.waiting = slices.Insert(a.waiting, at, w)
	a.mu.Unlock()

	a.waited.Inc()
	if !await(w.begun, a.limit) && a.giveUp(w) {
		a.refused.Inc()
		return work{}, errBusy
	}
	return work{a, account, a.now()}, nil
}

// mayRun reports whether one more work of an account may run now.
func (a *admission) mayRun(of *accountWork) bool {
	return a.running < a.slots && of.running < a.perAccount
}

func (a *admission) markRunning(of *accountWork, start int64) {
	a.running++
	of.running++
	a.clock = max(a.clock, start)
}

// estimate returns how long a work would wait: for the works before it, and for
// those of its own account.
func (a *admission) estimate(of *accountWork, start int64) time.Duration {
	before := 0
	for _, w := range a.waiting {
		if w.start <= start {
			before++
		}
	}

	var all, own int
	if a.running >= a.slots {
		all = (before + 1) * a.perAccount
	}
	if of.running >= a.perAccount {
		own = (of.waiting + 1) * a.slots
	}
	return a.average * time.Duration(max(all, own)) / time.Duration(a.slots*a.perAccount)
}

// giveUp takes a waiter out of the queue. It returns false if its turn has come
// meanwhile.
func (a *admission) giveUp(w *waiter) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.Index(a.waiting, w)
	if at < 0 {
		return false
	}

	a.waiting = slices.Delete(a.waiting, at, at+1)
	of := a.accounts[w.account]
	of.waiting--
	a.forget(w.account, of)
	return true
}

// averageWeight is the share of the newest work in the average, as a divisor.
const averageWeight = 8

// end ends a work and lets the next ones begin.
func (w work) end() {
	a := w.admission
	if a == nil {
		return
	}
	took := a.now().Sub(w.begun)

	a.mu.Lock()
	defer a.mu.Unlock()
	a.average += (took - a.average) / averageWeight
	a.running--
	of := a.accounts[w.account]
	of.running--
	a.forget(w.account, of)

	// Begin waiting works in order, leaving out accounts that run as many as they
	// may.
	for at := 0; at < len(a.waiting) && a.running < a.slots; {
		next := a.waiting[at]
		of := a.accounts[next.account]
		if !a.mayRun(of) {
			at++
			continue
		}
		a.waiting = slices.Delete(a.waiting, at, at+1)
		of.waiting--
		a.markRunning(of, next.start)
		close(next.begun)
	}
}

// forget drops an account without works.
func (a *admission) forget(account uint64, of *accountWork) {
	if of.running == 0 && of.waiting == 0 {
		delete(a.accounts, account)
	}
}
