package chain

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// shared is what the writer of a chain has committed.
type shared struct {
	t    *testing.T
	cuts []sharedCut
}

type sharedCut struct{ batch, note, place []byte }

// tee keeps a cut, as a stream does.
func (s *shared) tee(_ market.ChainID, batch, note []byte) ([]byte, error) {
	place := fmt.Appendf(nil, "%d", len(s.cuts)+1)
	s.cuts = append(s.cuts, sharedCut{slices.Clone(batch), slices.Clone(note), place})
	return place, nil
}

// catchUp takes the cuts that a chain does not have yet.
func (s *shared) catchUp(on *stage) {
	s.t.Helper()
	at := 0
	if place, err := on.store.Place(1); err != nil {
		s.t.Fatal(err)
	} else if place != nil {
		fmt.Sscan(string(place), &at)
	}
	for _, cut := range s.cuts[at:] {
		if err := on.chain.Take(cut.batch, cut.note, cut.place, time.Now, func() {}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// newShared returns a stage that writes and one that follows it.
func newShared(t *testing.T) (s *shared, writer, follower *stage) {
	t.Helper()
	s = &shared{t: t}
	writer = (&stage{tee: s.tee, follows: true}).start(t, days)
	follower = (&stage{tee: s.tee, follows: true}).start(t, days)
	writer.load()
	writer.chain.Promote(func() {})
	follower.load()
	return s, writer, follower
}

// sameRows compares the pages that two stages serve.
func sameRows(t *testing.T, a, b *stage) {
	t.Helper()
	for _, q := range ranked {
		x, g := a.page(q)
		y, h := b.page(q)
		if g != h || !slices.Equal(x, y) {
			t.Fatalf("generation %d answers %+v with %v; the other node, at %d, with %v", g, q, x, h, y)
		}
	}
}

// sameAnswers also compares what comes with the pages.
func sameAnswers(t *testing.T, a, b *stage) {
	t.Helper()
	sameRows(t, a, b)
	one, two := a.chain.view, b.chain.view
	if one.Confirmed() != two.Confirmed() || !reflect.DeepEqual(one.FeedPrices, two.FeedPrices) {
		t.Errorf("confirmed at %d with %v; the other node at %d with %v",
			one.Confirmed(), one.FeedPrices, two.Confirmed(), two.FeedPrices)
	}

	logged, heard := a.board.Load().Log.After(0), b.board.Load().Log.After(0)
	for i := range heard {
		x, y := logged[len(logged)-1-i], heard[len(heard)-1-i]
		if !reflect.DeepEqual(x.Changes, y.Changes) {
			t.Fatalf("generation %d has the changes %+v; the other node %+v", x.Generation, x.Changes, y.Changes)
		}
	}
}

// turn takes the market on and publishes it.
func (s *stage) turn(after time.Duration) {
	s.t.Helper()
	s.now = s.now.Add(after)
	s.follow()
	s.refresh()
}

// A follower answers as the writer does, through refreshes and a reorganisation, after
// a restart, and goes on where the writer ended: no generation has two contents.
func TestFollowerAnswersAsTheWriter(t *testing.T) {
	s, writer, follower := newShared(t)
	writer.chain.External = func() []value.FeedPrice {
		return []value.FeedPrice{{Token: stables[0], Usd: 1.0001, AsOf: writer.now.Unix()}}
	}
	writer.turn(0)
	s.catchUp(follower)
	sameAnswers(t, writer, follower)
	for n := range 4 {
		if n == 2 {
			if err := writer.feed.Reorg(100); err != nil {
				t.Fatal(err)
			}
		}
		writer.turn(10 * time.Minute)
		s.catchUp(follower)
		sameAnswers(t, writer, follower)
	}

	if err := follower.store.Close(); err != nil {
		t.Fatal(err)
	}
	follower.open()
	follower.load()
	sameRows(t, writer, follower)
	writer.turn(10 * time.Minute)
	s.catchUp(follower)
	sameAnswers(t, writer, follower)

	// The other one writes from here on.
	last := writer.chain.generation
	follower.chain.External, follower.now = writer.chain.External, writer.now
	follower.chain.Promote(func() {})
	follower.turn(10 * time.Minute)
	if got := follower.chain.generation; got != last+1 {
		t.Errorf("the new writer publishes generation %d after %d", got, last)
	}
	if err := writer.store.Close(); err != nil {
		t.Fatal(err)
	}
	writer.open()
	writer.load()
	s.catchUp(writer)
	sameAnswers(t, follower, writer)
}

// What the writer tells between two cuts is what the follower says of the chain, but
// not how far it is itself.
func TestBeat(t *testing.T) {
	s, writer, follower := newShared(t)
	writer.turn(0)
	s.catchUp(follower)
	writer.chain.Confirm(writer.chain.ledger.Head(), writer.now.Add(time.Hour))
	writer.chain.status.ChainHead.Number += 7
	text, err := writer.chain.Beat()
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.chain.Hear(text); err != nil {
		t.Fatal(err)
	}

	a, b := writer.chain.Status(), follower.chain.Status()
	if a.Role != rankings.Writer || b.Role != rankings.Follower {
		t.Errorf("the roles are %s and %s", a.Role, b.Role)
	}
	a.Role = b.Role
	if !reflect.DeepEqual(a, b) {
		t.Errorf("the writer is %+v; the follower says %+v", a, b)
	}
	if x, y := writer.chain.view.Confirmed(), follower.chain.view.Confirmed(); x != y {
		t.Errorf("confirmed at %d; the follower says %d", x, y)
	}
	if err := follower.chain.Hear([]byte("{")); err == nil {
		t.Error("half a message was heard")
	}
}

// A cut that is not the next one changes nothing, and is not taken by a later one.
func TestCutOutOfOrderIsRefused(t *testing.T) {
	s, writer, follower := newShared(t)
	writer.turn(0)
	s.catchUp(follower)
	for range 2 {
		writer.turn(6 * time.Hour)
	}

	before, _ := follower.page(ranked[0])
	skipped := s.cuts[len(s.cuts)-1]
	skipped.batch = skipped.batch[:len(skipped.batch)-1]
	err := follower.chain.Take(skipped.batch, nil, skipped.place, time.Now, func() {})
	if err == nil || !strings.Contains(err.Error(), "cannot apply batch") {
		t.Fatalf("a cut that is too short was answered %v", err)
	}
	if after, _ := follower.page(ranked[0]); !slices.Equal(before, after) {
		t.Error("a refused cut changed what is served")
	}
	if err := follower.chain.Take(s.cuts[len(s.cuts)-2].batch, nil, nil, time.Now, func() {}); err == nil {
		t.Error("a chain that refused a cut took another")
	}
	if err := follower.store.Close(); err != nil {
		t.Fatal(err)
	}
	follower.open()
	follower.load()
	s.catchUp(follower)
	sameAnswers(t, writer, follower)
}

// A chain that the writer drops is gone everywhere, and its numbers go on.
func TestDropIsFollowed(t *testing.T) {
	s, writer, follower := newShared(t)
	writer.turn(0)
	writer.turn(10 * time.Minute)
	s.catchUp(follower)
	last := writer.chain.generation
	if err := writer.chain.Resync(); err != nil {
		t.Fatal(err)
	}
	s.catchUp(follower)
	if c, _ := follower.board.Load().Chain(1); c.View != nil {
		t.Error("the follower serves a chain that was dropped")
	}

	follower.chain.Promote(func() {})
	follower.now = writer.now
	follower.follow()
	follower.refresh()
	if got := follower.chain.generation; got != last+1 {
		t.Errorf("the next generation is %d; want %d", got, last+1)
	}
}
