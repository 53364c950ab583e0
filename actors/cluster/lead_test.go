package cluster

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// elected waits until a chain is told to write.
func elected(t *testing.T, ch *Chain) {
	t.Helper()
	if e := next(t, ch); !e.Elect {
		t.Fatalf("got %+v; want to be elected", e)
	}
}

// One node writes. When it ends, another one does at once; when it is cut off or dead,
// within five seconds.
func TestAnotherWrites(t *testing.T) {
	s := newServers(t, 1, false)
	a, reader := s.member("a", true), s.member("reader", false)
	elected(t, a)
	b := s.member("b", true)
	ends(t, b)
	ends(t, reader)
	if name, err := b.Writer(t.Context()); name != "a" || err != nil {
		t.Errorf("the writer is %q, %v; want a", name, err)
	}

	began := time.Now()
	a.c.Close()
	elected(t, b)
	if took := time.Since(began); took > 2*leadEvery {
		t.Errorf("after a writer that ended in order the next one came in %s", took)
	}

	c := s.member("c", true)
	ends(t, c)
	began = time.Now()
	b.c.nc.Close() // without a word
	elected(t, c)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("after a dead writer the next one came in %s", took)
	}
	if b.Leads() {
		t.Error("a node that is cut off believes that it writes")
	}
	ends(t, reader)
}

// A node whose disk has no room leads no longer, and is no candidate before it has room again.
func TestWithoutRoom(t *testing.T) {
	s := newServers(t, 1, false)
	var full atomic.Bool
	a := memberOn(t, s.join("a"), 1, true, func() bool { return !full.Load() })
	elected(t, a)
	b := s.member("b", true)
	ends(t, b)

	full.Store(true)
	if a.Leads() {
		t.Error("a node without room leads")
	}
	began := time.Now()
	elected(t, b)
	if took := time.Since(began); took > 3*leadEvery {
		t.Errorf("after a writer without room the next one came in %s", took)
	}

	b.c.Close()
	ends(t, a)
	time.Sleep(2 * leadEvery)
	if name, err := a.Writer(t.Context()); name != "" || err != nil {
		t.Errorf("the writer is %q, %v; want none, without room", name, err)
	}
	full.Store(false)
	elected(t, a)
}

// in returns the time after a while, as what the wall clock is set to does not change it.
func in(d time.Duration) *time.Time {
	at := time.Now().Add(d)
	return &at
}

// A node leads for its time, also when the wall clock is set meanwhile.
func TestLeadsWhenTheClockIsSet(t *testing.T) {
	ch := unconnected()
	f := func(left time.Duration, setBy time.Duration, leads bool) {
		t.Helper()
		until := in(left)
		// The first word of a time has its seconds above 30 bits of nanoseconds.
		*(*uint64)(unsafe.Pointer(until)) -= uint64(int64(setBy/time.Second) << 30)
		ch.lead.until.Store(until)
		ch.behindSince.Store(until)
		ch.writerState.Store(&writerState{Cut: 9, at: time.Now()})
		if ch.Leads() != leads {
			t.Errorf("%s before its end, the clock set by %s, it leads: %t", left, setBy, !leads)
		}
		if lag := time.Duration(ch.Status().LagMillis) * time.Millisecond; !leads && (lag+left).Abs() > time.Second {
			t.Errorf("the clock set by %s, it is %s behind; want %s", setBy, lag, -left)
		}
	}

	for _, setBy := range []time.Duration{0, time.Hour, -time.Hour} {
		f(leadValid, setBy, true)
		f(-leadValid, setBy, false)
	}
}

// A node leads when it is the first to say so, wakes who waits for it then, and goes on while
// it says so again. While no answer comes it leads until its time is over.
func TestCampaign(t *testing.T) {
	s := newServers(t, 1, false)
	a, b := s.member("a", false), s.member("b", false)
	f := func(what string, ch *Chain, ready, leads, wakes bool, writer string) {
		t.Helper()
		ch.lead.ready.Store(ready)
		began := time.Now()
		ch.campaignOnce(t.Context())
		woken := len(ch.wake) > 0
		if woken {
			<-ch.wake
		}
		if ch.Leads() != leads || woken != wakes || leads != (ch.lead.revision > 0) {
			t.Errorf("%s: it leads: %t, by change %d, and wakes: %t", what, ch.Leads(), ch.lead.revision, woken)
		}
		if until := ch.lead.until.Load(); leads && until.Before(began.Add(leadValid)) {
			t.Errorf("%s: it leads for %s; want %s", what, until.Sub(began), leadValid)
		}
		if name, err := b.Writer(t.Context()); name != writer || err != nil {
			t.Errorf("%s: the writer is %q, %v; want %q", what, name, err, writer)
		}
	}

	f("not ready", a, false, false, false, "")
	f("the first", a, true, true, true, "a")
	f("given back at once", a, false, false, false, "")
	f("the first again", a, true, true, true, "a")
	f("beside another", b, true, false, false, "a")
	f("again", a, true, true, false, "a")
	a.lead.until.Store(new(time.Time))
	f("after its time", a, true, true, false, "a")
	f("given back", a, false, false, false, "")
	f("the other", b, true, true, true, "b")
	f("beside the other", a, true, false, false, "b")
	b.lead.revision--
	f("it was replaced", b, true, false, false, "b")

	f("it is given back by nobody", a, false, false, false, "b")
	b.lead.revision = 1
	b.lead.until.Store(in(time.Minute))
	b.lead.ready.Store(true)
	b.c.nc.Close()
	if b.campaignOnce(t.Context()); !b.Leads() || b.lead.revision != 1 {
		t.Errorf("without an answer it leads: %t, by change %d", b.Leads(), b.lead.revision)
	}
	if b.Resign(); b.Leads() || b.lead.ready.Load() {
		t.Error("it has given the leadership back, and leads")
	}
}

// What the writer tells wakes who waits for it.
func TestNextIsWoken(t *testing.T) {
	s := newServers(t, 1, false)
	ch := s.member("a", false)
	if cap(ch.wake) != 1 {
		t.Fatalf("%d wakes are kept; want 1", cap(ch.wake))
	}

	for range 4 {
		ends(t, ch)
		go func() {
			time.Sleep(20 * time.Millisecond)
			ch.hear(beat("{}", "news"))
		}()
		if e, err := ch.Next(t.Context()); err != nil || string(e.Beat) != "news" {
			t.Errorf("it hears %+v, %v", e, err)
		}
	}
}

// A node that starts a chain again gives it to others until it has followed to the end.
func TestStartGivesTheLeadBack(t *testing.T) {
	s := newServers(t, 1, false)
	a := s.member("a", true)
	elected(t, a)
	b := s.member("b", true)
	ends(t, b)
	if err := a.Start(nil); err != nil {
		t.Fatal(err)
	}
	if a.Leads() {
		t.Error("a chain that starts again is led")
	}
	elected(t, b)
}

// Three servers that sync are accepted, and carry on when one of them ends. Anything
// less is refused, and the message says what to do.
func TestServersThatMayLoseCutsAreRefused(t *testing.T) {
	f := func(s *servers, want string, change func(*Config)) {
		t.Helper()
		cfg := s.config("a")
		cfg.Insecure = false
		change(&cfg)
		c, err := Open(t.Context(), cfg)
		var unreached *Unreached
		for tries := 1; errors.As(err, &unreached) && tries < 4; tries++ { // on a busy machine
			c, err = Open(t.Context(), cfg)
		}
		if err == nil {
			c.Close()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Open answers %v; want %q", err, want)
		}
	}

	single := newServers(t, 1, true)
	single.sync = false
	single.join("first") // it makes a stream with one copy
	f(single, "is kept on 1 servers; want 3, or --insecure-cluster", func(*Config) {})

	three := newServers(t, 3, true)
	f(three, "", func(*Config) {})
	f(three, "was not asked whether it syncs; name its monitoring address in cluster.monitoring",
		func(cfg *Config) { cfg.Monitoring = cfg.Monitoring[1:] })
	lax := newServers(t, 1, false)
	f(three, "does not sync what it acknowledges; set jetstream { sync_interval: always }",
		func(cfg *Config) { cfg.Monitoring[1] = lax.config("x").Monitoring[0] })

	a, b := three.member("a", false), three.member("b", false)
	takes(t, b, []byte("one"), appends(t, a, []byte("one")))
	leader := a.c.stream.CachedInfo().Cluster.Leader
	for _, one := range three.All {
		if one.Name() == leader {
			one.Shutdown()
		}
	}
	takes(t, b, []byte("two"), appends(t, a, []byte("two")))
}

// Without servers nothing comes, and a start says whom it cannot reach.
func TestNoServers(t *testing.T) {
	s := newServers(t, 1, false)
	cfg := s.config("a")
	b := s.member("b", false)
	ends(t, b)
	s.All[0].Shutdown()
	if _, err := Open(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), cfg.Servers[0]) {
		t.Errorf("Open answers %v", err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if e, err := b.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without servers there is %+v, %v", e, err)
	}
}

// A writer leaves the chain to a node that offers to write it: one that may, has everything, and
// has not just left it itself. Where there is none it stays the writer.
func TestYield(t *testing.T) {
	s := newServers(t, 1, false)
	a, reader := s.member("a", true), s.member("reader", false)
	elected(t, a)
	ends(t, reader)
	if a.Yield() || !a.Leads() {
		t.Error("a writer leaves the chain to a node that only reads")
	}
	var full atomic.Bool
	b := memberOn(t, s.join("b"), 1, true, func() bool { return !full.Load() })
	if a.Yield() {
		t.Error("a writer leaves the chain to a node that has not followed to the end")
	}
	ends(t, b)
	full.Store(true)
	if a.Yield() {
		t.Error("a writer leaves the chain to a node without room")
	}
	full.Store(false)

	began := time.Now()
	if !a.Yield() || a.Leads() {
		t.Fatal("a writer does not leave the chain to a node that would write")
	}
	ends(t, a) // ready again, at once
	elected(t, b)
	if took := time.Since(began); took > 3*leadEvery {
		t.Errorf("after a writer that left the chain the next one came in %s", took)
	}
	if b.Yield() || !b.Leads() {
		t.Error("a chain goes back to the node that has just left it")
	}

	b.c.Close()
	elected(t, a)
	before := time.Now().Add(-offerAgain)
	a.lead.yielded.Store(&before)
	c := s.member("c", true)
	ends(t, c)
	if !a.Yield() {
		t.Error("a writer does not leave the chain for a second time")
	}
}
