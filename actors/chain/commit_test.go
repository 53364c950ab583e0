package chain

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings/market"
)

// besides runs the cuts of a chain beside it, once the gate is open.
type besides struct {
	t       *testing.T
	gate    chan struct{}
	begun   int
	running atomic.Int32
}

func newBesides(t *testing.T) *besides { return &besides{t: t, gate: make(chan struct{})} }

func (b *besides) run(do func() error) <-chan error {
	b.begun++
	if b.running.Add(1) > 1 {
		b.t.Error("two cuts are written at once")
	}
	done := make(chan error, 1)
	go func() {
		<-b.gate
		err := do()
		b.running.Add(-1)
		done <- err
	}()
	return done
}

// takeFarBehind takes a span of a chain that has gone on for a day since.
func (k *kept) takeFarBehind(span *market.Span) {
	k.t.Helper()
	head := market.Head{Number: span.To + 1000, Time: span.Time + market.Day}
	if err := k.chain.Advance(feed.Step{Span: span, Head: head}, time.Now()); err != nil {
		k.t.Fatal(err)
	}
}

// stored returns the head of what the store has.
func (k *kept) stored() market.Head {
	k.t.Helper()
	r, err := k.store.Restore(1)
	if err != nil {
		k.t.Fatal(err)
	}
	if r == nil {
		return market.Head{}
	}
	return r.State.Head
}

// A chain that catches up goes on while a cut is written, and waits with the next one. At
// its head it waits for every cut, also for one that was begun before.
func TestCutsAreWrittenBeside(t *testing.T) {
	spans := smallMarket(t)
	k, b := openKept(t, t.TempDir()), newBesides(t)
	defer k.close()
	k.chain.Background = b.run

	k.takeFarBehind(&spans[0])
	k.refresh()
	if got := k.stored(); b.begun != 1 || got.Number != 0 || k.chain.Backlog() != 0 || k.chain.Failed() {
		t.Errorf("%d cuts are begun, %d events wait, the store is at %+v before it is written", b.begun,
			k.chain.Backlog(), got)
	}
	k.takeFarBehind(&spans[1])
	if k.chain.Backlog() == 0 || k.chain.ledger.Head() != spans[1].Head() {
		t.Errorf("the ledger is at %+v while a cut is written", k.chain.ledger.Head())
	}

	close(b.gate)
	k.refresh()
	if got := k.stored(); b.begun != 2 || got != spans[0].Head() && got != spans[1].Head() {
		t.Errorf("%d cuts are begun, the store is at %+v", b.begun, got)
	}

	k.take(&spans[2]) // which is the head
	k.refresh()
	if got := k.stored(); b.begun != 2 || got != spans[2].Head() || k.chain.view == nil {
		t.Errorf("at the head %d cuts are written beside the chain, the store is at %+v", b.begun, got)
	}
}

// A chain that could not write a cut writes no other before it is restored: its store
// would have a gap.
func TestNothingFollowsACutThatFailed(t *testing.T) {
	var broken error
	s := (&stage{tee: failing(&broken)}).start(t, days)
	s.publish()
	before := s.chain.view
	b := newBesides(t)
	close(b.gate)
	s.chain.Background = b.run
	behind := func() {
		t.Helper()
		s.now = s.now.Add(time.Hour)
		s.follow()
		s.chain.status.Syncing = true
	}

	first := errors.New("broken")
	broken = first
	behind()
	s.refresh()
	if err := s.chain.Settle(); !errors.Is(err, first) || !s.chain.Failed() {
		t.Errorf("a cut that cannot be written: %v, failed: %t", err, s.chain.Failed())
	}
	broken = nil
	behind()
	for range 2 {
		if err := s.chain.Refresh(time.Now, func() {}); !errors.Is(err, first) {
			t.Errorf("the cut after it: %v", err)
		}
	}
	kept, err := s.store.Restore(1)
	if err != nil || kept.State.Head != before.State.Head || b.begun != 1 {
		t.Errorf("the store is at %+v, %v, after %d cuts; want it at %+v", kept.State.Head, err, b.begun, before.State.Head)
	}

	// What the restored chain becomes is what one becomes that never failed.
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	s.open()
	s.publish()
	whole := newStage(t)
	whole.now = s.now
	whole.publish()
	for _, q := range ranked {
		got, _ := s.page(q)
		want, _ := whole.page(q)
		if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("%+v is %v; want %v", q, got, want)
		}
	}
}

// A failure is told without waiting for it, and a restart from nothing forgets it.
func TestFailureIsTold(t *testing.T) {
	broken := errors.New("broken")
	s := (&stage{tee: failing(&broken)}).start(t, days)
	b := newBesides(t)
	s.chain.Background = b.run
	s.load()
	s.follow()
	s.chain.status.Syncing = true
	s.refresh()
	if s.chain.Failed() {
		t.Error("a cut that is not written yet has failed")
	}

	close(b.gate)
	for end := time.Now().Add(10 * time.Second); !s.chain.Failed(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a cut that cannot be written has not failed")
		}
	}
	broken = nil
	if err := s.chain.Restart(); err != nil || s.chain.Failed() {
		t.Errorf("a restart: %v, failed: %t", err, s.chain.Failed())
	}
}
