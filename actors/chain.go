package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/anthdm/hollywood/actor"

	"tidemark/actors/chain"
	"tidemark/actors/feed"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// The pause before a chain is restored doubles from first to last, so that a
// fault that stays costs little and one that passes is soon forgotten.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// paceFactor is how many times its own length a refresh is followed by rest,
// so that refreshing takes at most a sixth of a core.
const paceFactor = 5

// chainActor drives one chain.Chain.
type chainActor struct {
	config chain.Config
	store  *storage.Store
	board  *rankings.Board
	feed   feed.Feed
	every  time.Duration
	clock  accounts.Clock
	turn   chan struct{} // one chain refreshes at a time
	log    *slog.Logger
	panics func() // counts one
	send   func(any)
	// readOnly tells whether the store takes no writes for want of disk space.
	readOnly func() bool

	ctx    context.Context // of the whole life
	cancel context.CancelFunc
	work   sync.WaitGroup // goroutines, which read the store

	chain *chain.Chain
	epoch uint64
	pause time.Duration // before the next restore
	// parked: nothing is fetched before what was fetched can be committed.
	parked bool

	ticks     uint64    // how many were set; the newest counts
	refreshAt time.Time // when the next refresh is allowed

	mended mending // since the last comparison that found no difference

	feedFailures int       // since the last warning
	warned       time.Time // when that was

	asking sync.Mutex         // held around a question to the feed
	forget context.CancelFunc // ends the question of this epoch
}

// frozenFeed is a feed whose head may never move.
type frozenFeed interface {
	FrozenHead() (head market.Head, frozen bool)
}

// Receive handles one message.
func (a *chainActor) Receive(c *actor.Context) {
	switch m := c.Message().(type) {
	case actor.Started:
		a.open()
	case open:
		a.current(m.epoch, a.open)
	case loaded:
		a.current(m.epoch, func() { a.loaded(m.err) })
	case fetched:
		a.current(m.epoch, func() { a.fetched(m.step, m.err) })
	case refresh:
		if m.tick == a.ticks {
			a.current(m.epoch, a.refresh)
		}
	case verified:
		a.verified(m.result)

	// Between two other messages, so that a command finds the chain at rest.
	case command:
		m.reply <- m.do(a)
	}
}

// current drops what was meant for the chain before it was opened anew.
func (a *chainActor) current(epoch uint64, do func()) {
	if epoch == a.epoch && a.ctx.Err() == nil {
		do()
	}
}

// recovering is the middleware that turns a panic into a restore.
func (a *chainActor) recovering(next actor.ReceiveFunc) actor.ReceiveFunc {
	return func(c *actor.Context) {
		defer func() {
			if r := recover(); r != nil {
				a.panics()
				a.log.Error("chain panicked", "chain", a.config.Ledger.Chain,
					"panic", r, "stack", string(debug.Stack()))
				a.restore()
			}
		}()
		next(c)
	}
}

// abandon starts a new epoch: what is on its way is dropped when it arrives.
func (a *chainActor) abandon() {
	a.epoch++
	a.parked = false
	if a.forget != nil {
		a.forget()
	}
}

// restore opens the chain from the store again, after a pause.
func (a *chainActor) restore() {
	a.abandon()
	a.pause = min(max(2*a.pause, firstPause), lastPause)
	epoch := a.epoch
	time.AfterFunc(a.pause, func() { a.send(open{epoch}) })
}

func (a *chainActor) open() {
	config := a.config
	config.Opened = a.now()
	opened, err := chain.Open(config, a.store, a.board)
	if err != nil {
		a.log.Error("cannot open a chain", "chain", a.config.Ledger.Chain, "error", err)
		a.restore()
		return
	}
	a.chain = opened

	// A feed is asked once the records are loaded. Until then a generation of a
	// head that never moves would be as old as its last commit.
	if f, ok := a.feed.(frozenFeed); ok {
		if head, frozen := f.FrozenHead(); frozen {
			opened.Confirm(head, time.Now())
		}
	}

	epoch := a.epoch
	a.work.Go(func() {
		err := guarded(func() error { return opened.Load(func() bool { return a.ctx.Err() != nil }) })
		a.send(loaded{epoch, err})
	})
}

// now is the time on the node's clock, by which readers judge how old data is.
func (a *chainActor) now() time.Time { return a.clock.Time(time.Now()) }

// onClock moves a feed's time to the node's clock; zero stays zero.
func (a *chainActor) onClock(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return a.clock.Time(t)
}

// guarded turns a panic into an error, for work outside of Receive.
func guarded(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return do()
}

func (a *chainActor) loaded(err error) {
	if err != nil {
		a.log.Error("cannot load a chain", "chain", a.config.Ledger.Chain, "error", err)
		a.restore()
		return
	}
	a.chain.Complete()
	a.fetch()
	a.tick(a.every)
}

// fetch asks the feed what comes next. One question of an epoch is on its way
// at a time, and waits until the one that an earlier epoch dropped has ended.
func (a *chainActor) fetch() {
	cursor, epoch := a.chain.Cursor(), a.epoch
	ctx, cancel := context.WithCancel(a.ctx)
	a.forget = cancel

	a.work.Go(func() {
		defer cancel()
		a.asking.Lock()
		defer a.asking.Unlock()
		var step feed.Step
		err := guarded(func() (err error) {
			step, err = a.feed.Next(ctx, cursor)
			return err
		})
		a.send(fetched{epoch, step, err})
	})
}

func (a *chainActor) fetched(step feed.Step, err error) {
	if errors.Is(err, feed.ErrTooDeep) {
		a.chain.Stop(err)
		return
	}
	if err != nil {
		a.chain.FeedFailed(a.now())
		a.warn(err)
		a.fetch()
		return
	}

	step.Confirmed, step.SpanConfirmed = a.onClock(step.Confirmed), a.onClock(step.SpanConfirmed)
	waiting := a.chain.Waiting()
	if err := a.chain.Advance(step, a.now()); err != nil {
		if !a.refused(step, err) {
			return
		}
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
	a.fetch()

	// A block that comes after a quiet spell need not wait for the tick.
	if a.chain.Unpublished() && !a.chain.Waiting() && !a.readOnly() && !time.Now().Before(a.refreshAt) {
		a.refresh()
	}
}

// warnEvery is how often a feed that fails is said to.
const warnEvery = 5 * time.Minute

// warn says that the feed failed, and later how often since.
func (a *chainActor) warn(err error) {
	a.feedFailures++
	if time.Since(a.warned) < warnEvery {
		return
	}
	a.log.Warn("feed failed; it is asked until it answers", "chain", a.config.Ledger.Chain,
		"error", err, "failures", a.feedFailures)
	a.warned, a.feedFailures = time.Now(), 0
}

// maxBacklog is how many events may wait for a commit while a chain catches
// up: enough to make batches cheap, little enough to keep them small.
const maxBacklog = 20_000

func (a *chainActor) refresh() {
	if a.readOnly() {
		a.tick(min(a.every, watchEvery))
		return
	}

	started, fresh := time.Now(), a.chain.Unpublished()
	if (a.parked || !a.chain.Waiting()) && !a.publish() {
		return
	}

	if a.parked {
		a.parked = false
		a.fetch()
	}
	rest := max(a.every, paceFactor*time.Since(started))
	if fresh {
		a.refreshAt = time.Now().Add(rest)
	}
	a.tick(rest)
}

// publish refreshes the chain when its turn comes; if it cannot, the chain is
// restored and publish reports false.
func (a *chainActor) publish() bool {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-a.ctx.Done():
		return false
	}

	if err := a.chain.Refresh(a.now, new(pacer).pause); err != nil {
		a.log.Error("cannot refresh a chain", "chain", a.config.Ledger.Chain, "error", err)
		if errors.Is(err, storage.ErrReadOnly) {
			a.pause = 0 // the disk is no fault of the chain's
		}
		a.restore()
		return false
	}
	a.pause = 0
	return true
}

// stride is how long a refresh works before it gives way to readers.
const stride = 150 * time.Microsecond

// pacer gives way once a stride, however often it is asked to.
type pacer struct{ last time.Time }

func (p *pacer) pause() {
	if time.Since(p.last) >= stride {
		runtime.Gosched()
		p.last = time.Now()
	}
}

func (a *chainActor) tick(after time.Duration) {
	a.ticks++
	epoch, tick := a.epoch, a.ticks
	time.AfterFunc(after, func() { a.send(refresh{epoch, tick}) })
}

// resync is an operator's command: whatever is on its way is dropped.
func (a *chainActor) resync() error {
	if a.chain == nil || !a.chain.Loaded() {
		return errors.New("the chain's records are still loading; try again in a few seconds")
	}
	a.abandon()
	if err := a.chain.Resync(); err != nil {
		a.restore()
		return err
	}
	a.fetch()
	a.tick(a.every)
	return nil
}
