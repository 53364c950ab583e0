package pages

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// newTestJobs returns jobs that keep one count and one selection.
func newTestJobs() *jobs {
	limits := DefaultLimits()
	limits.Selections = 1
	var inForce atomic.Pointer[Limits]
	inForce.Store(&limits)
	cfg := &Config{Board: new(rankings.Board), Limits: limits, Metrics: metrics.NewSet()}
	return newJobs(cfg, &inForce, nil)
}

// TestAwait checks how long a request waits for a job: not at all when that is done, or
// when the limit is 0 or 1 ns.
func TestAwait(t *testing.T) {
	f := func(atMost time.Duration, ends, want time.Duration, done bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			job, begun := make(chan struct{}), time.Now()
			if ends == 0 {
				close(job)
			} else {
				time.AfterFunc(ends, func() { close(job) })
			}
			got := await(job, atMost)
			if took := time.Since(begun); got != done || took != want {
				t.Errorf("a wait of %s for a job of %s: done %t after %s; want %t after %s", atMost, ends, got, took, done, want)
			}
		})
	}

	f(0, 0, 0, true)
	f(1, 0, 0, true)
	f(time.Second, 0, 0, true)
	f(-1, time.Second, 0, false)
	f(0, time.Second, 0, false)
	f(1, time.Second, 0, false)
	f(2, time.Second, 2, false)
	f(time.Second, time.Minute, time.Second, false)
	f(time.Minute, time.Second, time.Second, true)
}

// TestJobsQueue checks how many jobs may wait, that ended ones make room, and that none
// begins after the stop.
func TestJobsQueue(t *testing.T) {
	j := newTestJobs()
	j.queued.Store(maxQueued)
	if j.startJob(j.reading, func() { t.Error("a job too many runs") }) {
		t.Errorf("%d jobs wait, and one more was accepted", maxQueued)
	}

	j.queued.Store(maxQueued - 1)
	ran := make(chan struct{})
	if !j.startJob(j.reading, func() { close(ran) }) {
		t.Errorf("%d jobs wait, and one more was refused", maxQueued-1)
	}
	<-ran
	j.running.Wait()
	if got := j.queued.Load(); got != maxQueued-1 {
		t.Errorf("%d jobs are queued after one ended; want %d", got, maxQueued-1)
	}
	close(j.stopping)
	if j.startJob(j.reading, func() { t.Error("a job runs that came after the stop") }) {
		t.Error("a job was accepted after the stop")
	}
}

// TestOutdatedCounts checks that counts of older generations are dropped when a new
// count is asked for.
func TestOutdatedCounts(t *testing.T) {
	j := newTestJobs()
	j.counts.max = 2
	view, _ := rankings.Build(nil, &market.State{Chain: 1}, 1) // not the published one
	kept, _ := rankings.Build(nil, &market.State{Chain: 1}, 2)
	kept.Pin()
	for name, of := range map[string]*rankings.View{"old": view, "pinned": kept} {
		j.counts.put(name, &count{views: []*rankings.View{of}}, func(*count) bool { return true })
	}
	j.queued.Store(maxQueued) // no job is started

	if j.startCount("new", nil, nil, 0) != nil {
		t.Error("a count was started although too many jobs wait")
	}
	if _, ok := j.findCount("old"); ok {
		t.Error("the count of an older generation is kept")
	}
	if _, ok := j.findCount("pinned"); !ok {
		t.Error("the count of a pinned generation is dropped")
	}
	if _, ok := j.findCount("new"); ok {
		t.Error("a count that was not started is kept")
	}
}

// TestRunningSelection checks that a running selection is not evicted by another
// one, and that one that cannot start is not kept.
func TestRunningSelection(t *testing.T) {
	j := newTestJobs()
	running := &selection{done: make(chan struct{})}
	j.selections.put("running", running, func(*selection) bool { return true })
	if j.startSelection("second", nil, nil) != nil {
		t.Error("a second selection was started although one is the limit")
	}
	if got, ok := j.findSelection("running"); !ok || got != running {
		t.Error("the running selection is gone")
	}

	// A finished one makes room, but no job can start.
	close(running.done)
	j.queued.Store(maxQueued)
	if j.startSelection("third", nil, nil) != nil {
		t.Error("a selection was started although too many jobs wait")
	}
	if _, ok := j.findSelection("third"); ok {
		t.Error("a selection that was not started is kept")
	}
}
