package actors

import (
	"context"
	"errors"
	"time"

	"tidemark/actors/feed"
)

// startFetch asks the feed for the next step. There is one call per epoch at a time.
// It waits until a cancelled call of an earlier epoch has returned.
func (a *chainActor) startFetch() {
	cursor, epoch := a.chain.Cursor(), a.epoch
	a.runCancellable(func(ctx context.Context) {
		a.feedMu.Lock()
		defer a.feedMu.Unlock()
		var step feed.Step
		err := guarded(func() (err error) {
			step, err = a.feed.Next(ctx, cursor)
			return err
		})
		a.send(fetched{epoch, step, err})
	})
}

// runCancellable runs what this epoch waits for in the background, until the next one cancels it.
func (a *chainActor) runCancellable(wait func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(a.ctx)
	a.cancelFetch = cancel
	a.work.Go(func() {
		defer cancel()
		wait(ctx)
	})
}

// handleStep takes what the feed said into the chain, and asks for what comes next.
func (a *chainActor) handleStep(step feed.Step, err error) {
	if err != nil {
		a.handleFeedError(err)
		return
	}
	a.failing = time.Time{}

	step.Confirmed, step.SpanConfirmed = a.onClock(step.Confirmed), a.onClock(step.SpanConfirmed)
	waiting := a.chain.Waiting()
	a.beginPace()
	if err := a.chain.Advance(step, a.now()); err != nil && !a.handleRefused(step, err) {
		return
	}

	if waiting && !a.chain.Waiting() || a.chain.Backlog() > maxBacklog {
		if a.readOnly() {
			a.parked = true
			return
		}
		if !a.publish() {
			return
		}
	}
	a.startFetch()

	if a.publishesNow() {
		a.handleTick()
	}
}

// handleFeedError decides what follows when the feed could not say what comes next.
func (a *chainActor) handleFeedError(err error) {
	if errors.Is(err, feed.ErrTooDeep) {
		a.chain.Stop(err)
		return
	}
	if fault := new(panicked); errors.As(err, &fault) {
		a.panics()
		a.Log.Error("the feed of a chain panicked", "panic", fault.value, "stack", string(fault.stack))
		a.recoverFrom(err) // after a pause: a feed waits before it fails, but not before it panics
		return
	}

	a.chain.FeedFailed(err, a.now())
	a.warnFeedFailed(err)
	if a.yields() {
		a.stepDown("its feed fails")
		return
	}
	a.startFetch()
}

// maxBacklog is how many events may wait for a commit while a chain catches up. With a
// smaller number the same records are written more often. With a larger one less of the work
// overlaps: nothing is written while the first events are applied, and none are applied while
// the last commit is written. In the storage package's BenchmarkEvents, 16,000 take a tenth
// more time, and write 7 % less to the log.
const maxBacklog = 7_000

// publishesNow reports whether a block need not wait for the tick: it is the chain's
// head, and the last refresh was long enough ago. A block on the way to the head does
// wait, since its page would be stale until the next refresh.
func (a *chainActor) publishesNow() bool {
	s := a.chain.Status()
	return a.chain.Unpublished() && s.LastIndexed.Number >= s.ChainHead.Number &&
		!a.chain.Waiting() && !a.readOnly() && !time.Now().Before(a.refreshAt)
}

// warnEvery is the minimum time between two warnings about a failing feed.
const warnEvery = 5 * time.Minute

// warnFeedFailed logs that the feed failed, and how often since the last warning.
func (a *chainActor) warnFeedFailed(err error) {
	a.feedFailures++
	if time.Since(a.warned) < warnEvery {
		return
	}
	a.Log.Warn("feed failed; retrying", "error", err, "failures", a.feedFailures)
	a.warned, a.feedFailures = time.Now(), 0
}
