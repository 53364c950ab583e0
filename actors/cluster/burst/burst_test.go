package burst

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/cluster"
	"tidemark/actors/cluster/natstest"
	"tidemark/storage/accounts"
)

// session is a node with a book of one account, and clients that ask it.
type session struct {
	t      *testing.T
	wire   *natstest.Proxy
	limits *Limits
	book   *accounts.Book
	key    *accounts.Key
	clock  accounts.Clock
	took   *times
	asks   atomic.Bool
	work   sync.WaitGroup
	cancel context.CancelFunc
}

// times are when requests were admitted, by any node.
type times struct {
	mu   sync.Mutex
	list []time.Time
}

func startSession(t *testing.T, name string, servers *natstest.Servers, took *times) *session {
	t.Helper()
	s := &session{t: t, took: took, clock: accounts.NewClock(time.Now())}
	s.wire = natstest.NewProxy(t, servers.URLs()[0])
	joined, err := cluster.Open(t.Context(), cluster.Config{
		Servers: []string{s.wire.URL()}, Name: name, Insecure: true, Metrics: metrics.NewSet(),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}

	now := s.clock.At(time.Now())
	s.book = accounts.NewBook(accounts.NewTurner(now, 0).Step(now, now))
	s.key = s.book.Key(s.book.Add(&accounts.Issued{
		ID: 1, Prefix: accounts.PrefixOf("tm_srv_000000000"), Cell: accounts.NewCell(1, "medium", 0, accounts.NewTerms(&medium, false)),
	}, 0, 0))
	s.limits, err = Open(joined, Config{
		Book: s.book, Clock: s.clock, Remember: func(int64) error { return nil },
		Metrics: metrics.NewSet(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}

	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	s.work.Go(func() { s.limits.Run(ctx) })
	s.work.Go(func() { s.ask(ctx) })
	t.Cleanup(func() {
		s.stop()
		joined.Close()
	})
	return s
}

// ask asks for 300 requests a second while it is to.
func (s *session) ask(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		for range 3 {
			if !s.asks.Load() {
				continue
			}
			now := time.Now()
			ticket := s.book.Admit(s.key, s.clock.At(now))

			if ticket.TakeToken() {
				s.took.mu.Lock()
				s.took.list = append(s.took.list, now)
				s.took.mu.Unlock()
			}
		}
	}
}

func (s *session) stop() {
	s.asks.Store(false)
	s.cancel()
	s.work.Wait()
}

// parts waits until a node has so many hundredths of the limit of its account. Time in which
// this process does not run, and with it none of the nodes, is not waited for.
func (s *session) parts(what string, within time.Duration, least, most int64) {
	s.t.Helper()
	const pollEvery = 20 * time.Millisecond
	for waited := time.Duration(0); ; waited += pollEvery {
		got := s.book.BurstOf(s.key.Cell)
		if hundredths := 100 * got.Parts / accounts.WholeLimit; hundredths >= least && hundredths <= most {
			return
		}
		if waited >= within {
			s.t.Fatalf("%s: a node has %+v after %s; want %d to %d hundredths", what, got, within, least, most)
		}
		time.Sleep(pollEvery)
	}
}

// Nodes share a limit over NATS: one that is alone has all of it, and a busy one has what
// the others do not need.
func TestLimitsOverNATS(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for nodes that listen")
	}
	t.Parallel() // it waits, as the next one does
	servers := natstest.Start(t, 1, false)
	took := &times{}
	a := startSession(t, "a", servers, took)
	a.parts("alone", 10*time.Second, 100, 100)
	b, c := startSession(t, "b", servers, took), startSession(t, "c", servers, took)
	for _, s := range []*session{a, b, c} {
		s.parts("of three", 10*time.Second, 33, 33)
		if !s.limits.Ready() {
			t.Error("a node with a part is not ready")
		}
	}

	a.asks.Store(true)
	a.parts("busy", 6*time.Second, 95, 100)
	b.asks.Store(true)
	b.parts("busy too", 6*time.Second, 45, 50)
	a.asks.Store(false)
	b.parts("busy alone", 6*time.Second, 95, 100)
	took.holdLimit(t, a, b, c)
}

// A node that is cut off, or stops, leaves the others theirs.
func TestLimitsOfSilentNodesOverNATS(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for nodes that are silent")
	}
	t.Parallel()
	servers := natstest.Start(t, 1, false)
	took := &times{}
	a, b, c := startSession(t, "a", servers, took), startSession(t, "b", servers, took), startSession(t, "c", servers, took)
	b.asks.Store(true)
	b.parts("busy alone", 15*time.Second, 95, 100)

	b.wire.Cut()
	a.asks.Store(true)
	b.parts("cut off", 10*time.Second, 33, 33)
	a.parts("beside a node that is cut off", 15*time.Second, 60, 67)
	b.wire.Heal()
	b.parts("healed", 15*time.Second, 45, 50)
	b.stop()
	a.parts("beside a node that has stopped", 6*time.Second, 95, 100)
	took.holdLimit(t, a, c)
}

// holdLimit stops nodes and checks that at no time more was admitted than the limit allows.
func (took *times) holdLimit(t *testing.T, nodes ...*session) {
	t.Helper()
	for _, s := range nodes {
		s.stop()
	}

	allowed := int(float64(medium.Burst+10*medium.RequestsPerSecond) * 1.1)
	for first, last := 0, 0; last < len(took.list); last++ {
		for took.list[last].Sub(took.list[first]) > 10*time.Second {
			first++
		}
		if n := last - first + 1; n > allowed {
			t.Fatalf("%d requests were admitted in 10 s; cannot exceed %d", n, allowed)
		}
	}
}

// FuzzAnnouncement holds that whatever is read is within its bounds, and is sent as it was read.
func FuzzAnnouncement(f *testing.F) {
	sent := &Announcement{
		Node: "a", Process: "p", Number: 7, Nodes: 3, Rest: 11, Peers: []Heard{{"b", "q", 5, 3, 400}},
		Accounts: []Claim{{1, 0, 0}, {1 << 40, 2500, accounts.WholeLimit}},
	}
	text, body := sent.encode()
	f.Add(text, body)
	f.Fuzz(func(t *testing.T, text string, body []byte) {
		a, err := decodeAnnouncement(text, body)
		if err != nil {
			return
		}

		for _, c := range a.Accounts {
			if c.Need < 0 || c.Need > maxNeed || c.Parts < 0 || c.Parts > accounts.WholeLimit {
				t.Errorf("%+v", c)
			}
		}
		if got, err := decodeAnnouncement(a.encode()); err != nil || !reflect.DeepEqual(got, a) {
			t.Errorf("%+v is read as %+v, %v", a, got, err)
		}
	})
}

// An announcement comes as it was sent, and one that is damaged is refused.
func TestAnnouncement(t *testing.T) {
	sent := &Announcement{
		Node: "a", Process: "p", Number: 7, Nodes: 3, Rest: 11, Peers: []Heard{{"b", "q", 5, 3, 400}},
		Accounts: []Claim{{1, 0, 0}, {1 << 40, 2500, accounts.WholeLimit}},
	}
	text, body := sent.encode()
	if got, err := decodeAnnouncement(text, body); err != nil || !reflect.DeepEqual(got, sent) {
		t.Errorf("%+v, %v; want %+v", got, err, sent)
	}

	f := func(text string, body []byte) {
		t.Helper()
		if got, err := decodeAnnouncement(text, body); err == nil {
			t.Errorf("%q, %x is %+v", text, body, got)
		}
	}
	f(text, body[:len(body)-1])
	f(text, append(body, 1, 2))
	f(text, []byte{1, 0, 0xff, 0xff, 0xff, 0x7f})
	f("{", nil)
	f(`{"Node": "a"}`, nil)
	f(`{"Node": "a", "Nodes": 2, "Rest": -1}`, nil)
	f(fmt.Sprintf(`{"Node": "a", "Nodes": 2, "Rest": %d}`, accounts.WholeLimit+1), nil)
}

// A node that leaves is no longer counted, also one that this node has not heard since its
// start; there is always this node.
func TestLeavingNodes(t *testing.T) {
	m := newModel(t, 9, medium)
	m.remembered["a"] = 3
	s := m.start("a").shares
	f := func(what, node string, leaves bool, want int64) {
		t.Helper()
		s.Hear(&Announcement{Node: node, Process: node, Nodes: 3, Leaves: leaves}, m.now)
		if got := s.Nodes(); got != want {
			t.Errorf("%s: %d nodes; want %d", what, got, want)
		}
	}

	f("one was heard", "b", false, 3)
	f("it leaves", "b", true, 2)
	f("one that was not heard leaves", "c", true, 1)
	f("it leaves twice", "c", true, 1)
	f("one comes", "d", false, 2)
}

// A node tells which nodes share the limits, how long each has been silent, and what each
// has of an account; one that has died is silent until it is forgotten.
func TestStatusOfNodes(t *testing.T) {
	m := newModel(t, 10, medium)
	for _, name := range []string{"b", "a", "c"} {
		m.start(name)
	}
	m.needs = func(node string, _ int) float64 { return map[string]float64{"a": 30, "b": 30}[node] }
	m.run(20 * time.Second)
	s := m.node("a").shares
	f := func(what string, silent ...string) {
		t.Helper()
		if got := s.silentNodes(m.now); !slices.Equal(got, silent) {
			t.Errorf("%s: %q are silent; want %q", what, got, silent)
		}
		for i, n := range s.status(m.now).Nodes {
			isSilent := n.Silent >= time.Duration(silentAfter)
			if n.Name != string("abc"[i]) || (n.Silent == 0) != (i == 0) || isSilent != slices.Contains(silent, n.Name) {
				t.Errorf("%s: node %d is %+v", what, i, n)
			}
		}
	}

	f("all live")
	st := s.status(m.now)
	if len(st.Accounts) != 1 || st.Accounts[0].Cell.ID != 1 {
		t.Fatalf("the accounts are %+v", st.Accounts)
	}
	used := st.Accounts[0]
	whole := used.Parts["a"] + used.Parts["b"] + used.Parts["c"]
	if len(used.Parts) != 3 || used.Parts["a"] < 0.3 || used.Parts["b"] < 0.3 || whole > 1.001 {
		t.Errorf("the parts are %v", used.Parts)
	}
	if used.Needed < 45 || used.Needed > 75 {
		t.Errorf("%.1f requests a second are asked; want 60", used.Needed)
	}

	m.kill("c")
	m.kill("b")
	m.run(time.Duration(silentAfter) + time.Second)
	f("two have died", "b", "c")
	if got := s.status(m.now).Accounts[0].Needed; got < 20 || got > 40 {
		t.Errorf("beside dead nodes %.1f requests a second are asked; want 30", got)
	}
	m.run(time.Duration(forgetAfter))
	if got := s.silentNodes(m.now); len(got) > 0 || s.Nodes() != 1 {
		t.Errorf("a minute later %q are silent of %d nodes", got, s.Nodes())
	}
}

// A node says once which nodes have fallen silent or come back, and remembers how many there
// are when it has a part itself.
func TestNotedNodes(t *testing.T) {
	m := newModel(t, 11, medium)
	for _, name := range []string{"a", "b", "c"} {
		m.start(name)
	}
	m.run(20 * time.Second)
	var log strings.Builder
	var remembered []int64
	var refuses error
	l := &Limits{shares: m.node("a").shares, cluster: &cluster.Cluster{}, cfg: Config{
		Log: slog.New(slog.NewTextHandler(&log, nil)),
		Remember: func(n int64) error {
			remembered = append(remembered, n)
			return refuses
		},
	}}
	f := func(what, said string, want ...int64) {
		t.Helper()
		log.Reset()
		remembered = nil
		l.noteNodes(m.now)
		if (said == "") != (log.Len() == 0) || !strings.Contains(log.String(), said) || !slices.Equal(remembered, want) {
			t.Errorf("%s: it says %q and remembers %v; want %q, %v", what, log.String(), remembered, said, want)
		}
	}

	f("without a part", "")
	l.ready.Store(true)
	refuses = fmt.Errorf("the disk is full")
	f("a disk that is full", "cannot remember how many nodes the cluster has", 3)
	refuses = nil
	f("with a part", "", 3)
	f("as before", "")

	m.kill("c")
	m.run(time.Duration(silentAfter) + time.Second)
	f("one is silent", "a node of the cluster is not heard; a part of burst limits is left to it\" node=c")
	f("it still is", "")
	m.run(time.Duration(forgetAfter))
	f("it counts as dead", "is heard again, or counts as dead\" node=c nodes=2", 2)

	l.shares.Hear(&Announcement{Node: "a", Process: "another", Nodes: 2}, m.now)
	f("another process of its name", "another process has the name of this node")
	f("it still has", "")
}

// The servers are asked while a node starts, and while another one is silent.
func TestWantsServers(t *testing.T) {
	m := newModel(t, 12, medium)
	m.start("a")
	m.start("b")
	s := m.node("a").shares
	f := func(what string, want bool) {
		t.Helper()
		if got := s.WantsServers(m.now); got != want {
			t.Errorf("%s: it wants to know of the servers: %t", what, got)
		}
	}

	f("at the start", true)
	if s.Ready() {
		t.Error("a node that has just started has a part")
	}
	m.run(20 * time.Second)
	f("beside another", false)
	if !s.Ready() {
		t.Error("a node has no part after 20 s")
	}
	m.kill("b")
	m.run(time.Duration(silentAfter) + time.Second)
	f("beside a silent one", true)
	m.run(time.Duration(forgetAfter))
	f("alone", false)
}

// What cannot be read of another node is counted, and changes nothing.
func TestHearsOthers(t *testing.T) {
	m := newModel(t, 13, medium)
	m.start("a")
	set := metrics.NewSet()
	l := &Limits{shares: m.node("a").shares, failures: set.NewCounter("f"), cfg: Config{
		Log: slog.New(slog.DiscardHandler), Clock: accounts.NewClock(time.Now()),
	}}

	l.hear("{", nil)
	if n := l.failures.Get(); n != 1 || l.shares.Nodes() != 1 {
		t.Errorf("%d failures, %d nodes after an announcement that cannot be read", n, l.shares.Nodes())
	}

	l.hear((&Announcement{Node: "b", Process: "p", Number: 1, Nodes: 2}).encode())
	if n := l.failures.Get(); n != 1 || l.shares.Nodes() != 2 {
		t.Errorf("%d failures, %d nodes after one that can", n, l.shares.Nodes())
	}
}

// A node that opens its end has no part yet, hears the others, and has gauges of what it
// knows of them.
func TestOpenOverNATS(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	servers, set := natstest.Start(t, 1, false), metrics.NewSet()
	join := func(name string) *cluster.Cluster {
		c, err := cluster.Open(t.Context(), cluster.Config{
			Servers: servers.URLs(), Name: name, Insecure: true, Metrics: metrics.NewSet(), Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	_, n, _ := alone(t, medium)
	a := join("a")
	l, err := Open(a, Config{
		Book: n.book, Clock: accounts.NewClock(time.Now()), Known: 3, Metrics: set, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	f := func(name string, want int) {
		t.Helper()
		var out strings.Builder
		set.WritePrometheus(&out)
		if line := fmt.Sprintf("tidemark_cluster_%s %d\n", name, want); !strings.Contains(out.String(), line) {
			t.Errorf("%s is not among\n%s", line, &out)
		}
	}

	if got := n.book.RestOfBurst(); got.Parts != 0 || l.Ready() || l.remembered != 3 {
		t.Errorf("before it has listened it has %+v, and remembers %d nodes", got, l.remembered)
	}
	f("nodes", 3)
	b := join("b")
	for _, name := range []string{"b", "c", "d"} {
		text, body := (&Announcement{Node: name, Process: "p", Number: 1, Nodes: 2}).encode()
		if err := b.Tell(subject, header, text, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Tell(subject, header, "{", nil); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); l.failures.Get() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the others are not heard")
		}
	}
	f("nodes", 4)
	f("burst_failures_total", 1)

	// What is too large to be told is counted.
	l.tell(&Announcement{Node: "a", Nodes: 1, Accounts: make([]Claim, 1<<20)})
	f("burst_failures_total", 2)

	// What it knows of the servers is forgotten when it need not ask.
	l.mu.Lock()
	l.shares.listening, l.shares.known = false, 0
	l.silent, l.shares.accounts = make([]string, 2), map[uint64]*share{1: {cell: n.cells[0], need: 1e6}}
	l.mu.Unlock()
	f("nodes_silent", 2)
	f("burst_accounts", 1)
	l.reached.Store(true)
	l.cfg.Remember = func(int64) error { return nil }
	if l.tick(t.Context()); l.reached.Load() || l.asking.Load() || l.shares.number != 1 {
		t.Errorf("it believes that the servers answer: %t, and asks them: %t", l.reached.Load(), l.asking.Load())
	}

	// While a node is silent, they are asked.
	l.shares.peers["b"].heardAt -= silentAfter
	if l.tick(t.Context()); l.ready.Load() {
		t.Error("a node without a part says that it is ready")
	}
	l.work.Wait()
	if !l.reached.Load() || l.asking.Load() {
		t.Errorf("the servers answer: %t, and are asked: %t", l.reached.Load(), l.asking.Load())
	}

	// One question at a time is enough.
	l.reached.Store(false)
	l.asking.Store(true)
	l.askServers(t.Context())
	if l.work.Wait(); l.reached.Load() {
		t.Error("the servers are asked once more while they are asked")
	}
	l.asking.Store(false)
	l.reached.Store(true)
	l.shares.rest.held = 1
	if l.tick(t.Context()); !l.ready.Load() || l.shares.reachedSince == 0 {
		t.Error("a node with a part is not ready, or has not noted that the servers answer")
	}
	l.work.Wait()

	// Without a connection nothing is told, which is no failure.
	a.Close()
	l.tell(l.shares.Leave())
	f("burst_failures_total", 2)
}
