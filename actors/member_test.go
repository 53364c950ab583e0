package actors

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/chain"
	"tidemark/actors/cluster"
	"tidemark/rankings"
	"tidemark/storage"
	"tidemark/storage/accounts"
)

// lone is the actor of a chain that is shared, without a mailbox.
type lone struct {
	*chainActor
	set  *metrics.Set
	sent chan any
	end  func() // closes its store
}

// lone makes the actor of a node on a directory.
func (f *fleet) lone(name, dir string, mayWrite bool) *lone {
	f.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	l := &lone{set: metrics.NewSet(), sent: make(chan any, 100)}
	joined, err := cluster.Open(f.t.Context(), cluster.Config{
		Servers: f.servers.URLs(), Name: name, Insecure: true, Metrics: l.set, Log: quiet,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(joined.Close)
	store, err := storage.Open(dir, storage.Options{Logger: quiet, Tee: joined.Tee})
	if err != nil {
		f.t.Fatal(err)
	}

	spec := f.spec(l.set, quiet)
	ctx, cancel := context.WithCancel(f.t.Context())
	l.chainActor = &chainActor{
		Config: Config{
			Store: store, Board: new(rankings.Board), Every: time.Hour, Clock: accounts.NewClock(time.Now()),
			Metrics: l.set, Log: quiet,
		},
		chainConfig: spec.Config, feed: spec.Feed, slot: make(chan struct{}, 1), snapshotEvery: time.Hour,
		ctx: ctx, cancel: cancel, readOnly: func() bool { return false }, send: func(m any) { l.sent <- m },
	}
	if l.member, err = joined.Chain(1, mayWrite, func() bool { return true }); err != nil {
		f.t.Fatal(err)
	}
	l.end = sync.OnceFunc(func() {
		cancel()
		l.work.Wait()
		if err := errors.Join(spec.Feed.Close(), l.Store.Close()); err != nil {
			f.t.Error(err)
		}
	})
	f.t.Cleanup(l.end)
	return l
}

// What a node does that finds no sound snapshot depends on what it has, and on whether cuts
// were removed.
func TestJoinsWithoutSnapshot(t *testing.T) {
	fleet := newFleet(t)
	const waits = "waits for a snapshot of chain 1: there is none yet"
	const again = "waits for another snapshot of chain 1: damaged"
	const none, first, later = cluster.NoCuts, cluster.FirstCut, cluster.LaterCut
	f := func(what, dir string, place, mayWrite bool, has stored, from cluster.Beginning, some bool, refused error,
		want string, then stored,
	) {
		t.Helper()
		l := fleet.lone("a", dir, mayWrite)
		defer l.end()
		if place {
			if err := l.Store.SetPlace(1, cluster.Place{Sequence: 1, Number: 1}.Encode()); err != nil {
				t.Fatal(err)
			}
		}
		if got := l.findStored(); got != has || l.mustJoin() != (has != joinedStored) {
			t.Errorf("%s: the node has %s, and must join: %t; want %s", what, got, l.mustJoin(), has)
		}

		err := l.joinWithout(from, some, refused)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", what, err, want)
		}
		if got := l.findStored(); got != then {
			t.Errorf("%s: then the node has %s; want %s", what, got, then)
		}
		if l.drops = true; !l.mustJoin() {
			t.Errorf("%s: data that is to be dropped is opened", what)
		}
	}
	damaged := errors.New("damaged")

	f("new, from the first cut", t.TempDir(), false, false, nothingStored, first, false, nil, "", nothingStored)
	f("new, before any cut", t.TempDir(), false, false, nothingStored, none, false, nil, "", nothingStored)
	f("new, cuts were removed", t.TempDir(), false, false, nothingStored, later, false, nil, waits, nothingStored)
	f("new, all was removed", t.TempDir(), false, false, nothingStored, none, true, damaged, again, nothingStored)
	f("away, before any cut", t.TempDir(), true, false, joinedStored, none, false, nil, "", joinedStored)
	f("away, from the first cut", t.TempDir(), true, false, joinedStored, first, false, damaged, "", nothingStored)
	own := fleet.aloneData()
	f("own data, others have begun", own, false, true, ownStored, first, false, damaged, again, ownStored)
	f("own data of a reader", own, false, false, ownStored, none, false, nil, waits, ownStored)
	f("own data, the first", own, false, true, ownStored, none, false, nil, "", joinedStored)
}

// A snapshot that cannot be read is refused, and another one is tried. One that the disk has
// no room for is waited for, and so is one that has the cut which the node needs.
func TestJoinsBySnapshot(t *testing.T) {
	fleet := newFleet(t)
	dir := t.TempDir()
	l, other := fleet.lone("a", dir, false), fleet.lone("b", t.TempDir(), false)
	for range 2 {
		at, err := other.member.Append([]byte("cut"), nil)
		if err == nil {
			_, err = other.member.PutSnapshot(t.Context(), at.Encode(), func(w io.Writer) error {
				_, err := w.Write([]byte("no export"))
				return err
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	refusals := l.set.GetOrCreateCounter(`tidemark_cluster_snapshots_refused_total{chain="1"}`)
	f := func(what string, ctx context.Context, needs uint64, refused uint64, want error) {
		t.Helper()
		refusals.Set(0)
		took, err := l.join(ctx, needs)
		if took || !errors.Is(err, want) || refusals.Get() != refused {
			t.Errorf("%s: took %t, %v after %d refusals; want %v after %d", what, took, err, refusals.Get(), want, refused)
		}
	}

	f("any", t.Context(), 0, 2, nil)
	f("with cut 2", t.Context(), 2, 1, nil)
	f("with cut 3", t.Context(), 3, 0, nil)
	for end := time.Now().Add(10 * time.Second); other.member.Wanted() != 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("a snapshot of cut %d is wanted; want 2, the last there is", other.member.Wanted())
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	f("at the end", ended, 0, 0, context.Canceled)

	err := l.Store.Close()
	if err == nil {
		l.Store, err = storage.Open(dir, storage.Options{Logger: l.Log, ReadOnly: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	f("on a full disk", t.Context(), 0, 1, storage.ErrReadOnly)
}

// A snapshot is begun when it is due, or when another node wants a newer one and the last is
// some time ago; one at a time. What came of it says when the next one is due.
func TestSnapshotsAreBegun(t *testing.T) {
	fleet := newFleet(t)
	l, other := fleet.lone("a", t.TempDir(), false), fleet.lone("b", t.TempDir(), false)
	f := func(what string, due, last time.Duration, newest uint64, running, begins bool) {
		t.Helper()
		now := time.Now()
		l.snapshot = snapshotting{running: running, due: now.Add(due), last: now.Add(last), newest: newest}
		l.snapshotIfDue()
		if got := l.snapshot.running && l.snapshot.last.After(now); got != begins {
			t.Errorf("%s: a snapshot is begun: %t; want %t", what, got, begins)
		}
		if l.work.Wait(); begins {
			if m, ok := (<-l.sent).(snapshotted); !ok || m.err != nil {
				t.Errorf("%s: it ends with %+v", what, m)
			}
		}
		if len(l.sent) > 0 {
			t.Errorf("%s: %d messages more", what, len(l.sent))
		}
	}

	f("it is due", 0, -time.Hour, 0, false, true)
	f("it is not due", time.Minute, -time.Hour, 0, false, false)
	f("one is under way", 0, -time.Hour, 0, true, false)
	if _, err := l.member.Append([]byte("cut"), nil); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); l.member.Wanted() != 1; time.Sleep(time.Millisecond) {
		if other.member.Want(1); time.Now().After(end) {
			t.Fatal("it is not heard what is wanted")
		}
	}
	f("it is wanted", time.Minute, -snapshotRetry, 0, false, true)
	f("it is wanted too soon", time.Minute, time.Second-snapshotRetry, 0, false, false)
	f("it is there", time.Minute, -time.Hour, 1, false, false)
	l.snapshotEvery = 10 * time.Second
	f("it is wanted, of many", time.Minute, -10*time.Second, 0, false, true)
	member := l.member
	l.member = nil
	f("the chain is not shared", 0, -time.Hour, 0, false, false)
	l.member = member

	failed := l.set.GetOrCreateCounter(`tidemark_cluster_snapshot_failures_total{chain="1"}`)
	ends := func(m snapshotted, due time.Duration, newest, failures uint64) {
		t.Helper()
		l.snapshot = snapshotting{running: true, newest: 5}
		l.handleSnapshotted(m)
		if d := time.Until(l.snapshot.due); l.snapshot.running || d > due || d < due-5*time.Second ||
			l.snapshot.newest != newest || failed.Get() != failures {
			t.Errorf("%+v: the next is due in %s after cut %d; %d failures", m, d, l.snapshot.newest, failed.Get())
		}
	}
	ends(snapshotted{newest: 7, due: time.Now().Add(time.Hour)}, time.Hour, 7, 0)
	ends(snapshotted{err: errors.New("full")}, 10*time.Second, 5, 1)
	l.snapshotEvery = time.Hour
	ends(snapshotted{err: errors.New("full")}, snapshotRetry, 5, 2)
	l.cancel()
	ends(snapshotted{err: errors.New("stopped")}, snapshotRetry, 5, 2)
}

// A snapshot is not made where the others cannot be asked for theirs, and not counted where it
// cannot be stored.
func TestSnapshotsFail(t *testing.T) {
	l := newFleet(t).lone("a", t.TempDir(), false)
	if err := l.Store.SetPlace(1, []byte("short")); err != nil {
		t.Fatal(err)
	}
	f := func(what string, want error) {
		t.Helper()
		if newest, _, err := l.makeSnapshot(true); newest != 0 || !errors.Is(err, want) {
			t.Errorf("%s: the newest snapshot is of cut %d, %v; want %v", what, newest, err, want)
		}
	}

	f("a place that cannot be read", cluster.ErrBroken)
	l.cancel()
	f("the list of the others", context.Canceled)
}

// What is heard of the writer is taken in turn: a cut waits for room on the disk, a beat that
// cannot be read is left out, and both go on to what comes next.
func TestWhatIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := make(chan any, 9)
		a := &chainActor{readOnly: func() bool { return true }, send: func(m any) { sent <- m }}
		m := heard{epoch: 3, event: cluster.Event{Cut: &cluster.Cut{}}}
		a.handleHeard(m)
		time.Sleep(watchEvery - 1)
		synctest.Wait()
		if len(sent) > 0 {
			t.Errorf("a cut is tried again at once on a full disk")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if len(sent) != 1 {
			t.Fatalf("%d messages are sent; want the cut again", len(sent))
		}
		if again := (<-sent).(heard); again.event.Cut != m.event.Cut || again.epoch != m.epoch {
			t.Errorf("sent is %+v; want the cut again", again)
		}
	})

	fleet := newFleet(t)
	l := fleet.lone("a", t.TempDir(), false)
	l.openStored()
	if m, ok := (<-l.sent).(loaded); !ok || m.err != nil || !l.chain.Following() {
		t.Fatalf("it is loaded: %+v", m)
	}
	l.finishLoading(nil)
	l.readOnly = func() bool { return true } // a beat needs no room
	for _, text := range []string{"{", `{"Stopped":true,"StopReason":"too deep"}`} {
		l.cancelFetch()
		l.work.Wait()
		<-l.sent
		l.handleHeard(heard{event: cluster.Event{Beat: []byte(text)}})
		if stopped := l.chain.Status().Stopped; stopped != (text != "{") || l.cancelFetch == nil {
			t.Errorf("after %s: stopped %t", text, stopped)
		}
	}
	l.cancelFetch()
	l.work.Wait()
	if m, ok := (<-l.sent).(heard); !ok || !errors.Is(m.err, context.Canceled) {
		t.Errorf("what comes next is not waited for: %+v", m)
	}
}

// A snapshot that was taken ends the pauses; one that could not be is tried again later, and
// the status says why.
func TestWhatBecameOfJoining(t *testing.T) {
	l := newFleet(t).lone("a", t.TempDir(), false)
	l.chain = chain.Await(l.chainConfig, l.Store, l.Board)
	l.drops, l.pause = true, 10*time.Second
	epoch := l.epoch
	l.handleJoined(joined{err: errors.New("no room")})
	if s := l.chain.Status(); s.StopReason != "no room" || l.epoch != epoch+1 || l.pause != 20*time.Second || !l.drops {
		t.Errorf("after a failure the status is %+v, the next attempt comes in %s", s, l.pause)
	}

	for _, took := range []bool{false, true} {
		l.drops, l.pause = true, 10*time.Second
		l.handleJoined(joined{took: took})
		if m, ok := (<-l.sent).(loaded); !ok || m.err != nil || l.drops || (l.pause == 0) != took {
			t.Errorf("with a snapshot %t: %+v, data is to be dropped: %t, pause %s", took, m, l.drops, l.pause)
		}
	}
}

// A node that is elected writes the chain: it asks the feed, tells the others, and finds out
// when a snapshot is due. When another node may write, it follows again.
func TestPromotion(t *testing.T) {
	fleet := newFleet(t)
	l, other := fleet.lone("a", t.TempDir(), false), fleet.lone("b", t.TempDir(), false)
	l.openStored()
	if m, ok := (<-l.sent).(loaded); !ok || m.err != nil {
		t.Fatalf("it is loaded: %+v", m)
	}
	l.finishLoading(nil)
	if err := l.resync(); err == nil || !strings.HasPrefix(err.Error(), "this node follows chain 1; ") || l.replaced() {
		t.Errorf("a command for the writer: %v; replaced %t", err, l.replaced())
	}

	l.cancelFetch()
	l.work.Wait()
	<-l.sent
	l.cancelFetch, l.pause, l.snapshot.due = nil, time.Minute, time.Now().Add(time.Hour)
	ticks := l.ticks
	l.promote()
	if s := l.chain.Status(); l.chain.Following() || !l.chain.Loaded() || s.Role != rankings.Writer || l.pause != 0 {
		t.Errorf("it follows: %t, its role is %s, the next restore comes in %s", l.chain.Following(), s.Role, l.pause)
	}
	if !l.snapshot.due.IsZero() || l.ticks != ticks+1 || l.cancelFetch == nil {
		t.Errorf("a snapshot is due at %s, %d ticks are set", l.snapshot.due, l.ticks-ticks)
	}
	for end := time.Now().Add(10 * time.Second); other.member.Status().Writer != "a"; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the others know of %+v", other.member.Status())
		}
	}
	if m, ok := (<-l.sent).(fetched); !ok || m.err != nil {
		t.Errorf("the feed answers %+v", m)
	}

	// It leads no longer.
	epoch := l.epoch
	if !l.replaced() {
		t.Error("a node that does not lead is not replaced")
	}
	l.handleTick()
	if l.epoch == epoch {
		t.Error("a node that was replaced goes on")
	}
	l.work.Wait()
	if !l.chain.Following() {
		t.Error("a node that was replaced does not follow")
	}
}

// Data whose place in the cluster cannot be read is taken from the cluster again.
func TestUnreadablePlace(t *testing.T) {
	l := newFleet(t).lone("a", t.TempDir(), false)
	if err := l.Store.SetPlace(1, []byte("short")); err != nil {
		t.Fatal(err)
	}
	if c, err := l.openMember(l.chainConfig); c != nil || !errors.Is(err, cluster.ErrBroken) || !l.drops {
		t.Errorf("it is opened: %t, %v, to be dropped: %t", c != nil, err, l.drops)
	}

	l.drops = false
	if l.openStored(); !l.drops || l.epoch != 1 || l.pause != firstPause || !l.mustJoin() {
		t.Errorf("it is to be dropped: %t, and opened again in %s", l.drops, l.pause)
	}
}
