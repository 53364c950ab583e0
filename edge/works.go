package edge

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/rankings"
)

// works are the counts and selections that filters nobody asked before need.
// They run beside the requests that want them, so that a request may stop
// waiting and a later one find the result. As many of each kind run at a time
// as there are processors, the others in the order in which they came; at most
// limits.selections of each kind are kept.
//
// A count belongs to the generations that it was started on. A selection
// belongs to a filter and its chains: newer generations do not restart it, it
// pins its own until it is done and for limits.freshness after, and only then
// does the next request start another.
type works struct {
	limits   *Limits
	board    *rankings.Board
	leaves   rankings.LeafReader
	stopping <-chan struct{}
	wait     *sync.WaitGroup
	queued   atomic.Int64

	counting, selecting, reading turns

	mu         sync.Mutex
	counts     *recent[*count]
	selections *recent[*selection]
	copies     *recent[*copied]
}

// turns holds a token for each piece of work of a kind that runs.
type turns chan struct{}

// count is the number of a filter's rows in fixed generations, and what else
// is known of where they are.
type count struct {
	views  []*rankings.View
	done   chan struct{} // closed when soFar is final
	soFar  atomic.Uint64 // rows, at most limits.total-cap + 1
	search atomic.Pointer[rankings.Search]
}

// selection is where every row of a filter stands, in its own generations.
type selection struct {
	views  []*rankings.View
	done   chan struct{} // closed when the rest is final
	search *rankings.Search
	err    error
}

// copied is a deep page as it was last served.
type copied struct {
	*page
	asOf int64
}

func newWorks(s *Server) *works {
	max := s.limits.Selections
	return &works{
		limits: s.limits, board: s.cfg.Board, leaves: s.leaves,
		stopping: s.stopping, wait: &s.background,
		counting: make(turns, runtime.GOMAXPROCS(0)), selecting: make(turns, runtime.GOMAXPROCS(0)),
		reading: make(turns, runtime.GOMAXPROCS(0)),
		counts:  newRecent[*count](max), selections: newRecent[*selection](max),
		copies: newRecent[*copied](maxCopies),
	}
}

func finished(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// await waits for done, at most for a time; 0 or 1 ns does not wait.
func await(done <-chan struct{}, atMost time.Duration) bool {
	if atMost <= 1 || finished(done) {
		return finished(done)
	}
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// counted returns the count of a key, if there is one.
func (w *works) counted(key string) (*count, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts.get(key)
}

// count returns the count of a key, which it starts on views if there is none;
// nil when too much is running already. The counts of older generations go:
// nobody asks for them again, and each would keep its generation in memory.
func (w *works) count(key string, views []*rankings.View, search *rankings.Search) *count {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := w.counts.get(key); ok {
		return c
	}
	w.counts.dropAll(func(c *count) bool { return w.outdated(c.views) })
	c := &count{views: slices.Clone(views), done: make(chan struct{})}
	c.search.Store(search)
	if !w.begin(w.counting, func() { w.runCount(c, search) }) {
		return nil
	}
	w.counts.put(key, c, func(*count) bool { return true })
	return c
}

// outdated reports whether a view of views is not the published one.
func (w *works) outdated(views []*rankings.View) bool {
	snapshot := w.board.Load()
	return slices.ContainsFunc(views, func(v *rankings.View) bool {
		c, ok := snapshot.Chain(v.State.Chain)
		return !ok || c.View != v
	})
}

// begin starts work beside the request when its turn comes; false when too
// much waits already.
func (w *works) begin(turn turns, work func()) bool {
	if finished(w.stopping) || w.queued.Load() >= maxQueued {
		return false
	}
	w.queued.Add(1)
	w.wait.Go(func() {
		defer w.queued.Add(-1)
		turn <- struct{}{}
		defer func() { <-turn }()
		work()
	})
	return true
}

func (w *works) runCount(c *count, search *rankings.Search) {
	defer close(c.done)
	running := search.Count(uint64(w.limits.TotalCap))
	for !running.Step(stepRows) {
		c.soFar.Store(running.Rows())
		if finished(w.stopping) {
			break
		}
		runtime.Gosched()
	}
	c.soFar.Store(running.Rows())
	c.search.Store(running.Search())
}

// selected returns the selection of a key, if there is one.
func (w *works) selected(key string) (*selection, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.selections.get(key)
}

// selection returns the selection of a key, which it starts on views if there
// is none; nil when too much is running already. views must be current.
func (w *works) selection(key string, views []*rankings.View, search *rankings.Search) *selection {
	w.mu.Lock()
	defer w.mu.Unlock()
	if sel, ok := w.selections.get(key); ok {
		return sel
	}
	sel := &selection{views: slices.Clone(views), done: make(chan struct{})}
	mayGo := func(old *selection) bool { return finished(old.done) }
	if !w.selections.put(key, sel, mayGo) {
		return nil
	}
	for _, v := range views {
		v.Pin()
	}
	if !w.begin(w.selecting, func() { w.runSelection(key, sel, search) }) {
		w.selections.drop(key, func(old *selection) bool { return old == sel })
		sel.unpin()
		return nil
	}
	return sel
}

func (sel *selection) unpin() {
	for _, v := range sel.views {
		v.Unpin()
	}
}

func (w *works) runSelection(key string, sel *selection, search *rankings.Search) {
	defer close(sel.done)
	running := search.Select()
	for {
		done, err := running.Step(w.leaves, stepRows)
		if err != nil || finished(w.stopping) {
			sel.err = err
			w.expire(key, sel)
			return
		}
		if done {
			break
		}
		runtime.Gosched()
	}
	sel.search = running.Search()
	time.AfterFunc(w.limits.Freshness, func() { w.expire(key, sel) })
}

// expire lets go of a selection and of its generations.
func (w *works) expire(key string, sel *selection) {
	w.mu.Lock()
	w.selections.drop(key, func(old *selection) bool { return old == sel })
	w.mu.Unlock()
	sel.unpin()
}

// keepCopy keeps a deep page as the last served.
func (w *works) keepCopy(key string, p *page, asOf int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.copies.put(key, &copied{p, asOf}, func(*copied) bool { return true })
}

// lastCopy returns a deep page as it was last served.
func (w *works) lastCopy(key string) (*copied, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.copies.get(key)
}
