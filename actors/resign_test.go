package actors

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// spoilt says what of a node does not work: its disk's room, its commits, its feed.
type spoilt struct{ room, commits, feed atomic.Bool }

func (m *member) hasRoom() bool { return !m.spoilt.room.Load() }

// tee is the store's.
func (m *member) tee(id market.ChainID, batch, note []byte) ([]byte, error) {
	if m.spoilt.commits.Load() {
		return nil, errors.New("input/output error")
	}
	return m.joined.Tee(id, batch, note)
}

// fillDisk leaves the disk of a node without room, or gives it room again.
func (m *member) fillDisk(full bool) {
	m.t.Helper()
	err := m.node.command(1, func(x *chainActor) error {
		x.readOnly = m.spoilt.room.Load
		m.spoilt.room.Store(full)
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// A writer whose disk is full leaves the chain to another node, and follows it as soon as there
// is room. It writes again when it is needed.
func TestFullWriterResigns(t *testing.T) {
	f := newFleet(t)
	a := f.join("a", t.TempDir(), true)
	a.role(rankings.Writer)
	b, c := f.join("b", t.TempDir(), true), f.join("c", t.TempDir(), false)
	f.turn(a, b, c)

	began := time.Now()
	a.fillDisk(true)
	b.role(rankings.Writer)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("after a writer without room another wrote in %s", took)
	}
	a.role(rankings.Follower)
	f.turn(b, c)
	a.fillDisk(false)
	f.turn(a, b, c)
	a.role(rankings.Follower)

	b.stop()
	a.role(rankings.Writer)
	f.turn(a, c)
}

// A full disk ends nothing on a node that is alone: the chain goes on when there is room.
func TestFullWriterAlone(t *testing.T) {
	f := newFleet(t)
	a := f.join("a", t.TempDir(), true)
	a.role(rankings.Writer)
	f.turn(a)

	a.fillDisk(true)
	a.role(rankings.Follower)
	a.fillDisk(false)
	a.role(rankings.Writer)
	f.turn(a)
}

// A writer whose commits fail leaves the chain to another node.
func TestFailingWriterResigns(t *testing.T) {
	f := newFleet(t)
	a := f.join("a", t.TempDir(), true)
	a.role(rankings.Writer)
	b := f.join("b", t.TempDir(), true)
	f.turn(a, b)
	b.role(rankings.Follower)

	a.spoilt.commits.Store(true)
	f.turn(a, b)
	b.role(rankings.Writer)
	a.role(rankings.Follower)
}

// failFeed makes the feed of a node fail, or work again. It is given up after patience.
func (m *member) failFeed(fails bool, patience time.Duration) {
	m.t.Helper()
	err := m.node.command(1, func(x *chainActor) error {
		x.feedPatience = patience
		return nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.spoilt.feed.Store(fails)
}

// A writer whose feed fails for long leaves the chain to another node, and follows it. When that
// one's feed fails too, it keeps the chain: the first one has just given it up.
func TestWriterWithoutAFeedResigns(t *testing.T) {
	f := newFleet(t)
	a := f.join("a", t.TempDir(), true)
	a.role(rankings.Writer)
	b, c := f.join("b", t.TempDir(), true), f.join("c", t.TempDir(), false)
	f.turn(a, b, c)
	b.role(rankings.Follower)

	a.failFeed(true, 100*time.Millisecond)
	b.role(rankings.Writer)
	f.turn(a, b, c)
	a.role(rankings.Follower)
	a.failFeed(false, 100*time.Millisecond)

	b.failFeed(true, 100*time.Millisecond)
	time.Sleep(time.Second)
	if c, _ := b.board.Load().Chain(1); c.Status.Role != rankings.Writer {
		t.Errorf("a chain without any feed goes back to a node that has left it; this one is a %s", c.Status.Role)
	}
	b.failFeed(false, 100*time.Millisecond)
	f.turn(a, b, c)
	b.stop()
	a.role(rankings.Writer)
	f.turn(a, c)
}

// A writer whose feed fails stays the writer where no other node would write.
func TestOnlyWriterWithoutAFeed(t *testing.T) {
	f := newFleet(t)
	a := f.join("a", t.TempDir(), true)
	a.role(rankings.Writer)
	b := f.join("b", t.TempDir(), false)
	f.turn(a, b)

	a.failFeed(true, 50*time.Millisecond)
	for range 100 {
		if c, _ := a.board.Load().Chain(1); c.Status.Role != rankings.Writer {
			t.Fatalf("the only node that may write is a %s", c.Status.Role)
		}
		time.Sleep(10 * time.Millisecond)
	}
	a.failFeed(false, 50*time.Millisecond)
	f.turn(a, b)
}
