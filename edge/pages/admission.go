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
// As many of these tasks run at once as there are processors, those of one account on all
// but one of them. The others wait in the order in which they came, each put off by
// what its account has in the queue already: an account that has many tasks waiting
// delays its own, and hardly those of others. Nobody is overtaken for longer than that.
//
// Whether a task may wait is decided at once. The cost of all tasks that run or
// wait, shared among the processors, is what a new one would wait for: if that is
// more than limits.queue, it is refused. Of that time an account may take its part,
// with one part left for an account that comes next. What was let in is never
// refused later, so that nobody waits in vain.
//
// That much a burst may wait. When tasks of several accounts have waited all the time
// for a while, it is an overload, and the queue is as much shorter as its tasks are
// shorter than longTask: otherwise each of them would wait for all of limits.queue,
// which is many times what it takes itself.
type admission struct {
	limit             time.Duration
	slots, perAccount int
	now               func() time.Time
	refused, waited   *metrics.Counter

	mu         sync.Mutex
	running    int
	waiting    []*waiter // ascending by turn
	emptyAt    time.Time // when nobody waited last
	filledAt   time.Time // when a task waited or was refused last
	overloaded bool
	accounts   map[uint64]*accountTasks
	backlog    backlog
	rates      [taskKinds]rate
}

// task is expensive work of one request: whose it is, and how much it has to read.
type task struct {
	account uint64
	kind    taskKind
	size    int // rows, or days of a chart
}

// taskKind tells tasks apart that take different times for a row.
type taskKind uint8

const (
	countTask taskKind = iota
	selectionTask
	chartTask
	ownerTask
	estimateTask
	taskKinds
)

// backlog is how much the tasks have to read that run or wait.
type backlog [taskKinds]int

// accountTasks is the tasks of an account that run or wait.
type accountTasks struct {
	running, waiting int
	backlog          backlog
}

// waiter is a task that waits for its turn.
type waiter struct {
	task
	turn  time.Time // its place in the order; among equals the first comes first
	begun chan struct{}
}

// rate is the time that tasks of a kind took lately, and what they read.
type rate struct{ nanos, size float64 }

// guesses are the rates until the first task of a kind has ended, in nanoseconds a
// row and a day.
var guesses = [taskKinds]float64{
	countTask: 100, selectionTask: 100, chartTask: 10_000, ownerTask: 60,
	estimateTask: 1000,
}

const (
	// taskBase is added to the size of each task, for what does not depend on its
	// rows: its page is read and rendered.
	taskBase = 1000
	// fading is how much of a rate remains when one more task has ended.
	fading = 7.0 / 8
	// mostSurprise bounds, as a multiple of the expected time, what one task adds to
	// a rate. One that the machine stopped in the middle says little about others.
	mostSurprise = 4
	// overloadAfter is how long tasks wait without a break in an overload, and how long
	// nobody waits after one. It is twice the default of limits.queue, in which a burst
	// that fills the queue is over.
	overloadAfter = 100 * time.Millisecond
	// longTask is what a task takes for which all of limits.queue may wait in an
	// overload. With the default of 50 ms, about 2.5 tasks that are not longer wait for
	// each processor.
	longTask = 20 * time.Millisecond
)

func newAdmission(limit time.Duration, set *metrics.Set) *admission {
	slots := runtime.GOMAXPROCS(0)
	a := &admission{
		limit: limit, slots: slots, perAccount: max(1, slots-1), now: time.Now,
		refused:  set.NewCounter(`tidemark_edge_refused_total{reason="busy"}`),
		waited:   set.NewCounter(`tidemark_edge_queue_waits_total`),
		accounts: map[uint64]*accountTasks{},
	}
	for kind, nanos := range guesses {
		a.rates[kind] = rate{nanos: nanos, size: 1}
	}
	return a
}

// cost returns how long a backlog takes on one processor.
func (a *admission) cost(b *backlog) time.Duration {
	var nanos float64
	for kind, size := range b {
		nanos += float64(size) * a.rates[kind].nanos / a.rates[kind].size
	}
	return time.Duration(nanos)
}

// add changes what tasks of a kind have to read, here and of their account.
func (a *admission) add(of *accountTasks, kind taskKind, size int) {
	a.backlog[kind] += size
	of.backlog[kind] += size
}

// admitted is a task that may run. The zero value was not admitted and ends nothing.
type admitted struct {
	admission *admission
	task
	begun time.Time
}

// begin waits for the turn of a task. It returns errBusy at once if that would take
// too long; otherwise the caller must end the task.
func (a *admission) begin(t task) (admitted, *render.Error) {
	t.size += taskBase
	a.mu.Lock()
	a.watch()
	of := a.accounts[t.account]
	if of == nil {
		of = new(accountTasks)
		a.accounts[t.account] = of
	}

	// Whoever waits now is not allowed to begin, so none of them comes before this
	// task if it is.
	if a.mayRun(of) {
		a.add(of, t.kind, t.size)
		a.markRunning(of)
		a.mu.Unlock()
		return admitted{a, t, a.now()}, nil
	}

	turn := a.now().Add(a.ownDelay(of, &t))
	at := a.place(turn)
	if !a.mayWait(of, at) {
		a.filledAt = a.now()
		a.forget(t.account, of)
		a.mu.Unlock()
		a.refused.Inc()
		return admitted{}, errBusy
	}

	a.add(of, t.kind, t.size)
	of.waiting++
	w := &waiter{t, turn, make(chan struct{})}
	a.waiting = slices.Insert(a.waiting, at, w)
	a.mu.Unlock()

	a.waited.Inc()
	<-w.begun
	return admitted{a, t, a.now()}, nil
}

// mayRun reports whether one more task of an account may run now.
func (a *admission) mayRun(of *accountTasks) bool {
	return a.running < a.slots && of.running < a.perAccount
}

// mayWait reports whether a task of an account, before which so many of those that
// wait come, would wait within the limits, and its account has not used up its part.
func (a *admission) mayWait(of *accountTasks, ahead int) bool {
	if a.limit <= 1 {
		return false
	}
	room := a.limit * time.Duration(a.slots)
	parts := time.Duration(len(a.accounts) + 1)
	all, own := a.cost(&a.backlog), a.cost(&of.backlog)
	if all > room || own > room/parts {
		return false
	}
	if !a.overloaded || a.backlog == of.backlog {
		return true // a burst, or tasks of an account that delays nobody else
	}

	mean := all / time.Duration(a.running+len(a.waiting))
	short := time.Duration(float64(room) * min(1, float64(mean)/float64(longTask)))
	return mean*time.Duration(a.running+ahead) <= short && own <= short/parts
}

// watch tells an overload from a burst.
func (a *admission) watch() {
	now := a.now()
	if len(a.waiting) > 0 {
		a.filledAt = now
	} else {
		a.emptyAt = now
	}

	switch {
	case now.Sub(a.emptyAt) >= overloadAfter:
		a.overloaded = true
	case now.Sub(a.filledAt) >= overloadAfter:
		a.overloaded = false
	}
}

// place returns how many of the tasks that wait come before a turn.
func (a *admission) place(turn time.Time) int {
	at, _ := slices.BinarySearchFunc(a.waiting, turn, func(w *waiter, turn time.Time) int {
		if w.turn.After(turn) {
			return 1
		}
		return -1
	})
	return at
}

// ownDelay returns how long the tasks of an account take, its newest included; nothing
// if that is the only one.
func (a *admission) ownDelay(of *accountTasks, newest *task) time.Duration {
	if of.running+of.waiting == 0 {
		return 0
	}
	own := of.backlog
	own[newest.kind] += newest.size
	return a.cost(&own) / time.Duration(a.perAccount)
}

func (a *admission) markRunning(of *accountTasks) {
	a.running++
	of.running++
}

// end ends a task and lets the next ones begin.
func (t admitted) end() {
	a := t.admission
	if a == nil {
		return
	}
	took := a.now().Sub(t.begun)

	a.mu.Lock()
	defer a.mu.Unlock()
	a.learn(&t.task, took)
	a.running--
	of := a.accounts[t.account]
	of.running--
	a.add(of, t.kind, -t.size)
	a.forget(t.account, of)

	// Begin waiting tasks in order, leaving out accounts that run as many as they
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
		a.markRunning(of)
		close(next.begun)
	}
	a.watch()
}

// learn adds a task that has ended to the rate of its kind.
func (a *admission) learn(t *task, took time.Duration) {
	r := &a.rates[t.kind]
	expected := float64(t.size) * r.nanos / r.size
	r.nanos = fading*r.nanos + min(float64(took), mostSurprise*expected)
	r.size = fading*r.size + float64(t.size)
}

// forget drops an account without tasks.
func (a *admission) forget(account uint64, of *accountTasks) {
	if of.running == 0 && of.waiting == 0 {
		delete(a.accounts, account)
	}
}
