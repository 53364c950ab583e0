package chain

import (
	"errors"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"tidemark/actors/feed"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// Keys of records of chain 1: undoKey is that of block 99.
var (
	headKey, directoryKey = []byte{1, 1, 1}, []byte{1, 1, 2}
	undoKey               = []byte{1, 1, 0x30, 10: 99}
)

// spoil damages a record of a store that is closed.
func (s *stage) spoil(key []byte) {
	s.t.Helper()
	db, err := pebble.Open(s.dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quietPebble{}})
	if err == nil {
		err = errors.Join(db.Set(key, []byte("junk"), pebble.Sync), db.Close())
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// A chain whose head cannot be read is not opened, neither to be written nor to be followed.
func TestDamagedHead(t *testing.T) {
	s := newStage(t)
	s.publishAndClose()
	s.spoil(headKey)
	store, err := storage.Open(s.dir, storage.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.store = store

	var damage *storage.Damage
	if c, err := Open(s.chain.Config, store, s.board); c != nil || !errors.As(err, &damage) {
		t.Errorf("it is opened: %t, %v", c != nil, err)
	}
	if c, err := Follow(s.chain.Config, store, s.board); c != nil || !errors.As(err, &damage) {
		t.Errorf("it is followed: %t, %v", c != nil, err)
	}
}

// A chain whose history cannot be read is not loaded.
func TestDamagedUndo(t *testing.T) {
	s := newStage(t)
	s.publishAndClose()
	s.spoil(undoKey)
	s.open()
	var damage *storage.Damage
	err := s.chain.Load(func() bool { return false })
	if !errors.As(err, &damage) || !strings.Contains(err.Error(), "undo of block 99") || s.chain.Loaded() {
		t.Errorf("it is loaded: %t, %v", s.chain.Loaded(), err)
	}
}

// After a start the prices and the stats are those of the store, and no pool is valued again
// before something changes.
func TestPricesAndStatsOfAStart(t *testing.T) {
	s := newStage(t)
	s.publish()
	prices, stats := s.chain.prices.Freeze(), s.chain.stats.Freeze()
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}

	s.open()
	s.load()
	c := s.chain
	if c.prices.Len() != prices.Len() || c.stats.Len() != stats.Len() || prices.Len() == 0 {
		t.Fatalf("%d prices and %d stats; want %d and %d", c.prices.Len(), c.stats.Len(), prices.Len(), stats.Len())
	}
	for i := range prices.Len() {
		if !samePrice(c.prices.At(i), prices.At(i)) {
			t.Errorf("token %d has the price %+v; want %+v", i, *c.prices.At(i), *prices.At(i))
		}
	}
	for i := range stats.Len() {
		if !sameStats(c.stats.At(i), stats.At(i)) {
			t.Errorf("pool %d has the stats %+v; want %+v", i, *c.stats.At(i), *stats.At(i))
		}
	}

	st, pauses := *c.view.State, 0
	changed := c.valuePools(&st, func() { pauses++ })
	if len(changed) > 0 || pauses != 1 || slices.Max(c.due) > 0 {
		t.Errorf("%d pools have other stats after %d pauses, stale are %v; want none after one",
			len(changed), pauses, c.due)
	}
	c.everything = true
	if c.valuePools(&st, func() { pauses++ }); pauses != 2+int(st.Pools.Len())/strideValued || c.everything {
		t.Errorf("%d pauses for %d pools", pauses, st.Pools.Len())
	}
}

// The answers of the price feed are those of the generation that is made with them.
func TestAnswersOfThePriceFeed(t *testing.T) {
	s := newStage(t)
	s.load()
	s.follow()
	answers := []value.FeedPrice{{Token: s.chain.ledger.Freeze().Tokens.At(1).Address, Usd: 7}}
	s.chain.External = func() []value.FeedPrice { return answers }
	s.refresh()
	if got := s.chain.view.FeedPrices; !slices.Equal(got, answers) {
		t.Errorf("the generation is of the answers %+v; want %+v", got, answers)
	}
}

// A replay ends when what it applied cannot be committed, also before the archive's end.
func TestReplayThatCannotCommit(t *testing.T) {
	spans := smallMarket(t)
	k := openKept(t, t.TempDir())
	defer k.close()
	broken := errors.New("broken")
	k.chain.unkept, k.chain.backlog = broken, replayBacklog
	source := &steps{list: []feed.Step{{Span: &spans[0], Head: spans[len(spans)-1].Head()}}}
	err := k.chain.Replay(t.Context(), source, time.Now, func(feed.Step) { t.Error("a commit is told of") })
	if !errors.Is(err, broken) {
		t.Errorf("the replay ends with %v; want %v", err, broken)
	}
}

// A follower shows nothing of a stored generation that is damaged, and goes on to show what it
// has while the writer commits without one.
func TestFollowerWithoutAGeneration(t *testing.T) {
	s, writer, follower := newShared(t)
	writer.turn(0)
	s.catchUp(follower)
	old := follower.chain.view

	writer.now = writer.now.Add(5 * time.Minute)
	writer.follow()
	writer.chain.status.Syncing = true
	writer.refresh()
	s.catchUp(follower)
	if err := follower.store.Close(); err != nil {
		t.Fatal(err)
	}
	follower.open()
	follower.load()
	follower.board.Publish(old)
	follower.chain.completeReplica(func() {})
	if on, ok := follower.board.Load().Chain(1); !ok || on.View != old {
		t.Error("a cut without a generation takes away what is shown")
	}

	writer.turn(5 * time.Minute)
	s.catchUp(follower)
	if err := follower.store.Close(); err != nil {
		t.Fatal(err)
	}
	follower.spoil(directoryKey)
	follower.open()
	follower.load()
	if on, ok := follower.board.Load().Chain(1); follower.chain.view != nil || ok && on.View != nil {
		t.Error("a damaged generation is shown")
	}
}

// What followers cannot be told is not published.
func TestNoteThatCannotBeTold(t *testing.T) {
	_, writer, _ := newShared(t)
	writer.follow()
	writer.chain.External = func() []value.FeedPrice {
		return []value.FeedPrice{{Token: market.Address{0x99}, Usd: math.Inf(1)}}
	}
	err := writer.chain.Refresh(time.Now, func() {})
	if err == nil || writer.chain.view != nil || writer.chain.generation != 0 {
		t.Errorf("%v, generation %d is published", err, writer.chain.generation)
	}
}

// The record of an hour's price is the same if all of it is, also while no price is known.
func TestSameRecord(t *testing.T) {
	f := func(want bool, change func(r *ledger.HourPrice)) {
		t.Helper()
		for _, usd := range []float64{7, math.NaN()} {
			a := ledger.HourPrice{Token: 3, Usd: usd}
			b := a
			change(&b)
			if sameRecord(a, b) != want || sameRecord(b, a) != want {
				t.Errorf("%+v and %+v: want them to be the same: %t", a, b, want)
			}
		}
	}

	f(true, func(*ledger.HourPrice) {})
	f(false, func(r *ledger.HourPrice) { r.Usd = 8 })
	f(false, func(r *ledger.HourPrice) { r.Token = 4 })
	f(false, func(r *ledger.HourPrice) { r.PriceLostAt = 4 })
	f(false, func(r *ledger.HourPrice) { r.TrustLostAt = 4 })
}

// Whether the windows take a step or not: what is to be valued again stays so until it was.
func TestStaleStaysStale(t *testing.T) {
	s := newStage(t)
	s.publish()

	for _, wait := range []time.Duration{time.Minute, time.Hour} {
		s.now = s.now.Add(wait)
		s.follow()
		c := s.chain
		for i := range c.due {
			c.due[i] = dueHeld
		}
		c.markStale(c.ledger.Freeze(), c.ledger.Changes(), func() {})
		if slices.Min(c.due) != dueHeld {
			t.Errorf("after %s what is due of pools is %v; want all", wait, c.due)
		}
	}
}

// Only what was published counts as taken back for those who were told of it.
func TestRevertOfWhatWasPublished(t *testing.T) {
	s := newStage(t)
	s.publish()
	c := s.chain
	published := c.view.State.Head
	s.now = s.now.Add(5 * time.Minute)
	s.follow()
	if c.ledger.Head() == published {
		t.Fatal("there is no new block")
	}

	if err := c.revert(published); err != nil || c.reverted {
		t.Errorf("back to the published block: %v, of it blocks are taken back: %t", err, c.reverted)
	}
	if err := c.revert(c.ledger.Anchors()[1]); err != nil || !c.reverted {
		t.Errorf("back below it: %v, of it blocks are taken back: %t", err, c.reverted)
	}
}

// A cut that cannot be stored, or whose generation cannot be read, is refused, and what was
// shown before stays.
func TestCutThatIsRefused(t *testing.T) {
	s, writer, follower := newShared(t)
	writer.turn(0)
	s.catchUp(follower)
	writer.turn(5 * time.Minute)
	cut, shown := s.cuts[len(s.cuts)-1], follower.chain.view
	f := func(what string, batch []byte) {
		t.Helper()
		c := follower.chain
		if err := c.Take(batch, cut.note, cut.place, time.Now, func() {}); err == nil {
			t.Errorf("%s: the cut is taken", what)
		}
		if on, ok := follower.board.Load().Chain(1); !ok || on.View == nil || on.View.Generation != shown.Generation {
			t.Errorf("%s: the board has %+v; want generation %d", what, on, shown.Generation)
		}
	}
	reopen := func(readOnly bool) {
		t.Helper()
		store, err := storage.Open(follower.dir, storage.Options{
			Logger: slog.New(slog.DiscardHandler), ReadOnly: readOnly,
		})
		if err != nil {
			t.Fatal(err)
		}
		follower.store, follower.board = store, new(rankings.Board)
		if follower.chain, err = Follow(follower.chain.Config, store, follower.board); err != nil {
			t.Fatal(err)
		}
		follower.load()
	}

	if err := follower.store.Close(); err != nil {
		t.Fatal(err)
	}

	reopen(true)
	f("a store without room", cut.batch)
	if err := follower.store.Close(); err != nil {
		t.Fatal(err)
	}
	reopen(false)
	f("a damaged directory", withJunk(t, cut.batch, directoryKey))
}

// withJunk returns a batch in which the value of a key is junk.
func withJunk(t *testing.T, batch, key []byte) []byte {
	t.Helper()
	db, err := pebble.Open("", &pebble.Options{FS: vfs.NewMem(), Logger: quietPebble{}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()

	b := db.NewBatch()
	defer b.Close()
	if err = b.SetRepr(slices.Clone(batch)); err == nil {
		err = b.Set(key, []byte("junk"), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(b.Repr())
}
