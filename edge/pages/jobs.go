package pages

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/rankings"
	"tidemark/storage/pace"
)

// jobs runs the counts and selections of new filters, and the loading of long
// histories, in the background. A request waits for its job for a limited time;
// if it gives up, a later request finds the result. Of each kind as many jobs run
// at once as there are processors, in the order in which they were asked for.
// At most limits.selections counts and as many selections are kept.
//
// A count is of the generations that it was started on. A selection is of a
// filter and its chains, so a new generation does not restart it. It pins its
// generations until it is done and for limits.freshness after that; only then
// does the next request start a new one.
type jobs struct {
	limits   *atomic.Pointer[Limits]
	board    *rankings.Board
	leaves   rankings.LeafReader
	stopping chan struct{}
	running  sync.WaitGroup
	queued   atomic.Int64

	counting, selecting, reading slots

	mu         sync.Mutex
	counts     *recent[*count]
	selections *recent[*selection]

	started, refused *metrics.Counter // selections
}

// slots limits how many jobs of a kind run at once: each holds one slot.
type slots chan struct{}

// count is the number of a filter's rows in fixed generations, and a search that
// remembers where some of these rows are.
type count struct {
	views  []*rankings.View
	done   chan struct{} // closed when soFar is final
	soFar  atomic.Uint64 // rows found, at most one more than the count goes up to
	search atomic.Pointer[rankings.Search]
}

// selection is the places of all rows of a filter, in pinned generations.
type selection struct {
	views  []*rankings.View
	done   chan struct{}    // closed when search may be read
	search *rankings.Search // nil when the selection failed
}

func newJobs(
	cfg *Config, limits *atomic.Pointer[Limits], leaves rankings.LeafReader,
) *jobs {
	kept, processors := cfg.Limits.Selections, runtime.GOMAXPROCS(0)
	j := &jobs{
		limits: limits, board: cfg.Board, leaves: leaves, stopping: make(chan struct{}),
		counting: make(slots, processors), selecting: make(slots, processors),
		reading: make(slots, processors),
		counts:  newRecent[*count](kept), selections: newRecent[*selection](kept),
		started: cfg.Metrics.NewCounter(`tidemark_edge_selections_started_total`),
		refused: cfg.Metrics.NewCounter(`tidemark_edge_selections_refused_total`),
	}

	cfg.Metrics.NewGauge(`tidemark_edge_selections`, func() float64 {
		j.mu.Lock()
		defer j.mu.Unlock()
		return float64(j.selections.len())
	})
	cfg.Metrics.NewGauge(`tidemark_edge_jobs_queued`, func() float64 {
		return float64(j.queued.Load())
	})
	return j
}

// stop prevents further jobs and waits until the running ones have ended.
func (j *jobs) stop(ctx context.Context) error {
	close(j.stopping)
	ended := make(chan struct{})
	go func() {
		j.running.Wait()
		close(ended)
	}()

	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("cannot stop counts, selections and histories in time: %w", ctx.Err())
	}
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// await waits until done is closed and reports whether it is. It waits at most
// atMost; 0 or 1 ns does not wait.
func await(done <-chan struct{}, atMost time.Duration) bool {
	if atMost <= 1 || isClosed(done) {
		return isClosed(done)
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

// startJob runs work in the background as soon as a slot is free. It returns
// false when too many jobs wait already.
func (j *jobs) startJob(slot slots, work func()) bool {
	if isClosed(j.stopping) || j.queued.Load() >= maxQueued {
		return false
	}
	j.queued.Add(1)
	j.running.Go(func() {
		defer j.queued.Add(-1)
		slot <- struct{}{}
		defer func() { <-slot }()
		work()
	})
	return true
}

// findCount returns the count of a key.
func (j *jobs) findCount(key string) (*count, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.counts.get(key)
}

// startCount returns the count of a key and starts one on views, up to so many rows, if
// there is none. It returns nil when too many jobs wait already.
func (j *jobs) startCount(
	key string, views []*rankings.View, search *rankings.Search, upTo uint64,
) *count {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c, ok := j.counts.get(key); ok {
		return c
	}

	// Counts of older generations are not asked for again, and each would keep
	// its generation in memory.
	j.dropOutdated()

	c := &count{views: slices.Clone(views), done: make(chan struct{})}
	c.search.Store(search)
	if !j.startJob(j.counting, func() { j.runCount(c, search, upTo) }) {
		return nil
	}
	j.counts.put(key, c, func(*count) bool { return true })
	return c
}

// forgetCounts drops the counts of generations that are not published or pinned, and
// returns how many are left.
func (j *jobs) forgetCounts() (left int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dropOutdated()
	return j.counts.len()
}

func (j *jobs) dropOutdated() {
	j.counts.dropAll(func(c *count) bool {
		pinned := !slices.ContainsFunc(c.views, func(v *rankings.View) bool { return !v.Pinned() })
		return !pinned && isOutdated(j.board, c.views)
	})
}

// isOutdated reports whether any of views is no longer the published one.
func isOutdated(board *rankings.Board, views []*rankings.View) bool {
	snapshot := board.Load()
	return slices.ContainsFunc(views, func(v *rankings.View) bool {
		c, ok := snapshot.Chain(v.State.Chain)
		return !ok || c.View != v
	})
}

func (j *jobs) runCount(c *count, search *rankings.Search, upTo uint64) {
	defer close(c.done)
	running := search.Count(upTo)
	pacer := pace.New(j.board.Requests)
	for !running.Step(stepRows) {
		c.soFar.Store(running.Rows())
		if isClosed(j.stopping) {
			break
		}
		pacer.Pause()
	}
	c.soFar.Store(running.Rows())
	c.search.Store(running.Search())
}

// findSelection returns the selection of a key.
func (j *jobs) findSelection(key string) (*selection, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.selections.get(key)
}

// startSelection returns the selection of a key and starts one on views if there
// is none. It returns nil when too many run or wait already. views must be the
// published ones, or pinned.
func (j *jobs) startSelection(
	key string, views []*rankings.View, search *rankings.Search,
) *selection {
	j.mu.Lock()
	defer j.mu.Unlock()
	if sel, ok := j.selections.get(key); ok {
		return sel
	}

	// A finished selection may be evicted; a running one may not.
	sel := &selection{views: slices.Clone(views), done: make(chan struct{})}
	finished := func(old *selection) bool { return isClosed(old.done) }
	if !j.selections.put(key, sel, finished) {
		j.refused.Inc()
		return nil
	}

	for _, v := range views {
		v.Pin()
	}
	if !j.startJob(j.selecting, func() { j.runSelection(key, sel, search) }) {
		j.selections.drop(key, func(old *selection) bool { return old == sel })
		unpin(sel.views)
		j.refused.Inc()
		return nil
	}
	j.started.Inc()
	return sel
}

func (j *jobs) runSelection(key string, sel *selection, search *rankings.Search) {
	defer close(sel.done)
	running := search.Select()
	pacer := pace.New(j.board.Requests)
	for {
		done, err := running.Step(j.leaves, stepRows)
		if err != nil || isClosed(j.stopping) {
			j.expireSelection(key, sel) // the next request starts a new one
			return
		}
		if done {
			break
		}
		pacer.Pause()
	}

	sel.search = running.Search()
	time.AfterFunc(j.limits.Load().Freshness, func() { j.expireSelection(key, sel) })
}

// expireSelection forgets a selection and unpins its generations.
func (j *jobs) expireSelection(key string, sel *selection) {
	j.mu.Lock()
	j.selections.drop(key, func(old *selection) bool { return old == sel })
	j.mu.Unlock()
	unpin(sel.views)
}
