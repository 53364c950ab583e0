package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/anthdm/hollywood/actor"

	"tidemark/storage"
)

// What the metering actor is told.
type (
	// drain is the tick.
	drain struct{}
	// wake says that an account waits for a lease.
	wake struct{}
	// closeMeter gives the leases back; nothing is drained after it.
	closeMeter struct{ reply chan<- error } // of capacity 1
)

// Metering is the actor that drains the accounts' cells: every flush, and at
// once when an account asks for a lease. Its mailbox holds at most one of each message.
type Metering struct {
	meter  *Meter
	every  time.Duration
	log    *slog.Logger
	panics *metrics.Counter

	engine *actor.Engine
	pid    *actor.PID
	waking atomic.Bool   // a wake is in the mailbox
	quit   chan struct{} // ends the goroutine that watches the book
	closed bool
	failed bool // the last drain, logged when it changes

	// Read by others.
	mistrusted atomic.Bool  // the wall clock keeps months from turning
	draining   atomic.Int64 // since when, on the node's clock; 0: no drain is under way
	took       atomic.Int64 // the last one, in ns
}

// StartMetering starts the actor. The first drain runs before it returns, so
// that requests are admitted from then on.
func StartMetering(m *Meter, set *metrics.Set, log *slog.Logger) (*Metering, error) {
	engine, err := actor.NewEngine(actor.NewEngineConfig())
	if err != nil {
		return nil, fmt.Errorf("cannot start metering: %w", err)
	}

	r := &Metering{
		meter: m, every: time.Duration(m.flushNs), log: log, engine: engine,
		panics: set.NewCounter("tidemark_metering_panics_total"),
		pid:    actor.NewPID(engine.Address(), "metering/1"),
		quit:   make(chan struct{}),
	}

	engine.Spawn(func() actor.Receiver { return r }, "metering", actor.WithID("1"),
		actor.WithMaxRestarts(math.MaxInt32), actor.WithMiddleware(r.recovering))
	go r.watch(m.book.Wakes())
	return r, nil
}

// Receive handles one message.
func (r *Metering) Receive(c *actor.Context) {
	switch m := c.Message().(type) {
	case actor.Started, drain:
		r.tick()
	case wake:
		r.waking.Store(false)
		r.drain()
	case closeMeter:
		m.reply <- r.close()
	}
}

// recovering keeps the actor and its state after a panic: what the panic
// interrupted is still queued in the meter, and the next drain does it again.
func (r *Metering) recovering(next actor.ReceiveFunc) actor.ReceiveFunc {
	return func(c *actor.Context) {
		defer func() {
			if p := recover(); p != nil {
				r.panics.Inc()
				r.log.Error("metering panicked", "panic", p, "stack", string(debug.Stack()))
			}
		}()
		next(c)
	}
}

// tick drains and asks for the next tick, however the drain ends.
func (r *Metering) tick() {
	if r.closed {
		return
	}
	defer time.AfterFunc(r.every, func() { r.engine.Send(r.pid, drain{}) })
	r.drain()
}

func (r *Metering) drain() {
	if r.closed {
		return
	}
	now := time.Now()
	r.draining.Store(r.meter.clock.At(now))
	err := r.meter.Drain(r.meter.clock.At(now), now.UnixNano())
	r.draining.Store(0)
	r.took.Store(int64(time.Since(now)))

	switch {
	case errors.Is(err, storage.ErrNoSpace) && !r.failed:
		r.log.Error("the disk is full; requests that no durable lease covers are treated as "+
			"metering.on-full-disk says", "error", err)
	case err != nil && !r.failed:
		r.log.Error("metering fails; metered requests are refused until it recovers", "error", err)
	case err == nil && r.failed:
		r.log.Info("metering has recovered")
	}
	r.failed = err != nil
	if off := r.meter.turner.Mistrusted(); off != r.mistrusted.Load() {
		r.mistrusted.Store(off)
		r.log.Warn("the wall clock against the clock of quotas, which counts from the start: "+
			"while they are more than 5 minutes apart, and for 10 minutes after, no month turns; "+
			"a restart takes the wall clock's word", "apart", off)
	}
}

// slowDrainNs is how long a drain may take before the disk is called slow. On a
// processor that is full of long answers it may wait a second for its turn.
const slowDrainNs = int64(2 * time.Second)

// slow tells whether the last drain took long, or the one under way does.
func (r *Metering) slow(now int64) bool {
	since := r.draining.Load()
	return r.took.Load() > slowDrainNs || since != 0 && now-since > slowDrainNs
}

// close drains for the last time.
func (r *Metering) close() error {
	r.closed = true
	now := time.Now()
	return r.meter.Close(r.meter.clock.At(now), now.UnixNano())
}

// watch turns the book's wakes into messages, one at a time.
func (r *Metering) watch(wakes <-chan struct{}) {
	for {
		select {
		case <-wakes:
			if r.waking.CompareAndSwap(false, true) {
				r.engine.Send(r.pid, wake{})
			}
		case <-r.quit:
			return
		}
	}
}

// Stop writes what is left and gives the leases back, after the last request
// was settled. It may be called once.
func (r *Metering) Stop(ctx context.Context) error {
	close(r.quit)
	reply := make(chan error, 1)
	r.engine.Send(r.pid, closeMeter{reply})
	var err error
	select {
	case err = <-reply:
	case <-ctx.Done():
		return fmt.Errorf("cannot give leases back: %w", ctx.Err())
	}
	<-r.engine.PoisonCtx(ctx, r.pid).Done()
	return err
}
