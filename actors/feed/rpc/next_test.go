package rpc

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/endpoint"
	"tidemark/rankings/market"
)

// deadStream is a subscription that never runs.
func deadStream(t *testing.T) *endpoint.HeadStream {
	t.Helper()
	s, err := endpoint.NewHeadStream("dead", "ws://dead.test", endpoint.Clock{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The head is polled at once while there is more to read, soon while the chain ends below
// the ledger, when logs are due, rarely beside a live subscription, and else one poll later.
func TestNextLook(t *testing.T) {
	_, ws := newTeller(t)
	l := subscribed(t, newNode(t, newChain(3)), ws.URL, time.Second)
	l.awaitLive()
	dead, live := deadStream(t), l.f.streams[0]
	defer func() { l.f.streams = nil }()

	now := time.Unix(1_800_000_000, 0)
	f := func(what string, want time.Duration, step feed.Step, change func(f *Feed)) {
		t.Helper()
		l.f.streams, l.f.shorter, l.f.logsDue, l.f.cfg.Poll = nil, time.Time{}, time.Time{}, time.Second
		change(l.f)
		next := l.f.nextPoll(now, &step)
		if atOnce := want < 0; next.IsZero() != atOnce || !atOnce && next.Sub(now) != want {
			t.Errorf("%s: the next look is at %s, %s later; want %s", what, next, next.Sub(now), want)
		}
	}
	head := market.Head{Number: 9}
	nothing := feed.Step{Head: head}
	all := func(f *Feed) {
		f.streams, f.shorter, f.logsDue = []*endpoint.HeadStream{live}, now, now.Add(time.Minute)
	}

	f("a span below the head", -1, feed.Step{Head: head, Span: &market.Span{To: 8}}, all)
	f("a revert", -1, feed.Step{Head: head, RevertTo: &market.Head{}}, all)
	f("a span up to the head", time.Second, feed.Step{Head: head, Span: &market.Span{To: 9}}, func(*Feed) {})
	f("nothing", time.Second, nothing, func(*Feed) {})
	f("a shorter chain", shorterPoll, nothing, all)
	f("a shorter chain, polled often", 100*time.Millisecond, nothing, func(f *Feed) {
		f.shorter, f.cfg.Poll = now, 100*time.Millisecond
	})
	f("logs that are due", time.Minute, nothing, func(f *Feed) { all(f); f.shorter = time.Time{} })
	f("logs that were due", time.Second, nothing, func(f *Feed) { f.logsDue = now })
	f("a live subscription", 5*time.Second, nothing, func(f *Feed) { f.streams = []*endpoint.HeadStream{dead, live} })
	f("a dead subscription", time.Second, nothing, func(f *Feed) { f.streams = []*endpoint.HeadStream{dead} })
}

// pausesOf calls Next and returns how long each call waited before it asked.
func (l *follower) pausesOf(calls int) (list []time.Duration) {
	sleep := l.f.cfg.Clock.Sleep
	l.f.cfg.Clock.Sleep = func(ctx context.Context, d time.Duration) error {
		list = append(list, d)
		return sleep(ctx, d)
	}
	for range calls {
		_ = l.next()
	}
	return list
}

// At the head Next waits for a poll, after a failure ever longer, but not for a block that
// will be there soon, and as long as a provider asks for.
func TestPausesOfNext(t *testing.T) {
	f := func(what string, prepare func(c *fakeChain, n *fakeNode), want ...time.Duration) {
		t.Helper()
		c := busy(30)
		n := newNode(t, c)
		l := follow(t, nil, n)
		l.to(c, 10)
		prepare(c, n)
		for i, got := range l.pausesOf(len(want)) {
			if got != want[i] {
				t.Errorf("%s: call %d waited %s; want %s", what, i, got, want[i])
			}
		}
	}
	pause := func(failures int) time.Duration { return endpoint.Pause(failures, 0.5) }

	f("at the head", func(*fakeChain, *fakeNode) {}, time.Second, time.Second)
	f("behind it", func(c *fakeChain, _ *fakeNode) {
		for range 600 {
			c.mine()
		}
	}, time.Second, 0, 0)
	f("a node that fails", func(_ *fakeChain, n *fakeNode) { n.status = http.StatusInternalServerError },
		time.Second, pause(1), pause(2), pause(3), pause(4), pause(5))
	f("a block in doubt", func(c *fakeChain, n *fakeNode) {
		n.receiptless = true
		c.mine(swapped(1))
		n.answer = func(method string, _ object) any {
			if method == "eth_getLogs" {
				return []object{}
			}
			return nil
		}
	}, time.Second, pause(1), pause(2), pause(3), time.Second, time.Second, time.Second)
	f("a chain without our blocks", func(c *fakeChain, _ *fakeNode) {
		c.cut(30)
		for range 40 {
			c.mine()
		}
	}, time.Second, pause(1), pause(2), pause(3), pause(4), pause(5))
	f("a provider that asks for it", func(_ *fakeChain, n *fakeNode) {
		n.status, n.retryAfter = http.StatusTooManyRequests, "90"
	}, time.Second, 90*time.Second)
}

// Beside a subscription a pause ends when it tells of a head, but not after a failure.
func TestWokenByASubscription(t *testing.T) {
	l := follow(t, nil, newNode(t, newChain(3)))
	l.f.streams = append(l.f.streams, deadStream(t))
	defer func() { l.f.streams = nil }()
	f := func(what string, failures int, due, want time.Duration) {
		t.Helper()
		l.f.failures, l.f.due = failures, l.clock.read().Add(due)
		select {
		case l.f.wake <- struct{}{}:
		default:
		}
		before := l.clock.slept
		if err := l.f.awaitNextPoll(t.Context()); err != nil || l.clock.slept-before != want {
			t.Errorf("%s: waited %s, %v; want %s", what, l.clock.slept-before, err, want)
		}
	}

	f("a head is told of", 0, time.Hour, 0)
	f("after a failure", 1, time.Hour, time.Hour)
	f("it is due", 0, 0, 0)

	<-l.f.wake
	l.f.due = l.clock.read().Add(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := l.f.awaitNextPoll(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("given up while it waits: %v", err)
	}
}

// A call that was given up may still be ending: the next waits for it, and can be given up.
func TestOneCallOfNext(t *testing.T) {
	n := newNode(t, newChain(3))
	l := follow(t, nil, n)
	l.f.next <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cursor := feed.Cursor{Anchors: l.anchors()}
	if _, err := l.f.Next(ctx, cursor); !errors.Is(err, context.Canceled) || n.requestCount != 0 {
		t.Errorf("%v, %d requests while another call reads", err, n.requestCount)
	}

	<-l.f.next
	l.f.due = l.clock.read().Add(time.Hour)
	if _, err := l.f.Next(ctx, cursor); !errors.Is(err, context.Canceled) || n.requestCount != 0 {
		t.Errorf("%v, %d requests after it was given up while it waits", err, n.requestCount)
	}
	for range 2 {
		if _, err := l.f.Next(t.Context(), cursor); err != nil {
			t.Error(err)
		}
	}

	defer func() {
		if got := recover(); got != "BUG: a cursor without anchors" {
			t.Errorf("a cursor without anchors: %v", got)
		}
	}()
	_, _ = l.f.Next(t.Context(), feed.Cursor{})
}

// A head confirms while it is no older than allowed.
func TestConfirmedAt(t *testing.T) {
	l, now := still(t)
	f := func(limit, age time.Duration, confirms bool) {
		t.Helper()
		l.cfg.MaxHeadAge = limit
		head := &observedHead{*wireHeaderOf(7, 7, 6), l.sources[0], *now}
		*head.Time = quantity(now.Add(-age).Unix())
		got := l.confirmedAt(head)
		if got.IsZero() == confirms || confirms && !got.Equal(*now) {
			t.Errorf("%s old, limit %s: %s; want it to confirm: %t", age, limit, got, confirms)
		}
	}

	f(0, time.Hour, true)
	f(1, time.Second, false)
	f(time.Minute, time.Second, true)
	f(time.Minute, time.Minute, true)
	f(time.Minute, time.Minute+time.Second, false)
	if got := l.Status().LastError; got != "rpc-1: head 7 is 1m1s old; more than 1m0s confirms nothing" {
		t.Errorf("the last error is %q", got)
	}
}

// An endpoint has the limits, the way and the timeout that it is configured with.
func TestConfiguredEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLine(newChain(3))
		l := overLine(t, n, func(c *Config) { c.Endpoints[0].ComputeUnitsPerSecond = 10 })
		from := time.Now()
		for range 20 {
			if _, err := l.f.observeHead(t.Context(), market.Head{}); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(from) - 21*100*time.Millisecond; took < 3*time.Second {
			t.Errorf("20 heads took %s beyond their latency", took)
		}

		l = overLine(t, n, func(c *Config) { c.Endpoints[0].Timeout = 50 * time.Millisecond })
		var number *quantity
		err := l.f.sources[0].Call(t.Context(), &number, "eth_blockNumber")
		if endpoint.KindOf(err) != endpoint.TimedOut {
			t.Errorf("an answer after 100 ms with a timeout of 50 ms: %v", err)
		}
	})

	f := func(url string, streams, sources int) {
		t.Helper()
		l, err := New(Config{Endpoints: []EndpointConfig{{URL: "http://a.test"}, {URL: url, Name: "second"}, {URL: url}}})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if len(l.streams) != streams || len(l.sources) != sources {
			t.Errorf("%s: %d subscriptions, %d sources", url, len(l.streams), len(l.sources))
		}
		names := []string{l.sources[0].Name}
		for _, s := range l.sources[1:] {
			names = append(names, s.Name)
		}
		for _, s := range l.streams {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != "rpc-1 second rpc-3" {
			t.Errorf("%s: the names are %s", url, got)
		}
	}
	f("https://b.test", 0, 3)
	f("ws://127.0.0.1:1", 2, 1)
	f("wss://127.0.0.1:1", 2, 1)
}

// connection counts itself while it is open.
type connection struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *connection) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// Close frees the connections and ends what reads ahead.
func TestClose(t *testing.T) {
	var open atomic.Int64
	way := &http.Transport{DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, to)
		open.Add(1)
		return &connection{Conn: c, open: &open}, err
	}}

	l := follow(t, func(c *Config) { c.Endpoints[0].Transport = way }, newNode(t, busy(700)))
	if err := l.next(); err != nil || l.f.ahead == nil || open.Load() == 0 {
		t.Fatalf("%v, reads ahead %t, %d connections", err, l.f.ahead != nil, open.Load())
	}
	ahead := l.f.ahead
	if err := l.f.Close(); err != nil || ahead.ctx.Err() == nil || l.f.ahead != nil {
		t.Errorf("%v: what reads ahead ends: %t", err, ahead.ctx.Err() != nil)
	}
	for end := time.Now().Add(5 * time.Second); open.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections are open", open.Load())
		}
	}
}

// What was read ahead is not trusted once the ledger refused it: its anchors are looked up, and
// the refused blocks are read with proof.
func TestRefusedFirstBlock(t *testing.T) {
	c := busy(700)
	n := newNode(t, c)
	f := func(what, problem string, refused uint64, hash market.Hash) feed.Step {
		t.Helper()
		l := follow(t, nil, n)
		at := market.Head{Hash: hash, Time: c.blocks[0].time}
		l.f.ahead = l.f.newAhead(at)
		if _, err := l.f.headFor(t.Context(), market.Head{}); err != nil {
			t.Fatal(err)
		}
		step, err := l.f.Next(t.Context(), feed.Cursor{Anchors: []market.Head{at}, Refused: refused})
		fails(t, what, err, problem)
		return step
	}

	other := market.Hash{7}
	f("another chain", "block 0 is "+c.blocks[0].hash.String()+", the ledger has ", 0, other)
	f("another chain, of which a block was refused", "no anchor from block 0 to 0 is on the chain", 1, other)
	if s := f("the chain", "", 0, c.blocks[0].hash).Span; s == nil || s.To != 100 {
		t.Errorf("%+v; want the blocks 1 to 100", s)
	}
	if step := f("a refused block", "", 1, c.blocks[0].hash); step.Span == nil || step.Span.To != 1 || !step.Proven {
		t.Errorf("%+v; want block 1 with proof", step)
	}
}
