package chain

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"tidemark/actors/feed"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// status returns what the board says of the chain.
func (s *stage) status() rankings.ChainStatus {
	s.t.Helper()
	c, ok := s.board.Load().Chain(1)
	if !ok {
		s.t.Fatal("the board does not know the chain")
	}
	return c.Status
}

// A chain of which no block was indexed yet has no lag: the time of its start is not known.
func TestStatusAtTheStart(t *testing.T) {
	s := newStage(t)
	s.load()
	head := market.Head{Number: 99, Hash: market.Hash{1}, Time: genesis}
	if err := s.chain.Advance(feed.Step{Head: head}, s.now); err != nil {
		t.Fatal(err)
	}
	got := s.status()
	if _, seconds, known := got.Lag(); known || got.LastIndexed != (market.Head{}) || got.ChainHead != head {
		t.Errorf("block %d was indexed, %d s behind %d; want none, and no lag", got.LastIndexed.Number, seconds, got.ChainHead.Number)
	}
}

// The board says of a chain what the last step of its feed says.
func TestStatusOfAStep(t *testing.T) {
	s := newStage(t)
	s.load()
	s.follow()
	at, base := s.chain.ledger.Head(), s.status()
	ahead := func(seconds int64) market.Head {
		return market.Head{Number: at.Number + 5, Time: at.Time + seconds}
	}
	f := func(what string, step feed.Step, change func(*rankings.ChainStatus)) {
		t.Helper()
		want := base
		change(&want)
		if err := s.chain.Advance(step, s.now); err != nil {
			t.Fatal(err)
		}
		if got := s.status(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the board says\n%+v; want\n%+v", what, got, want)
		}
	}

	f("nothing new", feed.Step{Head: at}, func(*rankings.ChainStatus) {})
	f("as far behind as may be published", feed.Step{Head: ahead(600)}, func(want *rankings.ChainStatus) {
		want.ChainHead = ahead(600)
	})
	f("too far behind", feed.Step{Head: ahead(601)}, func(want *rankings.ChainStatus) {
		want.ChainHead, want.Syncing = ahead(601), true
	})
	f("no head is known", feed.Step{}, func(want *rankings.ChainStatus) {
		want.ChainHead, want.Syncing = ahead(601), true
	})
	f("catching up", feed.Step{Head: ahead(60), Progress: &feed.Progress{
		From: 10, To: 40, At: 20, Events: 7, RequestsPerSecond: 1.5, EventsPerSecond: 9, ETA: 90 * time.Second,
	}}, func(want *rankings.ChainStatus) {
		want.ChainHead, want.ETASeconds = ahead(60), 90
		want.Progress = &rankings.Progress{
			FromBlock: 10, ToBlock: 40, AtBlock: 20, Events: 7, RequestsPerSecond: 1.5,
		}
	})
	f("confirmed", feed.Step{Head: at, Confirmed: s.now.Add(time.Minute)}, func(want *rankings.ChainStatus) {
		want.ConfirmedAt = s.now.Add(time.Minute).UnixMilli()
	})
	base.ConfirmedAt = s.now.Add(time.Minute).UnixMilli()

	// A feed fails since its first failure, until its next answer.
	for i, why := range []string{"connection refused", "connection refused", "no answer in time"} {
		s.chain.FeedFailed(errors.New(why), s.now.Add(time.Duration(i)*time.Second))
		if got := s.status(); got.FailingSince != s.now.UnixMilli() || got.FeedError != why {
			t.Errorf("after %d failures the feed fails since %d, %q; want %d, %q",
				i+1, got.FailingSince, got.FeedError, s.now.UnixMilli(), why)
		}
	}
	f("the feed works again", feed.Step{Head: at}, func(*rankings.ChainStatus) {})
}

// The board says when the last span was indexed, and by which block it was confirmed.
func TestIndexedAt(t *testing.T) {
	s := newStage(t)
	s.load()
	f := func(what string, indexed, confirmed time.Time) {
		t.Helper()
		if got := s.status(); got.LastIndexedAt != indexed.UnixMilli() || got.ConfirmedAt != confirmed.UnixMilli() {
			t.Errorf("%s: indexed at %d, confirmed at %d; want %d, %d", what, got.LastIndexedAt, got.ConfirmedAt,
				indexed.UnixMilli(), confirmed.UnixMilli())
		}
	}

	s.follow()
	first := s.now
	s.now = s.now.Add(time.Minute)
	step, err := s.feed.Next(t.Context(), s.chain.Cursor())
	if err != nil {
		t.Fatal(err)
	}
	before, confirmed := s.chain.ledger.Head(), first.Add(5*time.Second)
	if err := s.chain.Advance(feed.Step{Head: step.Head, Confirmed: confirmed}, s.now); err != nil {
		t.Fatal(err)
	}
	f("no span", first, confirmed)
	if s.chain.confirmed.head != before {
		t.Errorf("confirmed is %+v; want %+v", s.chain.confirmed.head, before)
	}

	step.Confirmed, step.SpanConfirmed = confirmed, s.now.Add(3*time.Second)
	if err := s.chain.Advance(step, s.now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	f("a span", s.now.Add(time.Second), step.SpanConfirmed)
	if s.chain.confirmed.head != s.chain.ledger.Head() || s.chain.ledger.Head() == before {
		t.Errorf("confirmed is %+v; want the end of the span", s.chain.confirmed.head)
	}
}

// The log says once that a chain is behind, and once that it has caught up.
func TestFallingBehindIsTold(t *testing.T) {
	var log strings.Builder
	c := &Chain{Config: Config{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	f := func(syncing bool, want string) {
		t.Helper()
		log.Reset()
		c.setSyncing(syncing)
		if (want == "") != (log.Len() == 0) || !strings.Contains(log.String(), want) || c.status.Syncing != syncing {
			t.Errorf("behind %t: the log has %q; want %q", syncing, log.String(), want)
		}
	}

	f(false, "")
	f(true, "chain is behind and catches up")
	f(true, "")
	f(false, "chain has caught up")
	f(false, "")
}

// Only the head that was confirmed makes a view fresher.
func TestConfirmedViews(t *testing.T) {
	s := newStage(t)
	s.publish()
	at, was := s.chain.view.State.Head, s.chain.view.Confirmed()
	f := func(head market.Head, want int64) {
		t.Helper()
		s.chain.Confirm(head, s.now.Add(time.Hour))
		if got := s.chain.view.Confirmed(); got != want {
			t.Errorf("after block %d was confirmed the view of block %d is of %d; want %d", head.Number, at.Number, got, want)
		}
	}

	f(market.Head{Number: at.Number, Hash: market.Hash{1}, Time: at.Time}, was)
	f(market.Head{Number: at.Number + 1, Hash: at.Hash, Time: at.Time}, was)
	f(at, s.now.Add(time.Hour).UnixMilli())
}

// A block that was passed before the feed confirmed it was the head at its own time, but
// not later than now, and not before what was published.
func TestUnconfirmedHeads(t *testing.T) {
	now := time.Unix(1_767_400_000, 0)
	f := func(head market.Head, view int64, want int64) {
		t.Helper()
		c := &Chain{confirmed: confirmation{market.Head{Number: 7, Time: 50}, 99_000}}
		if view > 0 {
			c.view, _ = rankings.Build(nil, &market.State{Chain: 1}, 1)
			c.view.Confirm(view)
		}
		if got := c.confirmedAt(head, now); got != want {
			t.Errorf("%+v, a view of %d: %d; want %d", head, view, got, want)
		}
	}

	f(market.Head{Number: 7, Time: 50}, 0, 99_000)
	f(market.Head{Number: 8, Time: 60}, 0, 60_000)
	f(market.Head{Number: 8, Time: 60}, 70_000, 70_000)
	f(market.Head{Number: 8, Time: 60}, 50_000, 60_000)
	f(market.Head{Number: 8, Time: now.Unix() + 5}, 0, now.UnixMilli())
}

// A chain without a generation waits until it is known to be near its head; one that has
// a generation publishes on.
func TestWaiting(t *testing.T) {
	f := func(syncing bool, head uint64, view *rankings.View, want bool) {
		t.Helper()
		c := &Chain{view: view}
		c.status.Syncing, c.status.ChainHead.Number = syncing, head
		if got := c.Waiting(); got != want {
			t.Errorf("syncing %v, head %d, a view %v: waiting %v; want %v", syncing, head, view != nil, got, want)
		}
	}

	f(false, 0, nil, true)
	f(true, 0, nil, true)
	f(true, 9, nil, true)
	f(false, 9, nil, false)
	f(true, 0, new(rankings.View), false)
	f(true, 9, new(rankings.View), false)
}

// A chain that reached its head while nothing was published has a generation to make;
// a new block makes one, and blocks that were read again do.
func TestUnpublished(t *testing.T) {
	s := newStage(t)
	s.load()
	f := func(what string, want bool) {
		t.Helper()
		if got := s.chain.Unpublished(); got != want {
			t.Errorf("%s: unpublished %v; want %v", what, got, want)
		}
	}

	f("nothing is published", true)
	s.follow()
	s.refresh()
	f("published", false)
	s.chain.corrected = true
	f("read again", true)
	s.refresh()
	f("published again", false)
	s.now = s.now.Add(time.Minute)
	s.follow()
	f("a new block", true)
}

// The feed is told once of which currencies of the store the decimals are unknown: after a
// start, and after this node became the writer.
func TestMissingTokensAreToldOnce(t *testing.T) {
	s := newStage(t)
	s.load()
	s.follow()
	st := *s.chain.ledger.Freeze()
	tokens := market.Thaw(st.Tokens)
	for i, decimals := range map[uint32]uint8{2: 0, 3: 77, 4: 0} {
		tokens.Mut(i).Decimals, tokens.Mut(i).BadDecimals = decimals, true
	}
	st.Tokens = tokens.Freeze()
	s.chain.continueFrom(&st, nil, func() {})

	want := []market.Address{st.Tokens.At(2).Address, st.Tokens.At(4).Address}
	if got := s.chain.Cursor().MissingTokens; !slices.Equal(got, want) {
		t.Errorf("the feed is asked for %v; want %v", got, want)
	}
	if again := s.chain.Cursor().MissingTokens; again != nil {
		t.Errorf("the feed is asked again for %v", again)
	}
}

// Nothing is committed that the archive lacks: the first error of the archive ends every
// commit after it, and a start goes on from what both have.
func TestNothingIsCommittedWithoutTheArchive(t *testing.T) {
	spans, dir := smallMarket(t), t.TempDir()
	k := openKept(t, dir)
	half := len(spans) / 2
	for i := range spans[:half] {
		k.take(&spans[i])
	}
	k.refresh()
	committed := k.chain.ledger.Head()

	if err := k.archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "archive")); err != nil {
		t.Fatal(err)
	}
	k.take(&spans[half])
	first := k.chain.unkept
	if first == nil {
		t.Fatal("an archive that is gone took a span")
	}
	k.take(&spans[half+1])
	for range 2 {
		if err := k.chain.Refresh(time.Now, func() {}); !errors.Is(err, first) {
			t.Errorf("Refresh without an archive = %v; want its first error, %v", err, first)
		}
	}
	kept, err := k.store.Restore(1)
	if err != nil || kept.State.Head != committed || k.chain.Backlog() == 0 {
		t.Errorf("the store is at %+v, %v, and %d events wait; want it at %+v", kept.State.Head, err, k.chain.Backlog(), committed)
	}
}

// A commit that fails publishes nothing and keeps the backlog.
func TestFailedCommitIsNotPublished(t *testing.T) {
	var broken error
	s := (&stage{tee: failing(&broken)}).start(t, days)
	s.publish()
	before := s.chain.view
	s.now = s.now.Add(time.Hour)
	s.follow()
	waiting := s.chain.Backlog()

	broken = errors.New("broken")
	err := s.chain.Refresh(time.Now, func() {})
	c, _ := s.board.Load().Chain(1)
	if !errors.Is(err, broken) || c.View != before || s.chain.generation != before.Generation {
		t.Errorf("a commit that fails was answered %v; generation %d is served; want %d", err,
			c.View.Generation, before.Generation)
	}
	if waiting == 0 || s.chain.Backlog() != waiting {
		t.Errorf("%d events wait; want %d", s.chain.Backlog(), waiting)
	}
}

// A stop says why, and that only a resync helps.
func TestStopped(t *testing.T) {
	s := newStage(t)
	s.load()
	s.chain.Stop(feed.ErrTooDeep)
	if got := s.status(); !got.Stopped || !strings.Contains(got.StopReason, "deeper than the kept history") {
		t.Errorf("the board says %+v", got)
	}
	if err := s.chain.Resync(); err != nil {
		t.Fatal(err)
	}
	if got := s.status(); got.Stopped || got.StopReason != "" || !got.Enabled {
		t.Errorf("after a resync the board says %+v", got)
	}
}

// A replay ends with the first error: of its source, or of a span that cannot follow.
func TestReplayThatFails(t *testing.T) {
	spans := smallMarket(t)
	k := openKept(t, t.TempDir())
	defer k.close()
	f := func(source feed.Feed, want string) {
		t.Helper()
		err := k.chain.Replay(t.Context(), source, time.Now, func(feed.Step) { t.Error("a refresh is told") })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the replay: %v; want %q", err, want)
		}
	}

	f(brokenFeed{errors.New("no source")}, "no source")
	spans[1].From += 2
	f(&steps{list: []feed.Step{{Span: &spans[0], Head: spans[0].Head()}, {Span: &spans[1]}}}, ledger.ErrNotNext.Error())
	if at := k.chain.ledger.Head(); at != spans[0].Head() {
		t.Errorf("the ledger is at %+v; want %+v", at, spans[0].Head())
	}
}

type brokenFeed struct{ err error }

func (f brokenFeed) Next(context.Context, feed.Cursor) (feed.Step, error) { return feed.Step{}, f.err }
func (f brokenFeed) Close() error                                         { return nil }

// steps is a feed of steps in memory.
type steps struct{ list []feed.Step }

func (s *steps) Next(context.Context, feed.Cursor) (feed.Step, error) {
	step := s.list[0]
	s.list = s.list[1:]
	return step, nil
}

func (s *steps) Close() error { return nil }

// A load that is stopped says so and loads nothing; the next one loads it all.
func TestStoppedLoad(t *testing.T) {
	s := newStage(t)
	s.publish()
	head := s.chain.ledger.Head()

	for _, s.follows = range []bool{true, false} {
		if err := s.store.Close(); err != nil {
			t.Fatal(err)
		}
		s.open()
		err := s.chain.Load(func() bool { return true })
		if err == nil || err.Error() != "stopped while loading" || s.chain.Loaded() || s.chain.replica != nil {
			t.Errorf("a load that is stopped, following %t: %v, loaded %t", s.follows, err, s.chain.Loaded())
		}
	}
	s.load()
	if at := s.chain.ledger.Head(); at != head || !s.chain.Loaded() {
		t.Errorf("the ledger is at %+v; want %+v", at, head)
	}
}

// A stored generation whose directory is damaged is not served, and the next refresh
// builds another with the same rows.
func TestDamagedDirectory(t *testing.T) {
	s := newStage(t)
	s.publish()
	want, _ := s.page(ranked[0])
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := pebble.Open(s.dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quietPebble{}})
	if err == nil {
		err = errors.Join(db.Set([]byte{1, 1, 2}, []byte("junk"), pebble.Sync), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}

	s.open()
	if c, ok := s.board.Load().Chain(1); ok && c.View != nil {
		t.Error("a damaged generation is served")
	}
	s.load()
	s.now = s.now.Add(5 * time.Minute)
	s.follow()
	s.refresh()
	if ids, generation := s.page(ranked[0]); generation != 2 || len(ids) != len(want) {
		t.Errorf("generation %d has %d rows; want 2, %d", generation, len(ids), len(want))
	}
}

// What other nodes are to be told is refused if it cannot be told, and what they tell if
// it cannot be read: a cut as well as a beat.
func TestNotes(t *testing.T) {
	view, publication := rankings.Build(nil, &market.State{Chain: 1}, 1)
	text, err := (note{At: 5}).encode(view, nil)
	if err != nil || !bytes.HasPrefix(text, []byte(`{"At":5,"Hints":3}`)) {
		t.Errorf("the note is %q, %v", text, err)
	}
	n, told, err := decodeNote(text)
	if err != nil || n.At != 5 || !bytes.Equal(told, view.AppendHints(nil, nil)) {
		t.Errorf("it is read as %+v with %x, %v", n, told, err)
	}
	if _, err := rankings.Follow(nil, view.State, 1, publication.Directory, nil, told, func() {}); err != nil {
		t.Errorf("hints of a note: %v", err)
	}
	if n, told, err := decodeNote([]byte(`{"At":5}hints of another form`)); err != nil || n.At != 5 || len(told) != 0 {
		t.Errorf("a note of an earlier program is read as %+v with %x, %v", n, told, err)
	}
	if n, told, err := decodeNote(nil); err != nil || n.At != 0 || told != nil {
		t.Errorf("no note is read as %+v with %x, %v", n, told, err)
	}

	bad := note{FeedPrices: []value.FeedPrice{{Usd: math.NaN()}}}
	if _, err := bad.encode(view, nil); err == nil || !strings.Contains(err.Error(), "cannot note the answers of the price feed") {
		t.Errorf("a note of NaN: %v", err)
	}

	c := new(Chain)
	if err := c.Take(nil, []byte("{"), nil, time.Now, func() {}); err == nil || !strings.Contains(err.Error(), "cannot read the note of a cut") {
		t.Errorf("a cut with half a note: %v", err)
	}
	if err := c.Hear([]byte("{"), time.Time{}); err == nil || !strings.Contains(err.Error(), "cannot read what the writer of a chain tells") {
		t.Errorf("half a beat: %v", err)
	}
}
