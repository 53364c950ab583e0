package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/chain"
	"tidemark/actors/cluster"
	"tidemark/actors/cluster/natstest"
	"tidemark/actors/feed/sim"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// fleet is nodes that share chain 1 of a simulated market.
type fleet struct {
	t       *testing.T
	servers *natstest.Servers
	log     *generations
	every   time.Duration // between snapshots

	mu  sync.Mutex
	now time.Time // of the market
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	return &fleet{
		t: t, servers: natstest.Start(t, 1, false), log: &generations{t: t, pages: map[uint64]string{}},
		now: time.Unix(1_767_312_000+2*market.Day, 0), every: time.Hour,
	}
}

func (f *fleet) time() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fleet) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// member is a node of a fleet.
type member struct {
	*testNode
	dir     string
	wire    *natstest.Proxy // to the server
	joined  *cluster.Cluster
	spoilt  spoilt
	stopped bool
}

// join starts a node on a directory.
func (f *fleet) join(name, dir string, mayWrite bool) *member {
	f.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	m := &member{testNode: &testNode{t: f.t, set: metrics.NewSet()}, dir: dir}
	m.wire = natstest.NewProxy(f.t, f.servers.URLs()[0])
	var err error
	m.joined, err = cluster.Open(f.t.Context(), cluster.Config{
		Servers: []string{m.wire.URL()}, Name: name, Insecure: true, Metrics: m.set, Log: quiet,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if m.store, err = storage.Open(dir, storage.Options{Logger: quiet, Tee: m.tee}); err != nil {
		f.t.Fatal(err)
	}

	spec := f.spec(m.set, quiet)
	spec.Feed = downFeed{spec.Feed, &m.spoilt.feed}
	if spec.Member, err = m.joined.Chain(1, mayWrite, m.hasRoom); err != nil {
		f.t.Fatal(err)
	}
	if m.node, err = Start(Config{
		Store: m.store, Board: &m.board, Every: 20 * time.Millisecond,
		Clock: accounts.NewClock(time.Now()), Metrics: m.set, Log: quiet,
	}, []ChainSpec{spec}); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(m.stop)
	return m
}

func (f *fleet) spec(set *metrics.Set, log *slog.Logger) ChainSpec {
	f.t.Helper()
	manager := market.Address{0xaa}
	params := value.DefaultParams()
	params.Stables, params.WrappedNative = []market.Address{{1, 1}, {1, 2}, {1, 3}}, market.Address{2}
	source, err := sim.New(sim.Config{
		Chain: 1, Seed: 1, Positions: 120, Pools: 20, Days: 2, Genesis: 1_767_312_000, StartBlock: 1,
		PositionManager: manager, Stables: params.Stables, Wrapped: params.WrappedNative,
		Every: 10 * time.Millisecond, Now: f.time,
	})
	if err != nil {
		f.t.Fatal(err)
	}

	return ChainSpec{Feed: downFeed{source, new(atomic.Bool)}, SnapshotEvery: f.every, Config: chain.Config{
		Ledger: ledger.Config{Chain: 1, PositionManager: manager, Start: 1},
		Prices: params, WantsState: true, UnavailableAfter: 10 * time.Minute, Shared: true,
		Log: log, Metrics: chain.NewMetrics(set, 1),
	}}
}

// stop stops a node in order.
func (m *member) stop() {
	if m.stopped {
		return
	}
	m.stopped = true

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := m.node.Stop(ctx); err != nil {
		m.t.Errorf("cannot stop: %s", err)
	}
	m.joined.Close()
	if err := m.store.Close(); err != nil {
		m.t.Error(err)
	}
}

// kill ends a node as its death does: nothing of it is heard or written any more.
func (m *member) kill() {
	m.wire.Cut()
	m.stop()
}

// role waits for what a node does.
func (m *member) role(want rankings.Role) {
	m.t.Helper()
	m.await(1, want.String(), func(c *rankings.Chain) bool { return c.Status.Role == want })
}

// reaches waits until a node serves a generation, and returns it.
func (m *member) reaches(generation uint64) *rankings.View {
	m.t.Helper()
	what := fmt.Sprint("at generation ", generation)
	return m.await(1, what, func(c *rankings.Chain) bool {
		return served(c) && c.View.Generation >= generation
	}).View
}

// generations has the pages of every generation that a node has shown.
type generations struct {
	t     *testing.T
	pages map[uint64]string
}

// check compares what a node shows with what another one showed of that generation.
func (g *generations) check(m *member, v *rankings.View) {
	g.t.Helper()
	page, ok := pageOf(g.t, m, v)
	if !ok {
		return // its leaves are gone
	}
	if was, seen := g.pages[v.Generation]; seen && was != page {
		g.t.Fatalf("generation %d has two contents", v.Generation)
	}
	g.pages[v.Generation] = page
}

// pageOf returns all rows of all orders of a view, with their records.
func pageOf(t *testing.T, m *member, v *rankings.View) (page string, ok bool) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintln(&b, v.State.Head, v.FeedPrices)

	for by := range rankings.PositionSort(8) {
		q := rankings.PositionQuestion{Sort: by, Status: rankings.AnyStatus, IncludeRisky: true}
		s, err := rankings.SearchPositions([]*rankings.View{v}, &q)
		if err != nil {
			t.Fatal(err)
		}
		found, err := s.Page(m.store, 0, 1000)
		if err != nil {
			return "", false
		}
		for _, row := range found.Rows {
			p := v.State.Positions.At(row.Index)
			fmt.Fprintln(&b, *p, *v.State.Stats.At(p.Pool), *v.State.Pools.At(p.Pool))
		}
	}
	return b.String(), true
}

// turn takes the market on, and waits until all nodes serve what came of it.
func (f *fleet) turn(members ...*member) {
	f.t.Helper()
	last := uint64(0)
	for _, m := range members {
		if c, ok := m.board.Load().Chain(1); ok && c.View != nil {
			last = max(last, c.View.Generation)
		}
	}
	f.advance(time.Minute)
	for _, m := range members {
		f.log.check(m, m.reaches(last+1))
	}
}

// One node writes, the others serve the same; a node that joins late does too. When the
// writer ends, or is killed, another one goes on: no number is used twice, nothing that
// was shown is lost, and the old writer follows when it comes back.
func TestFleet(t *testing.T) {
	f := newFleet(t)
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	a := f.join("a", dirs[0], true)
	a.role(rankings.Writer)
	b, c := f.join("b", dirs[1], true), f.join("c", dirs[2], false)
	for range 5 {
		f.turn(a, b, c)
	}
	b.role(rankings.Follower)
	c.role(rankings.Follower)
	if err := b.node.Resync(1); err == nil || !strings.Contains(err.Error(), "the node that writes it: a") {
		t.Errorf("a command for the writer was answered %v", err)
	}

	a.stop()
	b.role(rankings.Writer)
	f.turn(b, c)
	a = f.join("a", dirs[0], true)
	f.turn(a, b, c)
	a.role(rankings.Follower)

	began := time.Now()
	b.kill()
	a.role(rankings.Writer)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("after a killed writer another wrote in %s", took)
	}
	f.turn(a, c)
	b = f.join("b", dirs[1], true)
	f.turn(a, b, c)

	if err := a.node.Resync(1); err != nil {
		t.Fatal(err)
	}
	f.turn(a, b, c)
	for i, m := range []*member{a, b, c} {
		m.stop()
		checkStore(t, dirs[i])
	}
	if used := len(f.log.pages); used < 8 {
		t.Errorf("%d generations are no test", used)
	}
}

// A generation that is pinned on a follower stays as a whole while many others follow,
// also when another node takes over.
func TestPinnedOnAFollower(t *testing.T) {
	f := newFleet(t)
	a := f.join("a", t.TempDir(), true)
	a.role(rankings.Writer)
	b, c := f.join("b", t.TempDir(), false), f.join("c", t.TempDir(), true)
	f.turn(a, b, c)
	v, want := b.pins(a, c)
	for range 4 {
		f.turn(a, b, c)
	}
	a.stop()
	c.role(rankings.Writer)
	for range 4 {
		f.turn(b, c)
	}

	if got, ok := pageOf(t, b, v); !ok || got != want {
		t.Errorf("a pinned generation is there: %t, and the same: %t", ok, got == want)
	}
}

// pins pins the generation that a node serves, which the others have heard then. The writer may
// have deleted leaves of it before it heard that: then the next one is pinned.
func (m *member) pins(others ...*member) (v *rankings.View, page string) {
	m.t.Helper()
	for range 20 {
		v = m.reaches(1)
		v.Pin()
		for _, o := range others {
			o.hears(v.Generation)
		}

		if page, ok := pageOf(m.t, m, v); ok {
			return v, page
		}
		v.Unpin()
	}

	m.t.Fatal("no generation stays until it is known to be pinned")
	return nil, ""
}

// hears waits until a node knows that another one has pinned a generation.
func (m *member) hears(generation uint64) {
	m.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		known := false
		err := m.node.command(1, func(x *chainActor) error {
			known = slices.Contains(x.member.PinnedElsewhere(), generation)
			return nil
		})
		if err != nil {
			m.t.Fatal(err)
		}
		if known {
			return
		}
	}

	m.t.Fatalf("that generation %d is pinned is not heard", generation)
}

// checkStore runs the consistency check on a stopped node's store.
func checkStore(t *testing.T, dir string) {
	t.Helper()
	s, err := storage.Open(dir, storage.Options{ReadOnly: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if findings, err := s.Check(); err != nil || len(findings) > 0 {
		t.Errorf("%q, %v", findings, err)
	}
}

// A damaged store of a follower is dropped and taken from the cluster again.
func TestFollowerTakesEverythingAgain(t *testing.T) {
	f := newFleet(t)
	a := f.join("a", t.TempDir(), true)
	a.role(rankings.Writer)
	b := f.join("b", t.TempDir(), false)
	f.turn(a, b)
	before := b.reaches(1)

	// The next cut does not fit what b has.
	err := b.node.command(1, func(x *chainActor) error {
		return x.Store.SetPlace(1, cluster.Place{Sequence: 1, Number: 1}.Encode())
	})
	if err != nil {
		t.Fatal(err)
	}
	err = b.node.command(1, func(x *chainActor) error { x.stepDown(""); return nil })
	if err != nil {
		t.Fatal(err)
	}
	after := b.await(1, "complete again", func(c *rankings.Chain) bool {
		return served(c) && c.View.Generation >= before.Generation && c.View != before
	}).View
	f.log.check(b, after)
	f.turn(a, b)
	err = b.node.command(1, func(x *chainActor) error {
		x.stepDown("")
		if c, _ := x.Board.Load().Chain(1); c.View == nil {
			return errors.New("data that is whole was dropped once more")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if b.set.GetOrCreateCounter(`tidemark_cluster_broken_total{chain="1"}`).Get() == 0 {
		t.Error("a broken cut is not counted")
	}

	// A cut that is refused again and again is first taken from any snapshot, then from one
	// that has it.
	err = b.node.command(1, func(x *chainActor) error {
		next := x.nextCut()
		for i, want := range []struct {
			drops bool
			needs uint64
		}{{false, 0}, {true, 0}, {true, next}, {true, next}} {
			x.drops, x.needs = false, 0
			x.refuseCut(errors.New("it does not fit"))
			if x.drops != want.drops || x.needs != want.needs || next == 0 {
				t.Errorf("refusal %d of cut %d: drops %t, needs %d; want %+v", i+1, next, x.drops, x.needs, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	f.turn(a, b)
}
