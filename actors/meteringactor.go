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

	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// Messages to the metering actor.
type (
	// drain is the regular tick.
	drain struct{}
	// wake says that a request waits for a lease.
	wake struct{}
	// closeMeter gives the leases back and ends draining.
	closeMeter struct{ reply chan<- error } // of capacity 1
)

// Metering is the actor that drains the accounts' cells every flush, and at once when
// a request waits for a lease. Its mailbox holds at most one message of each type.
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
	failed bool // the last drain failed

	// Read by other goroutines.
	mistrusted atomic.Bool  // no month may begin: the wall clock is off
	draining   atomic.Int64 // start of the running drain, on the node's clock; 0: none
	took       atomic.Int64 // length of the last drain, in ns
}

// StartMetering starts the actor. It returns after the first drain: from then on
// requests are admitted.
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
	r.tellLaterMonth(time.Now())

	engine.Spawn(func() actor.Receiver { return r }, "metering", actor.WithID("1"),
		actor.WithMaxRestarts(math.MaxInt32), actor.WithMiddleware(r.recovering))
	go r.watch(m.book.Wakes())
	return r, nil
}

// tellLaterMonth logs that the accounts are in a later month than the clock. Nobody else
// tells of it: when the month was charged the clock may have been wrong, and be right now.
func (r *Metering) tellLaterMonth(now time.Time) {
	clock, charged := accounts.MonthAt(r.meter.clock.At(now)), r.meter.book.Calendar().This
	if clock < charged.Month {
		r.log.Warn("units were charged to a later month than the clock's; a month never goes back, "+
			"so no quota resets before the end of that month",
			"month", charged.Month.String(), "clock", clock.String(), "resets", charged.Reset)
	}
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

// recovering keeps the actor and its state after a panic. The work that the panic
// interrupted is still queued in the meter, and the next drain repeats it.
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

// tick drains, and schedules the next tick even after a panic.
func (r *Metering) tick() {
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
	case errors.Is(err, accountstore.ErrNoSpace) && !r.failed:
		r.log.Error("the disk is full; metering.on-full-disk applies to requests beyond the "+
			"durable leases", "error", err)
	case err != nil && !r.failed:
		r.log.Error("cannot write usage; metered requests are refused until it works again", "error", err)
	case err == nil && r.failed:
		r.log.Info("metering has recovered")
	}
	r.failed = err != nil

	if off := r.meter.turner.Mistrusted(); off != r.mistrusted.Load() {
		r.mistrusted.Store(off)
		if off {
			r.log.Warn("the wall clock is more than 5 minutes off the node's clock; no new month " +
				"begins until they have agreed for 10 minutes; a restart adopts the wall clock")
		} else {
			r.log.Info("the wall clock and the node's clock agree again; new months may begin")
		}
	}
}

// slowDrainNs is how long a drain may take before the disk counts as slow. On
// saturated processors a drain alone may be delayed by a second.
const slowDrainNs = int64(2 * time.Second)

// slow reports whether the last drain took too long, or the running one does.
func (r *Metering) slow(now int64) bool {
	since := r.draining.Load()
	return r.took.Load() > slowDrainNs || since != 0 && now-since > slowDrainNs
}

// close drains for the last time and gives the leases back.
func (r *Metering) close() error {
	r.closed = true
	now := time.Now()
	return r.meter.Close(r.meter.clock.At(now), now.UnixNano())
}

// watch turns the book's wakes into messages, of which one is pending at a time.
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

// Stop writes the last usage and gives the leases back. Every request must have been
// settled. It may be called once.
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
