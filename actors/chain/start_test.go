package chain

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/actors/feed"
	"tidemark/rankings/value"
)

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
	if changed := c.valuePools(&st, func() { pauses++ }); len(changed) > 0 || pauses != 1 || slices.Contains(c.stale, true) {
		t.Errorf("%d pools have other stats after %d pauses, stale are %v; want none after one", len(changed), pauses, c.stale)
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
	db, err := pebble.Open(follower.dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quietPebble{}})
	if err == nil {
		err = errors.Join(db.Set([]byte{1, 1, 2}, []byte("junk"), pebble.Sync), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	follower.open()
	follower.load()
	if on, ok := follower.board.Load().Chain(1); follower.chain.view != nil || ok && on.View != nil {
		t.Error("a damaged generation is shown")
	}
}
