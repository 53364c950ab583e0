package chain

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/actors/feed/archive"
	"tidemark/rankings"
	"tidemark/rankings/block"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// A repair ends with the generation that has its block, or with the first one if the data
// was dropped.
func TestRepairEnds(t *testing.T) {
	f := func(repair string, to, at uint64, want string) {
		t.Helper()
		c := &Chain{board: new(rankings.Board), repairTo: to}
		c.Log, c.Config.Ledger.Chain = slog.New(slog.DiscardHandler), 1
		c.view = &rankings.View{State: &market.State{Head: market.Head{Number: at}}}
		c.status.Repair = repair
		c.endRepair()
		if c.status.Repair != want {
			t.Errorf("a repair %q to block %d, at block %d: %q; want %q", repair, to, at, c.status.Repair, want)
		}
		if on, ok := c.board.Load().Chain(1); ok != (repair != want) || ok && on.Status.Repair != "" {
			t.Errorf("a repair %q to block %d, at block %d: the board says %+v", repair, to, at, on)
		}
	}

	f("lost", 9, 8, "lost")
	f("lost", 9, 9, "")
	f("lost", 9, 10, "")
	f("damaged", 0, 1, "")
	f("", 0, 1, "")
}

// A chain that is opened again, as after a fault, keeps what readers have pinned.
func TestReopenedChainKeepsPins(t *testing.T) {
	s := newStage(t)
	s.publish()
	pinned := s.chain.view
	pinned.Pin()
	var err error
	if s.chain, err = Open(s.chain.Config, s.store, s.board); err != nil {
		t.Fatal(err)
	}
	s.load()
	for range 4 {
		s.turn(time.Hour)
	}

	search, err := rankings.SearchPositions([]*rankings.View{pinned}, &ranked[0])
	if err != nil {
		t.Fatal(err)
	}
	if page, err := search.Page(s.store, 0, 20); err != nil || len(page.Rows) == 0 {
		t.Errorf("a pinned page after generation %d: %+v, %v", s.chain.generation, page, err)
	}
	pinned.Unpin()
	s.turn(time.Hour)
	s.turn(time.Hour)
	if _, err := search.Page(s.store, 0, 20); !errors.Is(err, block.ErrLeafGone) {
		t.Errorf("a page that is pinned no longer: %v", err)
	}
}

// A stored time is believed unless it is yet to come.
func TestStoredTimes(t *testing.T) {
	opened := time.UnixMilli(1_800_000_000_000)
	f := func(opened time.Time, milli, want int64) {
		t.Helper()
		c := &Chain{Config: Config{Opened: opened, UnavailableAfter: 10 * time.Second}}
		if got := c.believeStored(milli); got != want {
			t.Errorf("opened at %d, stored %d: %d; want %d", opened.UnixMilli(), milli, got, want)
		}
	}

	f(opened, 5, 5)
	f(opened, 1_800_000_000_000, 1_800_000_000_000)
	f(opened, 1_800_000_000_001, 1_799_999_995_000)
	f(time.Time{}, 1_800_000_000_001, 1_800_000_000_001)
}

// A chain that starts from nothing has nothing of before but its generation, whether it is
// served, what it does in the cluster and what it repairs.
func TestBeginsAnew(t *testing.T) {
	s := newStage(t)
	s.publish()
	c := s.chain
	c.confirmed, c.refused, c.unkept = confirmation{milli: 5}, refusal{to: 9}, errors.New("full")
	c.reverted, c.generation, c.kept, c.everything = true, 7, new(storage.Restored), false
	fillFields(reflect.ValueOf(&c.status).Elem())
	c.status.Role = rankings.Writer
	want := rankings.ChainStatus{Enabled: true, Offline: true, Repair: c.status.Repair, Role: rankings.Writer}

	c.beginAnew()
	if c.kept != nil || c.view != nil || !c.everything || c.prices.Len() != 0 || c.stats.Len() != 0 || c.due != nil {
		t.Errorf("it has a view of before: %t, %d prices, %d stats", c.view != nil, c.prices.Len(), c.stats.Len())
	}
	if c.confirmed != (confirmation{}) || c.refused != (refusal{}) || c.unkept != nil || c.reverted || c.generation != 7 {
		t.Errorf("%+v, %+v, %v, taken back: %t, generation %d", c.confirmed, c.refused, c.unkept, c.reverted, c.generation)
	}
	if got := c.ledger.Head(); got.Number != 99 || c.Transactions() != 0 {
		t.Errorf("the ledger is at %+v with %d entries; want it before block 100", got, c.Transactions())
	}
	if got := s.status(); !reflect.DeepEqual(got, want) {
		t.Errorf("the board says %+v; want %+v", got, want)
	}
}

// A chain whose data cannot be dropped goes on with it, or is opened again.
func TestDropThatFails(t *testing.T) {
	var broken error
	s := (&stage{tee: failing(&broken)}).start(t, days)
	s.publish()
	broken = errors.New("broken")
	if err := s.chain.Restart(); !errors.Is(err, broken) || s.chain.view == nil || s.chain.ledger.Head().Number < 100 {
		t.Errorf("%v, and the ledger is at %+v", err, s.chain.ledger.Head())
	}

	k := openKept(t, t.TempDir())
	defer k.store.Close()
	spans := smallMarket(t)
	k.take(&spans[0])
	if err := errors.Join(k.archive.Close(), os.RemoveAll(filepath.Join(k.dir, "archive"))); err != nil {
		t.Fatal(err)
	}
	err := k.chain.Resync()
	if at := k.chain.ledger.Head(); err == nil || at != spans[0].Head() {
		t.Errorf("an archive that cannot be dropped: %v, and the ledger is at %+v", err, at)
	}
}

// A resync that a full disk does not allow takes nothing, the archive neither.
func TestResyncOnAFullDisk(t *testing.T) {
	k := openKept(t, t.TempDir())
	defer k.close()
	spans := smallMarket(t)
	for i := range 3 {
		k.take(&spans[i])
	}
	k.refresh()
	store := k.store
	full, err := storage.Open(t.TempDir(), storage.Options{
		MinFreeBytes: 1 << 62, BallastBytes: -1, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if _, err := full.Guard().Check(); err != nil {
		t.Fatal(err)
	}

	k.chain.store = full
	if err := k.chain.Resync(); !errors.Is(err, storage.ErrReadOnly) {
		t.Errorf("the resync ends with %v", err)
	}
	if got := k.archive.Status().Head; got != spans[2].Head() {
		t.Errorf("the archive ends with %+v; want %+v", got, spans[2].Head())
	}

	k.chain.store = store
	if err := k.chain.Resync(); err != nil || k.archive.Status().Head.Number != 0 {
		t.Errorf("once there is room: %v, and the archive has %+v", err, k.archive.Status())
	}
}

// A stored generation that does not fit its records is no longer served once they are loaded,
// by a writer or by a follower.
func TestGenerationThatDoesNotFit(t *testing.T) {
	s, writer, follower := newShared(t)
	writer.turn(0)
	s.catchUp(follower)
	if err := follower.store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, follows := range []bool{false, true} {
		follower.follows = follows
		follower.open()
		c := follower.chain
		kept := c.kept
		if err := c.Load(func() bool { return false }); err != nil {
			t.Fatal(err)
		}

		other := *kept.State
		if follows {
			other = *c.replica.Cut().State
		}
		positions := market.Thaw(other.Positions)
		first, last := positions.Mut(0), positions.Mut(other.Positions.Len()-1)
		*first, *last = *last, *first
		other.Positions = positions.Freeze()
		view, err := rankings.Open(&other, kept.Generation, kept.Directory)
		if err != nil {
			t.Fatal(err)
		}
		c.view = view
		follower.board.Publish(view)

		c.Complete(func() {})
		if on, ok := follower.board.Load().Chain(1); c.view != nil || ok && on.View != nil {
			t.Errorf("follows %t: it is served", follows)
		}
		if err := follower.store.Close(); err != nil {
			t.Fatal(err)
		}
	}
	follower.open() // for the end of the test
}

// What an operator says of a chain is shown once it is stored, and what a comparison found at
// once.
func TestSaidOfAChain(t *testing.T) {
	s := newStage(t)
	s.publishAndClose()
	for _, readOnly := range []bool{true, false} {
		store, err := storage.Open(s.dir, storage.Options{Logger: slog.New(slog.DiscardHandler), ReadOnly: readOnly})
		if err != nil {
			t.Fatal(err)
		}
		s.store, s.board = store, new(rankings.Board)
		if s.chain, err = Open(s.chain.Config, store, s.board); err != nil {
			t.Fatal(err)
		}

		err = s.chain.SetOffline(true)
		if stored := store.Offline(1); (err != nil) != readOnly || s.status().Offline == readOnly || stored == readOnly {
			t.Errorf("read only %t: %v, stored %t, shown %t", readOnly, err, stored, s.status().Offline)
		}
		found := &rankings.Verification{Block: 7}
		if s.chain.SetVerified(found); s.status().Verified != found {
			t.Errorf("read only %t: what was found is %+v", readOnly, s.status().Verified)
		}
		if !readOnly {
			break // closed by the stage
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A chain that is rebuilt is empty, says why, and does so until its first generation.
func TestRebuilt(t *testing.T) {
	s := newStage(t)
	s.publish()
	last := s.chain.generation
	c, err := Rebuild(s.chain.Config, s.store, s.board, errors.New("a damaged row"))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.status(); got.Repair != "a damaged row" || got.LastIndexed.Number > 99 || c.view != nil {
		t.Errorf("the board says %+v", got)
	}

	s.chain = c
	s.publish()
	if got := s.status(); got.Repair != "" || c.generation != last+1 {
		t.Errorf("with generation %d the board says %+v", c.generation, got)
	}
}

// The number of entries is that of the histories of all positions.
func TestTransactions(t *testing.T) {
	s := newStage(t)
	s.publish()
	st, n := s.chain.view.State, uint64(0)
	for i := range st.Positions.Len() {
		it := s.store.Transactions(1, i, storage.Place{}, storage.End(1<<63), storage.OldestFirst)
		for it.Next() {
			n++
		}
		it.Close()
	}

	if got := s.chain.Transactions(); got != n || n == 0 {
		t.Errorf("%d entries; want %d", got, n)
	}
}

// What is loaded is not loaded again, and a chain that is followed has no ledger, also
// while there is nothing of it.
func TestLoadedOnce(t *testing.T) {
	s := newStage(t)
	s.publish()
	before, view := s.chain.ledger, s.chain.view
	if s.chain.Complete(func() {}); s.chain.view != view {
		t.Error("a view that is complete is made once more")
	}
	if err := s.chain.Load(func() bool { return true }); err != nil || s.chain.ledger != before {
		t.Errorf("a second load: %v, another ledger: %t", err, s.chain.ledger != before)
	}

	for _, days := range []int{0, 1} {
		c := &Chain{}
		var err error
		store, board := newStage(t), new(rankings.Board)
		if days > 0 {
			store.publish()
		}
		if c, err = Follow(store.chain.Config, store.store, board); err != nil {
			t.Fatal(err)
		}
		if on, ok := board.Load().Chain(1); c.Loaded() || !c.Following() || !ok || on.Status.Role != rankings.Follower {
			t.Errorf("it has a ledger: %t, follows: %t, and shows %+v", c.Loaded(), c.Following(), on)
		}
	}
}

// Stats of an earlier format, which have no windows of an hour, are computed again.
func TestStatsOfAnEarlierFormat(t *testing.T) {
	s := newStage(t)
	s.publish()
	st := *s.chain.view.State
	stats := market.Thaw(st.Stats)
	unknown := value.Stats(&st, 0)
	unknown.VolumeUsd1h = market.Unknown
	*stats.Mut(3) = unknown
	stats.Mut(4).Holdings = [2]float64{market.Unknown, market.Unknown}
	stats.Truncate(st.Pools.Len() - 1)
	st.Stats = stats.Freeze()

	s.chain.continueFrom(&st, nil, func() {})
	for i, due := range s.chain.due {
		if (due == dueHeld) != (i == 3 || i == 4) {
			t.Errorf("of pool %d %d is to be computed again", i, due)
		}
	}
	if n := len(s.chain.due); n != int(st.Pools.Len()) {
		t.Errorf("%d pools are known; want %d", n, st.Pools.Len())
	}
}

// A replay commits what has come together, tells of it, and shows the archive's end,
// although the chain has gone on since.
func TestReplayTells(t *testing.T) {
	spans := smallMarket(t)
	k := openKept(t, t.TempDir())
	defer k.close()
	k.chain.backlog = replayBacklog
	head := spans[len(spans)-1].Head()
	head.Number, head.Time = head.Number+1000, head.Time+365*market.Day
	source := &ending{steps{list: []feed.Step{{Span: &spans[0], Head: head}, {Span: &spans[1], Head: head}}}}

	var told []uint64
	err := k.chain.Replay(t.Context(), source, time.Now, func(step feed.Step) {
		if told = append(told, step.Span.To); k.chain.Backlog() > 0 || !k.chain.Status().Syncing {
			t.Errorf("a commit is told while %d events wait", k.chain.Backlog())
		}
	})
	if err != nil || len(told) != 1 || told[0] != spans[0].To {
		t.Errorf("the replay: %v, commits up to %v; want %d", err, told, spans[0].To)
	}
	if v := k.chain.view; v == nil || v.State.Head != spans[1].Head() || v.Generation != 1 {
		t.Errorf("the end of the archive is not shown: %+v", v)
	}
}

// ending is an archive that ends after its steps.
type ending struct{ steps }

func (e *ending) Next(ctx context.Context, c feed.Cursor) (feed.Step, error) {
	if len(e.list) == 0 {
		return feed.Step{}, archive.ErrEnd
	}
	return e.steps.Next(ctx, c)
}

// Of a span that is refused, the archive has what was applied before, and not what it was
// told to be from an archive.
func TestArchiveOfARefusedSpan(t *testing.T) {
	f := func(archived bool) {
		t.Helper()
		spans := smallMarket(t)
		k := openKept(t, t.TempDir())
		defer k.close()
		span := spans[0]
		span.Blocks = append([]market.Block{}, span.Blocks...)
		last := &span.Blocks[len(span.Blocks)-1]
		last.Logs = append([]market.Log{}, last.Logs...)
		for i := range last.Logs { // events of a position that nobody has made
			last.Logs[i].Event = market.ModifyLiquidity{Pool: market.PoolID{0xee}, TickLower: 1, TickUpper: -1}
		}

		head := spans[len(spans)-1].Head()
		step := feed.Step{Span: &span, Head: head, Archived: archived}
		var mismatch *ledger.Mismatch
		err := k.chain.Advance(step, time.Now())
		if archived {
			if st := k.archive.Status(); st.Spans != 0 {
				t.Errorf("what came from an archive is archived again: %+v", st)
			}
			return
		}
		at := k.chain.ledger.Head()
		if !errors.As(err, &mismatch) || at.Number < 100 || at.Number >= span.To {
			t.Fatalf("%v at %+v; want a refusal in the middle", err, at)
		}
		if st := k.archive.Status(); st.Head != at || !st.Whole(100) {
			t.Errorf("the archive is at %+v; want %+v", st.Head, at)
		}
	}

	f(false)
	f(true)
}
