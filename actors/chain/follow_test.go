package chain

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
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
		batch := slices.Clone(cut.batch)
		if err := on.chain.Take(batch, cut.note, cut.place, time.Now, func() {}); err != nil {
			s.t.Fatal(err)
		}
		clear(batch) // the next cut has its memory
	}
}

// newShared returns a stage that writes and one that follows it.
func newShared(t *testing.T) (s *shared, writer, follower *stage) {
	t.Helper()
	s = &shared{t: t}
	writer = (&stage{tee: s.tee, follows: true}).start(t, days)
	follower = (&stage{tee: s.tee, follows: true}).start(t, days)
	writer.load()
	writer.promote()
	follower.load()
	return s, writer, follower
}

func (s *stage) promote() {
	s.t.Helper()
	if err := s.chain.Promote(func() {}); err != nil {
		s.t.Fatal(err)
	}
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

// contentOf is everything that answers are computed from, and how every row came to its
// numbers.
func contentOf(on *stage, v *rankings.View) string {
	st, params := v.State, &on.chain.Prices
	all := fmt.Appendln(nil, v.Generation, st.Head, st.Native, st.OpenCount, st.Transactions)
	for i := range st.Tokens.Len() {
		all = fmt.Appendln(all, *st.Tokens.At(i), *st.Prices.At(i), value.ExplainToken(st, params, v.FeedPrices, i))
	}
	for i := range st.Pools.Len() {
		all = fmt.Appendln(all, *st.Pools.At(i), *st.Stats.At(i), st.TickLists.At(i), *st.Days.At(i),
			*st.Minutes.At(i))
	}

	for i := range st.Positions.Len() {
		e := value.Explain(st, params, v.FeedPrices, i)
		all = fmt.Appendln(all, *st.Positions.At(i), e.Metrics, e.Prices)
	}
	return string(all)
}

// sameContent compares all that two stages know of a generation.
func sameContent(t *testing.T, a, b *stage) {
	t.Helper()
	sameAnswers(t, a, b)
	one, two := a.chain.view, b.chain.view
	if x, y := contentOf(a, one), contentOf(b, two); x != y {
		t.Fatalf("generation %d of block %d has two contents", one.Generation, one.State.Head.Number)
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
	if n := len(follower.board.Load().Log.After(0)); n != 4 {
		t.Errorf("the follower tells of the changes of %d generations; want 4", n)
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
	follower.promote()
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

// Over a full hour, when prices and what is held change at once, every generation has one
// content on both nodes: also if another node takes over just before the hour, or in it.
func TestFollowerOverAnHour(t *testing.T) {
	s, writer, follower := newShared(t)
	writer.turn(0)
	s.catchUp(follower)
	for _, after := range []time.Duration{
		50 * time.Minute, 9*time.Minute + 36*time.Second, 24 * time.Second, 24 * time.Second, 5 * time.Minute,
		54*time.Minute + 12*time.Second, 3 * time.Hour, time.Minute,
	} {
		writer.turn(after)
		s.catchUp(follower)
		sameContent(t, writer, follower)

		follower.promote()
		if err := writer.store.Close(); err != nil {
			t.Fatal(err)
		}
		follower.now = writer.now
		writer.open()
		writer.load()
		if x, y := contentOf(writer, writer.chain.view), contentOf(follower, follower.chain.view); x != y {
			t.Fatal("after a restart a generation has another content")
		}
		writer, follower = follower, writer
	}
}

// A node that starts again shows what it has before its records are in memory. Who has
// that view goes on to read its generation, and may have pinned it, when the node takes
// the next cuts.
func TestViewOfAStartStaysAsItWas(t *testing.T) {
	s, writer, follower := newShared(t)
	writer.turn(59 * time.Minute)
	s.catchUp(follower)
	want := contentOf(writer, writer.chain.view)
	if err := follower.store.Close(); err != nil {
		t.Fatal(err)
	}
	follower.open()
	shown, _ := follower.board.Load().Chain(1)
	shown.View.Pin()

	follower.load()
	if c, _ := follower.board.Load().Chain(1); !c.View.Warm() || !c.View.Pinned() {
		t.Errorf("the same generation in memory: %t, pinned: %t", c.View.Warm(), c.View.Pinned())
	}
	writer.turn(time.Minute)
	writer.turn(time.Hour)
	s.catchUp(follower)
	if contentOf(follower, shown.View) != want {
		t.Error("a generation that was shown at the start has the rows of a later cut")
	}
	sameContent(t, writer, follower)
}

// What the writer tells between two cuts is all that the follower says of the chain, but
// for what each node says of itself: its role, how far it is, what it repairs and whether
// it serves the chain.
func TestBeat(t *testing.T) {
	s, writer, follower := newShared(t)
	writer.turn(0)
	s.catchUp(follower)
	later := writer.now.Add(time.Hour)
	writer.chain.view.Confirm(later.UnixMilli())
	told, own := &writer.chain.status, follower.chain.status
	fillFields(reflect.ValueOf(told).Elem())

	text, err := writer.chain.Beat(later)
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.chain.Hear(text, later); err != nil {
		t.Fatal(err)
	}
	want := *told
	want.Enabled, want.Offline, want.LastIndexed = own.Enabled, own.Offline, own.LastIndexed
	want.Repair, want.Role = own.Repair, rankings.Follower
	shown, _ := follower.board.Load().Chain(1)
	if got := shown.Status; !reflect.DeepEqual(got, want) {
		t.Errorf("the follower says %+v; want %+v", got, want)
	}
	if x, y := writer.chain.view.Confirmed(), shown.View.Confirmed(); x != y {
		t.Errorf("confirmed at %d; the follower says %d", x, y)
	}
	if err := follower.chain.Hear([]byte("{"), time.Time{}); err == nil {
		t.Error("half a message was heard")
	}

	// A view that is not the writer's is not confirmed by it.
	before := shown.View.Confirmed()
	writer.now = writer.now.Add(time.Hour)
	writer.follow()
	writer.refresh()
	writer.chain.view.Confirm(before + 1)
	if text, err = writer.chain.Beat(writer.now); err != nil {
		t.Fatal(err)
	}
	if err := follower.chain.Hear(text, follower.now); err != nil || shown.View.Confirmed() != before {
		t.Errorf("an older view is confirmed at %d, %v; want %d", shown.View.Confirmed(), err, before)
	}
}

// fillFields gives every field of a struct a value, so that one that is left out shows.
func fillFields(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString(v.Type().Field(i).Name)

		case reflect.Int, reflect.Int64:
			f.SetInt(int64(100 + i))
		case reflect.Uint64:
			f.SetUint(uint64(200 + i))
		case reflect.Float64:
			f.SetFloat(300.5 + float64(i))
		case reflect.Struct:
			fillFields(f)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			fillFields(f.Elem())
		}
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

	follower.promote()
	follower.now = writer.now
	follower.follow()
	follower.refresh()
	if got := follower.chain.generation; got != last+1 {
		t.Errorf("the next generation is %d; want %d", got, last+1)
	}
}

// A node that cannot read what a revert needs does not write the chain: its store says that
// the chain is damaged, and it is to take it from the others.
func TestPromotionOfDamage(t *testing.T) {
	s, writer, follower := newShared(t)
	writer.turn(0)
	s.catchUp(follower)
	undo := "\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00" + // a batch of one record
		"\x01\x0b\x01\x01\x30\x00\x00\x00\x00\x00\x00\x00\x01\x05short"
	if err := follower.store.Follow(1, []byte(undo), []byte("1")); err != nil {
		t.Fatal(err)
	}

	var damage *storage.Damage
	if err := follower.chain.Promote(func() {}); !errors.As(err, &damage) || !follower.chain.Following() {
		t.Errorf("it follows: %t, %v", follower.chain.Following(), err)
	}
	if follower.store.Damaged(1) == nil {
		t.Error("the damage is forgotten")
	}
	sameRows(t, writer, follower)
}

// A follower shows how far the data is that it took, when the writer indexed it, and after
// a promotion that it writes.
func TestFollowerShowsItsState(t *testing.T) {
	s, writer, follower := newShared(t)
	if c, _ := writer.board.Load().Chain(1); c.Status.Role != rankings.Writer {
		t.Errorf("after a promotion without data the role is %s", c.Status.Role)
	}
	text, err := writer.chain.Beat(writer.now)
	if err == nil {
		err = follower.chain.Hear(text, follower.now) // before it has anything to serve
	}
	if err != nil {
		t.Fatal(err)
	}

	writer.turn(0)
	s.catchUp(follower)
	one, _ := writer.board.Load().Chain(1)
	two, _ := follower.board.Load().Chain(1)
	n, _, err := decodeNote(s.cuts[len(s.cuts)-1].note)
	if err != nil || n.At == 0 {
		t.Fatal(n, err)
	}
	if a, b := one.Status, two.Status; b.Role != rankings.Follower || b.LastIndexedAt != n.At ||
		b.LastIndexed != a.LastIndexed || b.ChainHead != a.LastIndexed {
		t.Errorf("the follower shows %+v; the writer %+v", b, a)
	}
	follower.promote()
	if c, _ := follower.board.Load().Chain(1); c.Status.Role != rankings.Writer || c.View != two.View {
		t.Errorf("after a promotion the role is %s, with another view: %t", c.Status.Role, c.View != two.View)
	}
}

// A node that takes over does not go on to say what its predecessor said of itself.
func TestPromotionForgetsTheWriter(t *testing.T) {
	s, writer, follower := newShared(t)
	writer.turn(0)
	s.catchUp(follower)
	status := &writer.chain.status
	status.FailingSince, status.FeedError, status.ETASeconds = 7, "no provider answers", 9
	status.Progress = &rankings.Progress{}
	writer.chain.Stop(errors.New("a reorganisation is too deep"))
	text, err := writer.chain.Beat(writer.now)
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.chain.Hear(text, follower.now); err != nil {
		t.Fatal(err)
	}
	if said := follower.status(); !said.Stopped || said.FeedError == "" {
		t.Errorf("a follower of it says %+v", said)
	}

	follower.promote()
	said := follower.status()
	if said.Stopped || said.StopReason != "" || said.FailingSince != 0 || said.FeedError != "" ||
		said.ETASeconds != 0 || said.Progress != nil || said.Role != rankings.Writer {
		t.Errorf("after its promotion it says %+v", said)
	}
}

// A chain that this node has nothing of is taken from the cluster first, and says so.
func TestAwait(t *testing.T) {
	_, _, follower := newShared(t)
	board := new(rankings.Board)
	c := Await(follower.chain.Config, follower.store, board)
	shown, ok := board.Load().Chain(1)
	if !ok || !c.Following() || c.Loaded() || shown.View != nil || shown.Status.Role != rankings.Follower ||
		!shown.Status.Stopped || shown.Status.StopReason != "this node takes the chain from the cluster" || shown.Status.Offline {
		t.Errorf("it shows %+v, following %t", shown, c.Following())
	}
}

// A node that goes from writing to following serves the view that it has, unless what it
// stored is of another generation.
func TestStoredViewIsKept(t *testing.T) {
	_, writer, _ := newShared(t)
	writer.turn(0)
	warm := writer.chain.view
	f := func(what string, following bool, generation uint64, kept bool) {
		t.Helper()
		writer.board.Publish(warm)
		c := &Chain{Config: writer.chain.Config, board: writer.board, following: following}
		stored := *warm
		stored.Generation = generation
		c.showStored(&stored)
		on, _ := writer.board.Load().Chain(1)
		if (on.View == warm) != kept || kept && c.view != warm {
			t.Errorf("%s: the view stays: %t; want %t", what, on.View == warm, kept)
		}
	}

	f("it follows", true, warm.Generation, true)
	f("it writes", false, warm.Generation, false)
	f("another generation is stored", true, warm.Generation+1, false)
}
