package chain

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/VictoriaMetrics/metrics"

	"tidemark/actors/feed"
	"tidemark/actors/feed/sim"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

// stage is a chain on a simulated market, with everything it needs.
type stage struct {
	t     *testing.T
	dir   string
	store *storage.Store
	board *rankings.Board
	feed  *sim.Feed
	chain *Chain
	now   time.Time

	tee     func(market.ChainID, []byte, []byte) ([]byte, error)
	follows bool // the chain is opened as one that another node writes
}

// failing is a tee that passes commits on until there is an error to refuse them with.
func failing(with *error) func(market.ChainID, []byte, []byte) ([]byte, error) {
	return func(market.ChainID, []byte, []byte) ([]byte, error) { return nil, *with }
}

var (
	manager = market.Address{0xaa}
	stables = []market.Address{{0x01, 1}, {0x01, 2}, {0x01, 3}}
	wrapped = market.Address{0x02}
)

const (
	days    = 3
	genesis = 1_767_312_000
)

func newStage(t *testing.T) *stage {
	t.Helper()
	return newLongStage(t, days)
}

// newLongStage is a stage with a history of so many days.
func newLongStage(t *testing.T, days int) *stage {
	t.Helper()
	return (&stage{}).start(t, days)
}

func (s *stage) start(t *testing.T, days int) *stage {
	t.Helper()
	s.t, s.dir, s.now = t, t.TempDir(), time.Unix(genesis+int64(days)*market.Day, 0)
	source, err := sim.New(sim.Config{
		Chain: 1, Seed: 3, Positions: 120, Pools: 20, Days: days, Genesis: genesis, StartBlock: 100,
		PositionManager: manager, Stables: stables, Wrapped: wrapped,
		Now: func() time.Time { return s.now },
	})
	if err != nil {
		t.Fatal(err)
	}

	s.feed = source
	s.open()
	t.Cleanup(func() { s.store.Close() })
	return s
}

// open starts as a process does: from the directory.
func (s *stage) open() {
	s.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store, err := storage.Open(s.dir, storage.Options{Logger: quiet, Tee: s.tee})
	if err != nil {
		s.t.Fatal(err)
	}

	open := Open
	if s.follows {
		open = Follow
	}
	params := value.DefaultParams()
	params.Stables, params.WrappedNative = stables, wrapped
	s.store, s.board = store, new(rankings.Board)
	s.chain, err = open(Config{
		Ledger: ledger.Config{Chain: 1, PositionManager: manager, Start: 100},
		Prices: params, WantsState: true, UnavailableAfter: 10 * time.Minute, Opened: s.now,
		Shared: s.tee != nil,
		Log:    quiet, Metrics: NewMetrics(metrics.NewSet(), 1),
	}, store, s.board)
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) load() {
	s.t.Helper()
	if err := s.chain.Load(func() bool { return false }); err != nil {
		s.t.Fatal(err)
	}
	s.chain.Complete(func() {})
}

// follow takes steps of the feed until the ledger is at its head.
func (s *stage) follow() {
	s.t.Helper()
	for {
		var step feed.Step
		step, err := s.feed.Next(s.t.Context(), s.chain.Cursor())
		if err != nil {
			s.t.Fatal(err)
		}

		if err := s.chain.Advance(step, s.now); err != nil {
			s.t.Fatal(err)
		}
		if s.chain.ledger.Head().Number == step.Head.Number {
			return
		}
	}
}

func (s *stage) refresh() {
	s.t.Helper()
	if err := s.chain.Refresh(time.Now, func() {}); err != nil {
		s.t.Fatal(err)
	}
}

// publish follows the feed from what is stored to its head, and publishes that.
func (s *stage) publish() {
	s.t.Helper()
	s.load()
	s.follow()
	s.refresh()
}

// publishAndClose leaves a store with a first generation, which is not open.
func (s *stage) publishAndClose() {
	s.t.Helper()
	s.publish()
	if err := s.store.Close(); err != nil {
		s.t.Fatal(err)
	}
}

// page returns the ids of a page and the generation that it is of.
func (s *stage) page(q rankings.PositionQuestion) (ids []uint64, generation uint64) {
	s.t.Helper()
	c, ok := s.board.Load().Chain(1)
	if !ok || c.View == nil {
		s.t.Fatal("nothing is published")
	}

	search, err := rankings.SearchPositions([]*rankings.View{c.View}, &q)
	if err != nil {
		s.t.Fatal(err)
	}

	page, err := search.Page(s.store, q.Offset(), q.Limit)
	if err != nil {
		s.t.Fatal(err)
	}

	for _, row := range page.Rows {
		ids = append(ids, row.View.State.Positions.At(row.Index).ID)
	}
	return ids, c.View.Generation
}

var ranked = []rankings.PositionQuestion{
	{Page: 1, Limit: 20, MinPoolTVLUsd: 1000},
	{Page: 1, Limit: 100, Sort: rankings.ByPnl, Status: rankings.AnyStatus, IncludeRisky: true},
	{Page: 2, Limit: 10, Sort: rankings.ByIDDescending, Status: rankings.AnyStatus, IncludeRisky: true},
}

func TestHistoryIsPublished(t *testing.T) {
	s := newStage(t)
	s.publish()
	ids, generation := s.page(ranked[1])
	if generation != 1 || len(ids) < 50 {
		t.Errorf("generation %d has %d rows on the first page", generation, len(ids))
	}

	s.refresh()
	if _, generation = s.page(ranked[1]); generation != 1 {
		t.Errorf("generation %d was made of the block of generation 1", generation)
	}

	if findings := ledger.Check(s.chain.ledger.Freeze()); len(findings) > 0 {
		t.Errorf("the ledger has %d findings, the first is %v", len(findings), findings[0])
	}

	if status := s.chain.Status(); status.Syncing || status.LastIndexed != status.ChainHead {
		t.Errorf("at the head the status is %+v", status)
	}
}

// What takes a span back is kept while a reorg may reach it, and not longer.
func TestOldUndosAreDropped(t *testing.T) {
	s := newStage(t)
	s.publish()
	const spans = 30
	for range spans {
		s.now = s.now.Add(5 * time.Minute) // 25 blocks
		s.follow()
		s.refresh()
	}

	r, err := s.store.Restore(1)
	if err != nil {
		t.Fatal(err)
	}
	undos, err := s.store.Undos(r.State, nil)
	if err != nil || len(undos) == 0 || len(undos) > spans/2 {
		t.Errorf("%d undos are stored after %d spans, %v", len(undos), spans, err)
	}
}

// A node that starts again serves the generation that it had, before and
// after its records are loaded, and goes on from it.
func TestReopenServesTheSame(t *testing.T) {
	s := newStage(t)
	s.publish()
	s.now = s.now.Add(5 * time.Minute)
	s.follow()
	s.refresh()
	want := make([][]uint64, len(ranked))
	for i, q := range ranked {
		want[i], _ = s.page(q)
	}

	head := s.chain.ledger.Head()
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}

	s.open()
	if ids, generation := s.page(ranked[0]); generation != 2 || !slices.Equal(ids, want[0]) {
		t.Errorf("a cold generation %d has %v; want 2, %v", generation, ids, want[0])
	}

	s.load()
	for i, q := range ranked {
		if ids, generation := s.page(q); generation != 2 || !slices.Equal(ids, want[i]) {
			t.Errorf("generation %d answers %+v with %v; want 2, %v", generation, q, ids, want[i])
		}
	}

	if at := s.chain.ledger.Head(); at != head {
		t.Errorf("the ledger is at %+v; want %+v", at, head)
	}

	s.now = s.now.Add(5 * time.Minute)
	s.follow()
	s.refresh()
	if _, generation := s.page(ranked[0]); generation != 3 {
		t.Errorf("generation %d follows 2", generation)
	}
}

// TestStoredCutIsLetGo checks that a chain keeps nothing of the State that it was
// restored from, once another one is published: its records would be in memory twice.
func TestStoredCutIsLetGo(t *testing.T) {
	s := newStage(t)
	s.publishAndClose()

	s.open()
	restored := weak.Make(s.chain.kept.State)
	s.load()
	for range 2 { // the store compares a cut with the one before it
		s.now = s.now.Add(5 * time.Minute)
		s.follow()
		s.refresh()
	}
	runtime.GC()
	if restored.Value() != nil {
		t.Error("the State of the start is still in memory")
	}
	runtime.KeepAlive(s)
}

// TestChangesSurviveAReopen checks that the log of a reopened chain begins at the
// generation that was stored.
func TestChangesSurviveAReopen(t *testing.T) {
	s := newStage(t)
	s.publishAndClose()
	s.open()
	s.load()
	if s.board.Load().Log.Next() != 0 {
		t.Fatal("a stored generation counts as a change")
	}

	s.now = s.now.Add(10 * time.Minute)
	s.follow()
	s.refresh()
	steps := s.board.Load().Log.After(0)
	if len(steps) != 1 {
		t.Fatalf("%d steps; want one", len(steps))
	}
	if c := steps[0]; c.Since != c.Generation-1 || c.Unknown || c.Reverted || c.Len() == 0 {
		t.Errorf("generation %d has %d changes since %d", c.Generation, c.Len(), c.Since)
	}
}

// Blocks that are replaced leave no trace: a chain that followed them has the
// pages of one that never saw them.
func TestReorganisation(t *testing.T) {
	followed, direct := newStage(t), newStage(t)
	var logged strings.Builder
	followed.chain.Log = slog.New(slog.NewTextHandler(&logged, nil))
	for _, s := range []*stage{followed, direct} {
		s.load()
		s.follow()
		s.now = s.now.Add(30 * time.Minute)
	}

	followed.follow()
	followed.refresh()
	for _, s := range []*stage{followed, direct} {
		if err := s.feed.Reorg(100); err != nil {
			t.Fatal(err)
		}
	}

	followed.follow()
	direct.follow()
	followed.refresh()
	direct.refresh()
	if a, b := followed.chain.ledger.Head(), direct.chain.ledger.Head(); a != b {
		t.Fatalf("heads are %+v and %+v", a, b)
	}

	for _, q := range ranked {
		a, _ := followed.page(q)
		b, _ := direct.page(q)
		if !slices.Equal(a, b) {
			t.Errorf("after the reorganisation %+v is %v; want %v", q, a, b)
		}
	}

	if followed.chain.Metrics.reverts.Get() == 0 {
		t.Error("nothing was reverted")
	}
	steps := followed.board.Load().Log.After(0)
	if c := steps[len(steps)-1]; !c.Reverted || c.Len() == 0 || c.Unknown {
		t.Errorf("the last generation tells of %d changes, reverted: %v", c.Len(), c.Reverted)
	}
	if len(direct.board.Load().Log.After(0)) != 0 {
		t.Error("the first generation of a chain counts as a change")
	}

	// The chain falls behind and catches up a few times, and is replaced once.
	behind := strings.Count(logged.String(), "chain is behind and catches up")
	caught := strings.Count(logged.String(), "chain has caught up")
	replaced := strings.Count(logged.String(), "the chain was reorganised; its blocks are replaced")
	if behind == 0 || behind > 5 || caught != behind || replaced != 1 {
		t.Errorf("%d times behind, %d times caught up, %d times replaced:\n%s", behind, caught, replaced, &logged)
	}
}

// A reorganisation that goes back further than the ledger can, or to a block that it does
// not have, is an error that names both ends.
func TestRevertThatCannotBe(t *testing.T) {
	s := newStage(t)
	s.load()
	s.follow()
	from := s.chain.ledger.Head()
	anchors := s.chain.ledger.Anchors()
	deepest := anchors[len(anchors)-1]

	f := func(to market.Head, want string) {
		t.Helper()
		err := s.chain.Advance(feed.Step{RevertTo: &to}, s.now)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a revert to %d: %v; want %q", to.Number, err, want)
		}
	}
	other := from
	other.Hash = market.Hash{9}
	f(other, fmt.Sprintf("revert from block %d ends at %d %s; the feed named %d %s",
		from.Number, from.Number, from.Hash, other.Number, other.Hash))
	deepest.Number--
	f(deepest, fmt.Sprintf("cannot revert from block %d to %d: ", from.Number, deepest.Number))
}

// wrong returns the next step with one swap that cannot have happened, and the
// pool that it is of.
func (s *stage) wrong() (feed.Step, market.PoolID) {
	s.t.Helper()
	step, err := s.feed.Next(s.t.Context(), s.chain.Cursor())
	if err != nil {
		s.t.Fatal(err)
	}

	for _, b := range step.Span.Blocks {
		for i, log := range b.Logs {
			if swap, ok := log.Event.(market.Swap); ok {
				swap.Liquidity.Lo++
				b.Logs[i].Event = swap
				return step, swap.Pool
			}
		}
	}

	s.t.Fatal("there is no swap to break")
	return step, market.PoolID{}
}

// An event that contradicts the replay stops the chain and changes nothing,
// when its logs can be read again.
func TestMismatchIsRefused(t *testing.T) {
	s := newStage(t)
	s.load()
	s.follow()
	head := s.chain.ledger.Head()
	s.now = s.now.Add(time.Hour)
	step, pool := s.wrong()
	step.Span.Strict = true

	var mismatch *ledger.Mismatch
	if err := s.chain.Advance(step, s.now); !errors.As(err, &mismatch) || mismatch.Pool != pool {
		t.Fatalf("a wrong liquidity of pool %s was answered %v", pool, err)
	}
	if at := s.chain.ledger.Head(); at.Number < head.Number || at.Number >= step.Span.To {
		t.Errorf("the ledger is at %d", at.Number)
	}
	s.chain.Stop(mismatch)
	if c, _ := s.board.Load().Chain(1); !c.Status.Stopped || c.Status.StopReason == "" {
		t.Errorf("the board says %+v", c.Status)
	}
}

// A chain that stopped goes on when it has indexed the blocks that were refused, and not
// before.
func TestStoppedChainGoesOn(t *testing.T) {
	s := newStage(t)
	s.load()
	s.follow()
	s.now = s.now.Add(time.Hour)
	right, err := s.feed.Next(t.Context(), s.chain.Cursor())
	if err != nil {
		t.Fatal(err)
	}
	s.chain.refused = refusal{to: right.Span.To, tries: 9, deep: true}
	s.chain.Stop(errors.New("refused"))
	s.chain.TryAgain()
	if want := (refusal{to: right.Span.To}); s.chain.refused != want {
		t.Errorf("it is tried again after %+v; want %+v", s.chain.refused, want)
	}

	f := func(step feed.Step, stopped bool) {
		t.Helper()
		if err := s.chain.Advance(step, s.now); err != nil {
			t.Fatal(err)
		}
		if got := s.status(); got.Stopped != stopped || (got.StopReason != "") != stopped {
			t.Errorf("at block %d of %d the board says %+v", s.chain.ledger.Head().Number, right.Span.To, got)
		}
	}
	f(feed.Step{Head: right.Head}, true)
	f(right, false)
}

// Otherwise it quarantines its pool: the log and the board say so, also after a
// restart, and the chain goes on.
func TestMismatchQuarantinesItsPool(t *testing.T) {
	s := newStage(t)
	s.load()
	s.follow()
	var logged bytes.Buffer
	s.chain.Log = slog.New(slog.NewTextHandler(&logged, nil))
	s.now = s.now.Add(time.Hour)
	step, pool := s.wrong()
	if err := s.chain.Advance(step, s.now); err != nil {
		t.Fatal(err)
	}
	if at := s.chain.ledger.Head(); at.Number != step.Span.To {
		t.Errorf("the ledger is at %d; the span ends at %d", at.Number, step.Span.To)
	}
	if text := logged.String(); !strings.Contains(text, pool.String()) ||
		!strings.Contains(text, "liquidity is") {
		t.Errorf("the log says %q; it should name pool %s and why", text, pool)
	}

	counted := func() {
		t.Helper()
		if c, _ := s.board.Load().Chain(1); c.Status.QuarantinedPools != 1 || c.Status.Stopped {
			t.Errorf("the board says %+v", c.Status)
		}
	}
	counted()
	s.refresh()
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	s.open()
	s.load()
	counted()
	for _, f := range ledger.Check(s.chain.ledger.Freeze()) {
		t.Error(f)
	}
}

// What is dropped is indexed again to the same pages; offline outlives it.
func TestResync(t *testing.T) {
	s := newStage(t)
	s.publish()
	want, _ := s.page(ranked[1])
	if err := s.chain.SetOffline(true); err != nil {
		t.Fatal(err)
	}
	if err := s.chain.Resync(); err != nil {
		t.Fatal(err)
	}

	if c, _ := s.board.Load().Chain(1); c.View != nil || !c.Status.Offline {
		t.Errorf("after a resync the board says %+v", c)
	}

	s.follow()
	s.refresh()
	if ids, _ := s.page(ranked[1]); !slices.Equal(ids, want) {
		t.Errorf("indexed again the page is %v; want %v", ids, want)
	}

	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}

	s.open()
	if !s.chain.Status().Offline {
		t.Error("a start forgot that the chain is offline")
	}
}

// A node that is started with a clock that was set back does not call data
// fresh that an hour's lead of the old clock had confirmed.
func TestReopenUnderAnEarlierClock(t *testing.T) {
	s := newStage(t)
	s.publish()
	confirmed := func() time.Time {
		c, _ := s.board.Load().Chain(1)
		return time.UnixMilli(c.View.Confirmed())
	}
	was := confirmed()
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	s.open()
	if got := confirmed(); !got.Equal(was) {
		t.Errorf("confirmed at %s, after a restart at %s", was, got)
	}

	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	s.now = was.Add(-time.Hour)
	s.open()
	if age := s.now.Sub(confirmed()); age != 5*time.Minute {
		t.Errorf("an hour before it was confirmed, data is %s old; want half of what may be served", age)
	}
}

// A store that has lost the last commits says so until they are read again, and the
// next generations have new numbers.
func TestLostCommitsAreReadAgain(t *testing.T) {
	s := newStage(t)
	s.publish()
	saved := filepath.Join(t.TempDir(), "saved")
	if err := s.store.Checkpoint(saved); err != nil {
		t.Fatal(err)
	}

	for range 3 {
		s.now = s.now.Add(10 * time.Minute)
		s.follow()
		s.refresh()
	}
	lost, generation := s.chain.Status().LastIndexed, s.chain.generation
	err := errors.Join(s.store.Close(), os.RemoveAll(s.dir), os.Rename(saved, s.dir))
	if err != nil {
		t.Fatal(err)
	}

	s.open()
	if got := s.chain.Status().Repair; !strings.Contains(got, "the last 3 commits of chain 1 are missing") {
		t.Errorf("the repair is %q", got)
	}
	if s.chain.view == nil || s.chain.view.Generation >= generation {
		t.Errorf("the view is %+v; want an older one than %d", s.chain.view, generation)
	}
	s.load()
	s.now = s.now.Add(10 * time.Minute)
	s.follow()
	s.refresh()
	if got := s.status(); got.Repair != "" || got.LastIndexed.Number < lost.Number {
		t.Errorf("after the blocks were read again the status is %+v", got)
	}
	if got := s.chain.generation; got != generation+1 {
		t.Errorf("the next generation is %d; want %d", got, generation+1)
	}
}

// A chain whose damaged data cannot be dropped is not opened with it.
func TestRebuildWithoutRoom(t *testing.T) {
	s := newStage(t)
	s.publishAndClose()
	quiet := storage.Options{Logger: slog.New(slog.DiscardHandler)}
	quiet.ReadOnly = true
	store, err := storage.Open(s.dir, quiet)
	if err != nil {
		t.Fatal(err)
	}

	s.store, s.board = store, new(rankings.Board)
	if c, err := Rebuild(s.chain.Config, store, s.board, errors.New("damage")); err == nil {
		t.Errorf("the chain was opened at %+v", c.Status().LastIndexed)
	}
	if c, ok := s.board.Load().Chain(1); ok && c.View != nil {
		t.Errorf("generation %d of damaged data is served", c.View.Generation)
	}
}

// A generation whose block was not confirmed by the feed is not older than the one
// before it, although its block may be.
func TestConfirmedNeverGoesBack(t *testing.T) {
	s := newStage(t)
	s.publish()
	later := time.Now().Add(time.Hour).UnixMilli()
	s.chain.view.Confirm(later)

	s.now = s.now.Add(5 * time.Minute)
	step, err := s.feed.Next(s.t.Context(), s.chain.Cursor())
	if err != nil {
		t.Fatal(err)
	}
	step.Confirmed, step.SpanConfirmed = time.Time{}, time.Time{}
	if err := s.chain.Advance(step, s.now); err != nil {
		t.Fatal(err)
	}
	before := s.chain.view
	s.refresh()
	if s.chain.view == before || s.chain.view.Confirmed() != later {
		t.Errorf("generation %d was confirmed at %d; generation %d at %d",
			before.Generation, later, s.chain.view.Generation, s.chain.view.Confirmed())
	}
}

// Logs that come from nodes can be read again, so that a contradiction is refused; those of
// an archive cannot, and it quarantines its pool. So it does when the nodes were asked and
// said the same.
func TestWhatCanBeReadAgain(t *testing.T) {
	f := func(what string, archived, certain, refused bool) {
		t.Helper()
		s := newStage(t)
		s.load()
		s.follow()
		s.now = s.now.Add(time.Hour)
		step, pool := s.wrong()
		s.chain.WantsState, step.Archived, s.chain.refused.certain = false, archived, certain

		var mismatch *ledger.Mismatch
		err := s.chain.Advance(step, s.now)
		if refused && (!errors.As(err, &mismatch) || mismatch.Pool != pool) || !refused && err != nil {
			t.Errorf("%s: %v; refused is %t", what, err, refused)
		}
		if n := s.status().QuarantinedPools; !refused && n != 1 {
			t.Errorf("%s: %d pools are quarantined", what, n)
		}
	}

	f("from nodes", false, false, true)
	f("from the archive", true, false, false)
	f("asked again", false, true, false)
}
