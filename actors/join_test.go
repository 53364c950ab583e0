package actors

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/cluster"
	"tidemark/rankings"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// counts returns a counter of chain 1.
func (m *member) counts(name string) uint64 {
	return m.set.GetOrCreateCounter(fmt.Sprintf(`tidemark_cluster_%s_total{chain="1"}`, name)).Get()
}

// purged waits until the first cuts of the stream are gone.
func (m *member) purged(f *fleet) {
	m.t.Helper()
	ch := m.node.chains[1].member
	for range 200 {
		if has, err := ch.Beginning(m.t.Context()); err == nil && has == cluster.LaterCut {
			return
		}
		f.turn(m)
	}
	m.t.Fatal("the first cuts stay")
}

// A node joins although the first cuts are gone, and so does one that was away for longer
// than cuts are kept. Both go on as the others.
func TestNodesJoinBySnapshot(t *testing.T) {
	f := newFleet(t)
	f.every = 20 * time.Millisecond
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	a := f.join("a", dirs[0], true)
	a.role(rankings.Writer)
	away := f.join("away", dirs[1], true)
	f.turn(a, away)
	away.stop()

	a.purged(f)
	fresh := f.join("fresh", dirs[2], false)
	f.turn(a, fresh)
	if fresh.counts("snapshots_taken") != 1 {
		t.Error("a new node takes no snapshot")
	}
	back := f.join("away", dirs[1], true)
	f.turn(a, back, fresh)

	a.stop()
	back.role(rankings.Writer)
	f.turn(back, fresh)
	back.stop()
	fresh.stop()
	for _, dir := range dirs {
		checkStore(t, dir)
	}
}

// newestSnapshot returns the cut of the newest snapshot that is stored.
func (m *member) newestSnapshot() uint64 {
	m.t.Helper()
	all, err := m.node.chains[1].member.Snapshots(m.t.Context())
	if err != nil || len(all) == 0 {
		m.t.Fatalf("%d snapshots, %v", len(all), err)
	}
	return all[0].Place.Number
}

// aloneData returns a directory with data of the market that was made without a cluster.
func (f *fleet) aloneData() string {
	f.t.Helper()
	dir, quiet := f.t.TempDir(), slog.New(slog.DiscardHandler)
	store, err := storage.Open(dir, storage.Options{Logger: quiet})
	if err != nil {
		f.t.Fatal(err)
	}

	alone := &testNode{t: f.t, store: store, set: metrics.NewSet()}
	spec := f.spec(alone.set, quiet)
	spec.Config.Shared = false
	alone.node, err = Start(Config{
		Store: store, Board: &alone.board, Every: 20 * time.Millisecond,
		Clock: accounts.NewClock(time.Now()), Metrics: alone.set, Log: quiet,
	}, []ChainSpec{spec})
	if err != nil {
		f.t.Fatal(err)
	}

	alone.await(1, "served", served)
	if err := errors.Join(alone.node.Stop(f.t.Context()), store.Close()); err != nil {
		f.t.Fatal(err)
	}
	return dir
}

// The data of the first node is the beginning of the cluster's. Data of a node that comes
// later is replaced by it.
func TestOwnDataFoundsOrIsReplaced(t *testing.T) {
	f := newFleet(t)
	founding, later := f.aloneData(), f.aloneData()
	a := f.join("a", founding, true)
	a.role(rankings.Writer)
	if v := a.reaches(1); v.Generation > 2 {
		t.Errorf("the founder begins with generation %d", v.Generation)
	}

	fresh := f.join("fresh", t.TempDir(), false)
	other := f.join("other", later, true)
	f.turn(a, fresh, other)
	other.role(rankings.Follower)
	for _, m := range []*member{fresh, other} {
		if m.counts("snapshots_taken") == 0 {
			t.Error("a node joined without a snapshot")
		}
	}
	before := other.newestSnapshot()
	a.stop()
	other.role(rankings.Writer)
	f.turn(other, fresh)
	if after := other.newestSnapshot(); after != before {
		t.Errorf("the new writer stores a snapshot of cut %d; that of cut %d is of this hour", after, before)
	}
	other.stop()
	checkStore(t, later)
}

// While every cut is damaged on its way, a node shows nothing of them and comes along by
// snapshots; while these are damaged too, it stays where it is.
func TestDamageIsRepairedBySnapshot(t *testing.T) {
	f := newFleet(t)
	f.every = 20 * time.Millisecond
	a := f.join("a", t.TempDir(), true)
	a.role(rankings.Writer)
	b := f.join("b", t.TempDir(), false)
	f.turn(a, b)

	b.wire.Flip("TMCUT\x02", 150)
	f.turn(a, b)
	if b.counts("snapshots_taken") == 0 || b.counts("broken") == 0 {
		t.Error("cuts are damaged, and no snapshot is taken")
	}

	b.wire.Flip("TM", 200)
	before := b.reaches(1).Generation
	refused := b.counts("snapshots_refused")
	for i := 0; b.counts("snapshots_refused") == refused; i++ {
		if i > 200 { // pauses between the attempts grow to seconds
			t.Fatal("a damaged snapshot is not refused")
		}
		f.turn(a)
		time.Sleep(100 * time.Millisecond)
	}
	f.log.check(b, b.reaches(before))

	b.wire.Flip("", 0)
	f.turn(a, b)
	t.Logf("figure: every cut damaged on its way, then every snapshot: %d times refused, %d times back by a "+
		"snapshot, %d snapshots refused; %d generations compared, 0 differ", b.counts("broken"),
		b.counts("snapshots_taken"), b.counts("snapshots_refused"), len(f.log.pages))
}
