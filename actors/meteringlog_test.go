package actors

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/bench/process"
	"tidemark/storage/accounts"
	"tidemark/storage/accountstore"
)

// The operator reads once when usage cannot be written, why, and once when it can be
// again; and the same of a wall clock that is off.
func TestMeteringLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, vfs.NewMem(), time.Now())
		var broken atomic.Pointer[error]
		flush := r.meter.store.flush
		r.meter.store.flush = func(f *accountstore.Flush) error {
			if err := broken.Load(); err != nil {
				return *err
			}
			return flush(f)
		}
		k := r.account("acme", "free")
		var out process.Output
		m, err := StartMetering(r.meter, metrics.NewSet(), slog.New(slog.NewTextHandler(&out, nil)))
		if err != nil {
			t.Fatal(err)
		}

		f := func(says ...string) {
			t.Helper()
			time.Sleep(5 * testFlush)
			synctest.Wait()
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if out.String() == "" {
				lines = nil
			}
			ok := len(lines) == len(says)
			for i := 0; ok && i < len(says); i++ {
				ok = strings.Contains(lines[i], says[i])
			}
			if !ok {
				t.Errorf("the log has %q; want %q", lines, says)
			}
			out.Reset()
		}

		f()
		r.reg.Book().RequestLease(k.Cell)
		fault := errors.New("broken")
		broken.Store(&fault)
		r.reg.Book().Touch(k, r.meter.clock.At(time.Now()))
		f(`level=ERROR msg="cannot write usage; metered requests are refused until it works again"`)
		f()
		broken.Store(nil)
		f(`level=INFO msg="metering has recovered"`)

		full := fmt.Errorf("no room: %w", accountstore.ErrNoSpace)
		broken.Store(&full)
		time.Sleep(time.Minute)
		r.reg.Book().Touch(k, r.meter.clock.At(time.Now()))
		f(`level=ERROR msg="the disk is full; metering.on-full-disk applies`)
		f()
		broken.Store(nil)
		f(`level=INFO msg="metering has recovered"`)
		f()

		if err := m.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A node that was charged in a later month than its clock has says so when it starts.
func TestLaterMonthIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := func(months int, says string) {
			t.Helper()
			fs := vfs.NewMem()
			before := newRig(t, fs, time.Now().AddDate(0, months, 0))
			before.spend(before.account("acme", "free"), 1, 1)
			before.pass(testFlush)
			if err := before.store.Close(); err != nil {
				t.Fatal(err)
			}

			r := newRig(t, fs, time.Now())
			var out process.Output
			m, err := StartMetering(r.meter, metrics.NewSet(), slog.New(slog.NewTextHandler(&out, nil)))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(m.Stop(t.Context()), r.store.Close()); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); strings.Count(got, "\n") != min(len(says), 1) || !strings.Contains(got, says) {
				t.Errorf("charged %d months from now, the log has %q; want %q", months, got, says)
			}
		}

		f(-1, "")
		f(0, "")
		f(2, "month=2000-03 clock=2000-01 resets=2000-04-01T00:00:00.000Z")
	})
}

// A wall clock that is off is told once, and once that it agrees again.
func TestMistrustIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, vfs.NewMem(), time.Now())
		var out bytes.Buffer
		m := &Metering{meter: r.meter, log: slog.New(slog.NewTextHandler(&out, nil))}
		f := func(what string, mistrusted bool, says string) {
			t.Helper()
			for range 3 {
				m.drain()
			}
			if got := out.String(); strings.Count(got, "\n") != min(len(says), 1) || !strings.Contains(got, says) ||
				m.mistrusted.Load() != mistrusted {
				t.Errorf("%s: mistrusted %t, the log has %q; want %t, %q", what, m.mistrusted.Load(), got, mistrusted, says)
			}
			out.Reset()
		}

		f("at the start", false, "")
		now := r.meter.clock.At(time.Now())
		r.meter.turner.Step(now, now+int64(6*time.Minute))
		f("six minutes off", true, "the wall clock is more than 5 minutes off")
		time.Sleep(9 * time.Minute)
		f("nine minutes later", true, "")
		time.Sleep(2 * time.Minute)
		f("and two more", false, "agree again")
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// After the stop nothing is admitted, also if a tick or a wake comes late.
func TestNothingAfterTheStop(t *testing.T) {
	r := newRig(t, vfs.NewMem(), time.Now())
	k := r.account("acme", "unlimited")
	m := &Metering{meter: r.meter, log: slog.New(slog.DiscardHandler)}
	r.spend(k, 1, 1)
	if err := m.close(); err != nil {
		t.Fatal(err)
	}
	m.drain()
	if v := r.spend(k, 1, 1); v != accounts.Stalled {
		t.Errorf("a request after the stop: %d; want Stalled", v)
	}
}

// A drain that took more than two seconds shows as a slow disk until the next one, and
// already while it runs.
func TestSlowDrainShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, vfs.NewMem(), time.Now())
		k := r.account("acme", "free")
		flush, takes := r.meter.store.flush, time.Duration(0)
		r.meter.store.flush = func(f *accountstore.Flush) error {
			time.Sleep(takes)
			return flush(f)
		}
		m := &Metering{meter: r.meter, log: slog.New(slog.DiscardHandler)}
		f := func(what string, want bool) {
			t.Helper()
			if got := m.slow(r.meter.clock.At(time.Now())); got != want {
				t.Errorf("%s: slow %t; want %t", what, got, want)
			}
		}

		f("at the start", false)
		takes = 3 * time.Second
		r.reg.Book().RequestLease(k.Cell)
		done := make(chan struct{})
		go func() { defer close(done); m.drain() }()
		time.Sleep(2 * time.Second)
		f("a drain that has run for two seconds", false)
		time.Sleep(time.Millisecond)
		f("a drain that has run for longer", true)
		<-done
		f("the drain is over", true)
		time.Sleep(time.Minute)
		f("and still, with no other", true)
		takes = 0
		m.drain()
		f("after the next one", false)
		time.Sleep(time.Minute)
		f("and a minute later", false)

		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// Every request after a pause is answered at once: the actor does not wait for its
// tick, however often it was woken before.
func TestEveryWakeIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, vfs.NewMem(), time.Now())
		k := r.account("acme", "free")
		m, err := StartMetering(r.meter, metrics.NewSet(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}

		for range 3 {
			time.Sleep(3*time.Second + testFlush/2)
			began := time.Now()
			ticket := r.reg.Book().Admit(k, r.meter.clock.At(began))
			for r.reg.Book().Reserve(&ticket, 1) == accounts.Unleased {
				<-r.reg.Book().RequestLease(k.Cell)
			}
			r.reg.Book().Settle(&ticket, accounts.RoutePools, 1)
			if took := time.Since(began); took != 0 {
				t.Errorf("a request after a pause waited %s; want no tick of the clock", took)
			}
		}

		if err := m.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := r.store.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
