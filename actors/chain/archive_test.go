package chain

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/cockroachdb/pebble/v2"

	"tidemark/actors/feed"
	"tidemark/actors/feed/archive"
	"tidemark/actors/feed/sim"
	"tidemark/rankings"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
	"tidemark/storage"
)

var archiveIdentity = archive.Identity{
	Chain: 1, PoolManager: market.Address{0xab}, PositionManager: manager, Start: 100,
}

// kept is a chain with an archive, fed from a list of spans.
type kept struct {
	t       testing.TB
	dir     string
	store   *storage.Store
	archive *archive.Archive
	chain   *Chain
}

func openKept(t testing.TB, dir string) *kept {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	k := &kept{t: t, dir: dir}
	var err error
	if k.store, err = storage.Open(filepath.Join(dir, "market"), storage.Options{Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	k.archive, err = archive.Open(archive.Config{
		Identity: archiveIdentity, Dir: filepath.Join(dir, "archive"), SegmentBytes: archive.MinSegmentBytes,
	})
	if err != nil {
		t.Fatal(err)
	}

	params := value.DefaultParams()
	params.Stables, params.WrappedNative = stables, wrapped
	k.chain, err = Open(Config{
		Ledger: ledger.Config{Chain: 1, PositionManager: manager, Start: 100},
		Prices: params, UnavailableAfter: 10 * time.Minute, Archive: k.archive,
		Log: quiet, Metrics: NewMetrics(metrics.NewSet(), 1),
	}, k.store, new(rankings.Board))
	if err == nil {
		err = k.chain.Load(func() bool { return false })
	}
	if err != nil {
		t.Fatal(err)
	}
	k.chain.Complete(func() {})
	return k
}

func (k *kept) close() {
	k.t.Helper()
	if err := k.archive.Close(); err != nil {
		k.t.Fatal(err)
	}
	if err := k.store.Close(); err != nil {
		k.t.Fatal(err)
	}
}

// replay replays an archive, or a feed of spans, into the chain.
func (k *kept) replay(source feed.Feed) {
	k.t.Helper()
	if err := k.chain.Replay(context.Background(), source, time.Now, func(feed.Step) {}); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kept) take(span *market.Span) {
	k.t.Helper()
	head := market.Head{Number: span.To + 1, Time: span.Time}
	if err := k.chain.Advance(feed.Step{Span: span, Head: head}, time.Now()); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kept) refresh() {
	k.t.Helper()
	if err := k.chain.Refresh(time.Now, func() {}); err != nil {
		k.t.Fatal(err)
	}
}

// spanList is a feed of spans in memory.
type spanList struct{ spans []market.Span }

func (l *spanList) Next(_ context.Context, c feed.Cursor) (feed.Step, error) {
	i, found := slices.BinarySearchFunc(l.spans, c.Anchors[0].Number+1, func(s market.Span, from uint64) int {
		return int(int64(s.From) - int64(from))
	})
	if !found {
		return feed.Step{}, archive.ErrEnd
	}
	head := l.spans[len(l.spans)-1].Head()
	return feed.Step{Span: &l.spans[i], Head: head}, nil
}

func (l *spanList) Close() error { return nil }

// simulate returns the spans of a simulated market, in the order in which a node
// would give them: large ones, then one a block.
func simulate(t testing.TB, cfg sim.Config, live int) []market.Span {
	t.Helper()
	now := time.Unix(cfg.Genesis+int64(cfg.Days)*market.Day, 0)
	cfg.Chain, cfg.Seed, cfg.Genesis, cfg.StartBlock = 1, 3, genesis, 100
	cfg.PositionManager, cfg.Stables, cfg.Wrapped = manager, stables, wrapped
	cfg.Now = func() time.Time { return now }
	source, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	l := ledger.New(ledger.Config{Chain: 1, PositionManager: manager, Start: 100, Stables: stables})

	var spans []market.Span
	for {
		step, err := source.Next(context.Background(), feed.Cursor{Anchors: []market.Head{l.Head()}, State: l.Freeze()})
		if err != nil {
			t.Fatal(err)
		}
		if step.Span == nil || step.Span.To == step.Head.Number {
			if live--; live < 0 {
				return spans
			}
			now = now.Add(12 * time.Second)
		}
		if step.Span == nil {
			continue
		}
		for _, piece := range ledger.CutHours(step.Span, l.Head().Time) {
			if _, err := l.Apply(&piece); err != nil {
				t.Fatal(err)
			}
		}
		l.Changes()
		spans = append(spans, *step.Span)
	}
}

func smallMarket(t testing.TB) []market.Span {
	return simulate(t, sim.Config{Positions: 120, Pools: 20, Days: days, Genesis: genesis}, 40)
}

// stateBytes closes a chain and returns every row and every entry of a series in its
// store: all but heads, undos and what belongs to generations, which count on. Which part of
// a pool's row has what depends on when it was written, so pools are as they are read.
func (k *kept) stateBytes() map[string]string {
	k.t.Helper()
	rows := map[string]string{}
	r, err := k.store.Restore(1)
	if err != nil {
		k.t.Fatal(err)
	}
	for i := range r.State.Pools.Len() {
		rows[fmt.Sprint("pool ", i)] = fmt.Sprint(*r.State.Pools.At(i))
	}

	if findings, err := k.store.Check(); err != nil || len(findings) > 0 {
		k.t.Fatalf("%v, %v", findings, err)
	}
	k.close()
	db, err := pebble.Open(filepath.Join(k.dir, "market"), &pebble.Options{
		FormatMajorVersion: pebble.FormatNewest, Logger: quietPebble{}, ReadOnly: true,
	})
	if err != nil {
		k.t.Fatal(err)
	}
	defer db.Close()
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{1, 1, 0x10}, UpperBound: []byte{1, 1, 0x30}})
	if err != nil {
		k.t.Fatal(err)
	}
	defer it.Close()

	const pools = 0x12
	for ok := it.First(); ok; ok = it.Next() {
		if it.Key()[2] != pools {
			rows[string(it.Key())] = string(it.Value())
		}
	}
	return rows
}

type quietPebble struct{}

func (quietPebble) Infof(string, ...any)  {}
func (quietPebble) Errorf(string, ...any) {}
func (quietPebble) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// sameState compares the bytes of two states.
func sameState(t *testing.T, want, got map[string]string) {
	t.Helper()
	if len(want) < 1000 {
		t.Fatalf("%d rows are no state", len(want))
	}
	for key, value := range want {
		if got[key] != value {
			t.Fatalf("row %x is %x; want %x", key, got[key], value)
		}
	}

	if len(got) != len(want) {
		t.Fatalf("%d rows; want %d", len(got), len(want))
	}
}

func TestReplayEqualsLive(t *testing.T) {
	spans := smallMarket(t)
	first := openKept(t, t.TempDir())
	for i := range spans {
		first.take(&spans[i])
		if i%3 == 0 {
			first.refresh()
		}
	}
	first.refresh()
	want := first.archive.Status()
	if !want.Whole(100) || want.Head != spans[len(spans)-1].Head() {
		t.Fatalf("the archive has %+v", want)
	}

	// From its own archive, after its data was dropped.
	if err := first.chain.Restart(); err != nil {
		t.Fatal(err)
	}
	second := openKept(t, t.TempDir())
	second.replay(&spanList{spans})
	first.replay(archive.NewFeed(first.archive, nil))
	if got := first.archive.Status(); got.Head != want.Head || got.Spans != want.Spans {
		t.Errorf("the replay changed the archive from %+v to %+v", want, got)
	}

	// On another machine, by a file.
	dir := t.TempDir()
	path := filepath.Join(dir, "chain1.spans")
	first.archive.NoteFinalized(spans[len(spans)-1].To)
	if err := first.archive.Sync(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.archive.Export(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	third := openKept(t, dir)
	st, err := third.archive.Import(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	third.replay(archive.NewFeed(third.archive, &spanList{spans})) // the rest from a node
	if st.Head.Number >= third.chain.ledger.Head().Number {
		t.Errorf("the file ends with %d; want less than %d", st.Head.Number, third.chain.ledger.Head().Number)
	}
	state := second.stateBytes()
	sameState(t, state, first.stateBytes())
	sameState(t, state, third.stateBytes())
}

// TestKillBetweenWrites: wherever a kill falls between the writes of archive and
// store, the next start goes on to the same state.
func TestKillBetweenWrites(t *testing.T) {
	spans := smallMarket(t)
	want := openKept(t, t.TempDir())
	want.replay(&spanList{spans})
	state := want.stateBytes()

	dir, copies := t.TempDir(), []string{}
	k := openKept(t, dir)
	snapshot := func() {
		to := t.TempDir()
		if err := k.store.Checkpoint(filepath.Join(to, "market")); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(to, "archive"), os.DirFS(filepath.Join(dir, "archive"))); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, to)
	}
	for i := range spans {
		k.take(&spans[i])
		if i%5 != 0 {
			continue
		}
		snapshot() // spans that are in neither, or in the archive alone
		if err := k.archive.Sync(); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			snapshot() // in the archive, not committed
		}
		k.refresh()
	}
	k.close()

	for _, dir := range copies {
		after := openKept(t, dir)
		committed, archived := after.chain.ledger.Head(), after.archive.Status()
		if committed.Number >= spans[0].From && archived.Head.Number < committed.Number {
			t.Fatalf("the archive ends with %d; the store has %d", archived.Head.Number, committed.Number)
		}
		after.replay(archive.NewFeed(after.archive, &spanList{spans}))
		if st := after.archive.Status(); !st.Whole(100) || st.Head != spans[len(spans)-1].Head() {
			t.Errorf("the archive has %+v", st)
		}
		sameState(t, state, after.stateBytes())
	}
}

// TestReorgIsArchived: a reorganisation supersedes what it took back, in the archive
// as in the store.
func TestReorgIsArchived(t *testing.T) {
	spans := smallMarket(t)
	k := openKept(t, t.TempDir())
	n := len(spans) - 6
	for i := range spans[:n] {
		k.take(&spans[i])
	}
	for fork := range 3 { // blocks of another branch, without events, and back
		at := spans[n-1-fork].Head()
		if err := k.chain.Advance(feed.Step{RevertTo: &at}, time.Now()); err != nil {
			t.Fatal(err)
		}
		branch := market.Span{
			From: at.Number + 1, To: at.Number + 2, Parent: at.Hash, Time: at.Time + 24,
			Hash: market.Hash{0xf0, byte(fork)},
		}
		k.take(&branch)
		k.refresh()
		if err := k.chain.Advance(feed.Step{RevertTo: &at}, time.Now()); err != nil {
			t.Fatal(err)
		}
		for i := n - fork - 1; i < n; i++ {
			if spans[i].From > at.Number {
				k.take(&spans[i])
			}
		}
		k.refresh()
	}
	for i := range spans[n:] {
		k.take(&spans[n+i])
	}
	k.refresh()

	other := openKept(t, t.TempDir())
	other.replay(archive.NewFeed(k.archive, nil))
	sameState(t, k.stateBytes(), other.stateBytes())
}
