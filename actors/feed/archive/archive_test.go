package archive

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/rankings/market"
)

var identity = Identity{
	Chain: 1, PoolManager: market.Address{0xaa}, PositionManager: market.Address{0xbb}, Start: 100,
}

func openAt(t testing.TB, dir string) *Archive {
	t.Helper()
	return openSized(t, dir, 0)
}

// openSized opens an archive whose segments are full after so many bytes.
func openSized(t testing.TB, dir string, segment int64) *Archive {
	t.Helper()
	a, err := Open(Config{Identity: identity, Dir: dir, SegmentBytes: segment})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// appendAll appends spans with a Sync after each, as a node at the head does.
func appendAll(t testing.TB, a *Archive, spans []market.Span) {
	t.Helper()
	for i := range spans {
		appendSpan(t, a, &spans[i])
		if err := a.Sync(); err != nil {
			t.Fatal(err)
		}
	}
}

func appendSpan(t testing.TB, a *Archive, s *market.Span) {
	t.Helper()
	before := market.Head{Number: s.From - 1, Hash: s.Parent}
	if err := a.Append(before, s); err != nil {
		t.Fatal(err)
	}
}

// readAll reads everything after a block, up to the first hole.
func readAll(t testing.TB, a *Archive, after uint64) (list []market.Span, err error) {
	t.Helper()
	r, err := a.ReadAfter(market.Head{Number: after})
	if err != nil || r == nil {
		return nil, err
	}

	defer r.Close()
	for {
		s, err := r.Next()
		if s == nil || err != nil {
			return list, err
		}
		list = append(list, *s)
	}
}

// hold compares what an archive gives with what it should have, now and opened again.
func hold(t testing.TB, a *Archive, want []market.Span) *Archive {
	t.Helper()
	dir, size := a.cfg.Dir, a.cfg.SegmentBytes
	for range 2 {
		got, err := readAll(t, a, want[0].From-1)
		if err != nil {
			t.Fatal(err)
		}
		sameSpans(t, want, got)
		if st := a.Status(); st.Head != want[len(want)-1].Head() {
			t.Fatalf("the archive ends with %+v; want %+v", st.Head, want[len(want)-1].Head())
		}
		for _, s := range a.segments {
			if s.path != a.pathOf(s.base.Number+1) {
				t.Fatalf("%s begins with block %d", s.path, s.base.Number+1)
			}
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		a = openSized(t, dir, size)
	}

	return a
}

// sameSpans compares encodings, which is much faster than cmp.
func sameSpans(t testing.TB, want, got []market.Span) {
	t.Helper()
	for i := range min(len(want), len(got)) {
		if !bytes.Equal(encodeSpan(want[i]), encodeSpan(got[i])) {
			t.Fatalf("span %d differs (-want +got):\n%s", i, cmp.Diff(want[i], got[i]))
		}
	}
	if len(want) != len(got) {
		t.Fatalf("%d spans; want %d", len(got), len(want))
	}
}

func TestAppendAndRead(t *testing.T) {
	m := newMaker(1, 100)
	spans := m.spans(300)
	a := openSized(t, t.TempDir(), 20_000)
	for i := range spans {
		appendSpan(t, a, &spans[i])
		if i%7 == 0 {
			if err := a.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	a = hold(t, a, spans)
	if st := a.Status(); st.Segments < 5 || !st.Whole(100) || st.Spans != 300 {
		t.Errorf("%+v: want 300 spans in several segments", st)
	}

	// From the middle of a span on all of it is read.
	mid := slices.IndexFunc(spans, func(s market.Span) bool { return s.From > 1000 && s.To > s.From+5 })
	got, err := readAll(t, a, spans[mid].From+2)
	if err != nil || len(got) != len(spans)-mid || got[0].From != spans[mid].From || got[0].To != spans[mid].To {
		t.Fatalf("%d spans from the middle of span %d: %v", len(got), mid, err)
	}
}

// TestRevert: what is taken back is superseded, wherever it is: pending, in the active
// segment, or in segments before it.
func TestRevert(t *testing.T) {
	m := newMaker(2, 100)
	spans := m.spans(120)
	a := openSized(t, t.TempDir(), 8_000)
	appendAll(t, a, spans)

	for fork, depth := range []int{1, 3, 9, 60, 40, 2} {
		from := spans[len(spans)-1].To
		spans = spans[:len(spans)-depth]
		to := spans[len(spans)-1].Head()
		if err := a.Revert(from, to); err != nil {
			t.Fatal(err)
		}
		if fork%2 == 0 { // a kill before anything else is appended
			if err := a.Sync(); err != nil {
				t.Fatal(err)
			}
			a = hold(t, a, spans)
		}
		m.at, m.fork = to, byte(fork+1)
		more := m.spans(depth + 1)
		for i := range more {
			appendSpan(t, a, &more[i])
		}
		if spans = append(spans, more...); fork == 3 { // of what is pending
			from, spans = more[depth].To, spans[:len(spans)-2]
			if err := a.Revert(from, spans[len(spans)-1].Head()); err != nil {
				t.Fatal(err)
			}
			m.at = spans[len(spans)-1].Head()
		}
		a = hold(t, a, spans)
	}
}

// TestKill: whatever part of the last write is in the file, the archive opens with
// the spans before it, and goes on.
func TestKill(t *testing.T) {
	m := newMaker(3, 100)
	spans := m.spans(12)
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans[:11])
	safe := a.active.size
	appendAll(t, a, spans[11:])
	path := a.active.path
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	for n := safe; n < int64(len(whole)); n += 1 + n%5 {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		b := openAt(t, dir)
		if st := b.Status(); st.Head != spans[10].Head() || st.Damages != 0 {
			t.Fatalf("%d of %d bytes: %+v", n, len(whole), st)
		}
		appendAll(t, b, spans[11:])
		got, err := readAll(t, b, 99)
		if err != nil || len(got) != 12 {
			t.Fatalf("%d of %d bytes: %d spans, %v", n, len(whole), len(got), err)
		}
		b.Close()
	}
}

// TestDamage: a byte that flipped anywhere in a sealed segment is noticed by the
// scrub and by a reader, is named, and only the frames it is in are lost.
func TestDamage(t *testing.T) {
	m := newMaker(4, 100)
	spans := m.spans(90)
	from := t.TempDir()
	a := openSized(t, from, 8_000)
	appendAll(t, a, spans)
	second := a.segments[1]
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	for k := int64(fileHead); k < second.size; k += 353 {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Base(second.path))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text[k] ^= 0x40
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}

		b := openSized(t, dir, 8_000)
		var damage *Damage
		for range b.Status().Segments + 1 {
			if err := b.Scrub(); err != nil && !errors.As(err, &damage) {
				t.Fatal(err)
			}
		}
		if damage == nil || damage.File != filepath.Base(path) {
			t.Fatalf("byte %d flipped: the scrub found %v", k, damage)
		}
		refill(t, b, spans)
		b = hold(t, b, spans)
		b.Close()
	}
}

// refill appends the spans that an archive lacks, as a feed does from its nodes.
func refill(t *testing.T, a *Archive, spans []market.Span) {
	t.Helper()
	for range 1000 {
		h := a.firstHole()
		if h == nil {
			return
		}
		i := slices.IndexFunc(spans, func(s market.Span) bool { return s.From == h.after.Number+1 })
		if i < 0 {
			t.Fatalf("the hole after %+v begins inside a span", h.after)
		}

		if err := a.Append(h.after, &spans[i]); err != nil {
			t.Fatal(err)
		}
		if err := a.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the holes are never filled")
}

// scrubbed scrubs an archive until all of it was read.
func scrubbed(t *testing.T, a *Archive) {
	t.Helper()
	for range 2*a.Status().Segments + 1 {
		var damage *Damage
		if err := a.Scrub(); err != nil && !errors.As(err, &damage) {
			t.Fatal(err)
		}
	}
}

// TestDamageKeepsTheRest: what follows a damaged frame in its segment is kept, and only
// the spans of the frame have to be fetched again.
func TestDamageKeepsTheRest(t *testing.T) {
	spans := newMaker(9, 100).spans(90)
	a, _, _ := damaged(t, spans)
	scrubbed(t, a)

	lost := 0
	for _, h := range a.Status().Holes {
		for i := range spans {
			if spans[i].From >= h.From && spans[i].To <= h.To {
				lost++
			}
		}
	}
	if lost != 1 {
		t.Errorf("%d spans are lost with one: %v", lost, a.Status().Holes)
	}
	refill(t, a, spans)
	hold(t, a, spans).Close()
}

// TestDamagesKeepTheRest: so is what follows a second one, in a full segment and in the newest.
func TestDamagesKeepTheRest(t *testing.T) {
	spans := newMaker(9, 100).spans(90)
	for _, size := range []int64{20_000, 1 << 20} {
		a := openSized(t, t.TempDir(), size)
		appendAll(t, a, spans)
		s := a.segments[0]
		frames, _, err := s.frames()
		if err != nil || len(frames) < 8 {
			t.Fatal(len(frames), err)
		}
		var want []Range
		for _, i := range []int{2, 4, 6} {
			flip(t, s.path, frames[i].at+frameHead+5)
			want = append(want, Range{frames[i].first, frames[i].last})
		}

		scrubbed(t, a)
		if st := a.Status(); !slices.Equal(st.Holes, want) || st.Head != spans[89].Head() {
			t.Errorf("the archive lacks %v and ends with block %d; want %v and %d", st.Holes, st.Head.Number, want, spans[89].To)
		}
		refill(t, a, spans)
		hold(t, a, spans).Close()
	}
}

// TestHoleIsFilledBySpansThatAreLonger: blocks that the archive has beside a hole stay as
// they are, when what fills it goes further.
func TestHoleIsFilledBySpansThatAreLonger(t *testing.T) {
	spans := newMaker(9, 100).spans(90)
	a, _, _ := damaged(t, spans)
	scrubbed(t, a)
	h := a.firstHole()
	if h == nil {
		t.Fatal("nothing is missing")
	}
	i := slices.IndexFunc(spans, func(s market.Span) bool { return s.From == h.after.Number+1 })
	long := spans[i]
	long.Blocks, long.Tokens = slices.Clone(long.Blocks), slices.Clone(long.Tokens)
	for _, s := range spans[i+1 : i+6] {
		long.To, long.Hash, long.Time = s.To, s.Hash, s.Time
		long.Blocks = append(long.Blocks, s.Blocks...)
	}

	if err := a.Append(h.after, &long); err != nil {
		t.Fatal(err)
	}
	if err := a.Sync(); err != nil {
		t.Fatal(err)
	}
	if holes := a.Status().Holes; len(holes) > 0 {
		t.Errorf("%v are missing", holes)
	}
	got, err := readAll(t, a, spans[0].From-1)
	if err != nil {
		t.Fatal(err)
	}
	if want := blocksOf(spans); !slices.Equal(blocksOf(got), want) {
		t.Errorf("the archive has %d blocks; want %d", len(blocksOf(got)), len(want))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if found := check(t, a.cfg.Dir); len(found) > 0 {
		t.Errorf("%q", found)
	}
}

// blocksOf lists the blocks of spans, with how many logs each has.
func blocksOf(spans []market.Span) (list [][2]uint64) {
	for _, s := range spans {
		for _, b := range s.Blocks {
			list = append(list, [2]uint64{b.Number, uint64(len(b.Logs))})
		}
	}
	return list
}

// TestScrubOfTheFirstBlock: an archive that begins with the first block of its chain is
// scrubbed like any other.
func TestScrubOfTheFirstBlock(t *testing.T) {
	a := openSized(t, t.TempDir(), 8_000)
	defer a.Close()
	appendAll(t, a, newMaker(4, 1).spans(60))
	for range 2 * a.Status().Segments {
		if err := a.Scrub(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestScrubAfterAChange: a segment of which a scrub has checked a part is checked from its
// beginning once it was written anew. Its frames are elsewhere then, which is no damage.
func TestScrubAfterAChange(t *testing.T) {
	f := func(name string, change func(a *Archive, last *placed)) {
		t.Helper()
		a := openSized(t, t.TempDir(), 1<<20)
		defer a.Close()
		appendAll(t, a, newMaker(9, 100).spans(60))
		s := a.segments[0]
		frames, _, err := s.frames()
		if err != nil {
			t.Fatal(err)
		}
		a.checked = scrub{s.base.Number, frames[20].at} // the scrub goes on from here
		change(a, &frames[40])
		for range 3 * (a.Status().Segments + 1) {
			if err := a.Scrub(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}

	f("damage that the scrub finds", func(a *Archive, last *placed) {
		flip(t, a.segments[0].path, last.at+frameHead+5)
		var damage *Damage
		if err := a.Scrub(); !errors.As(err, &damage) || damage.From != last.first || damage.To != last.last {
			t.Errorf("the scrub finds %v; want blocks %d to %d", err, last.first, last.last)
		}
	})
	f("a revert of all", func(a *Archive, _ *placed) {
		if err := a.Revert(a.Status().Head.Number, market.Head{Number: 98}); err != nil {
			t.Fatal(err)
		}
		appendAll(t, a, newMaker(10, 100).spans(60))
	})
	f("a resync", func(a *Archive, _ *placed) {
		if err := a.Drop(); err != nil {
			t.Fatal(err)
		}
		appendAll(t, a, newMaker(10, 100).spans(60))
	})
}

// TestRevertOfAFullSegment: a segment that is full of blocks that the chain took back, all of
// them, is used again. The next one would have its name.
func TestRevertOfAFullSegment(t *testing.T) {
	spans := newMaker(3, 100).spans(60)
	a := openSized(t, t.TempDir(), 4_000)
	n := 0
	for last := 0; last < 2 || a.active != nil; n++ { // until the second one is ended
		appendAll(t, a, spans[n:n+1])
		last = a.Status().Segments
	}
	base := a.segments[len(a.segments)-1].base
	if err := a.Revert(spans[n-1].To, base); err != nil {
		t.Fatal(err)
	}
	if err := a.Sync(); err != nil {
		t.Fatal(err)
	}

	again := slices.DeleteFunc(slices.Clone(spans), func(s market.Span) bool { return s.From <= base.Number })
	appendAll(t, a, again)
	if st := a.Status(); len(st.Holes) > 0 {
		t.Errorf("the archive lacks %v", st.Holes)
	}
	if found, err := a.Check(); err != nil || len(found) > 0 {
		t.Errorf("%q, %v", found, err)
	}
	for i, s := range a.segments[1:] {
		if s.path == a.segments[i].path {
			t.Errorf("two segments are in %s", s.path)
		}
	}
	hold(t, a, spans).Close()
}

// TestKillWhileBlocksAreReplaced: a segment may still have what the next one replaces, and
// gives its blocks up to there.
func TestKillWhileBlocksAreReplaced(t *testing.T) {
	m := newMaker(8, 100)
	low := m.spans(20)
	at := m.at
	old := m.spans(20)
	m.at = at
	spans := append(slices.Clone(low), m.spans(20)...)
	a := openAt(t, t.TempDir())
	appendAll(t, a, append(low, old...))
	b := openAt(t, t.TempDir())
	appendAll(t, b, spans[20:])
	for _, c := range []*Archive{a, b} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.CopyFS(a.cfg.Dir, os.DirFS(b.cfg.Dir)); err != nil {
		t.Fatal(err)
	}
	a = openAt(t, a.cfg.Dir)
	if st := a.Status(); st.Segments != 2 || len(st.Holes) > 0 {
		t.Errorf("%+v; want two segments without a hole", st)
	}
	hold(t, a, spans).Close()
}

// TestDamagedHeader: a segment whose header cannot be read is set aside.
func TestDamagedHeader(t *testing.T) {
	m := newMaker(5, 100)
	spans := m.spans(60)
	a := openSized(t, t.TempDir(), 8_000)
	appendAll(t, a, spans)
	path, dir := a.segments[1].path, a.cfg.Dir
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[20] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}

	a = openSized(t, dir, 8_000)
	if st := a.Status(); len(st.Holes) != 1 || st.Damages != 1 {
		t.Fatalf("%+v: want one hole", st)
	}
	if _, err := os.Stat(path + ".damaged"); err != nil {
		t.Error(err)
	}
	refill(t, a, spans)
	hold(t, a, spans).Close()
}

// TestReplace: blocks in the middle that were read again replace those that were
// there, and what lies above them stays.
func TestReplace(t *testing.T) {
	m := newMaker(6, 100)
	spans := m.spans(90)
	a := openSized(t, t.TempDir(), 8_000)
	appendAll(t, a, spans)
	again := spans[30]
	again.To = spans[55].To // over several segments
	again.Hash, again.Time = spans[55].Hash, spans[55].Time
	again.Blocks, again.Tokens = again.Blocks[:0:0], nil
	for i := 30; i <= 55; i++ {
		again.Blocks = append(again.Blocks, spans[i].Blocks...)
	}
	appendAll(t, a, []market.Span{again})
	want := slices.Concat(spans[:30], []market.Span{again}, spans[56:])
	a = hold(t, a, want)

	// Up to the middle of a span: the rest of it is missing, what follows stays.
	cut := spans[70]
	cut.To, cut.Hash = cut.From, market.Hash{0xee}
	cut.Blocks = nil
	cut.Time = spans[69].Time
	if spans[70].To == cut.From {
		t.Fatal("choose another span")
	}
	appendAll(t, a, []market.Span{cut})
	missing := Range{cut.To + 1, spans[70].To}
	if holes := a.Status().Holes; !slices.Equal(holes, []Range{missing}) || a.Status().Head != spans[89].Head() {
		t.Errorf("%v are missing; want %v", holes, missing)
	}

	// The rest of the branch that the middle is of ends with another block than what follows.
	rest := market.Span{From: missing.From, To: missing.To, Parent: cut.Hash, Hash: market.Hash{0xef}, Time: cut.Time}
	f := func(rest, next market.Span, want []market.Span) {
		t.Helper()
		b := copyOf(t, a)
		appendAll(t, b, []market.Span{rest, next})
		hold(t, b, want).Close()
	}
	next := market.Span{From: rest.To + 1, To: rest.To + 5, Parent: rest.Hash, Hash: market.Hash{0xf0}, Time: rest.Time}
	low := slices.Concat(want[:slices.IndexFunc(want, func(s market.Span) bool { return s.From == cut.From })], []market.Span{cut})
	f(rest, next, append(slices.Clone(low), rest, next))
	rest.Hash = spans[70].Hash
	next = spans[71]
	f(rest, next, slices.Concat(low, []market.Span{rest}, spans[71:]))
	a.Close()
}

// copyOf opens a copy of an archive that is synced.
func copyOf(t *testing.T, a *Archive) *Archive {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(a.cfg.Dir)); err != nil {
		t.Fatal(err)
	}
	return openSized(t, dir, a.cfg.SegmentBytes)
}

func TestRetention(t *testing.T) {
	m := newMaker(7, 100)
	a, err := Open(Config{Identity: identity, Dir: t.TempDir(), SegmentBytes: 5_000, MaxBytes: 30_000})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	spans := m.spans(200)
	appendAll(t, a, spans)
	st := a.Status()
	if st.Bytes > 40_000 || st.Bytes < 20_000 || st.Whole(100) {
		t.Errorf("%+v: want about 30,000 bytes", st)
	}

	got, err := readAll(t, a, st.Base.Number)
	if err != nil || got[len(got)-1].Head() != spans[199].Head() {
		t.Errorf("%d spans are left, %v", len(got), err)
	}
}

func TestOtherContracts(t *testing.T) {
	dir := t.TempDir()
	a := openAt(t, dir)
	appendAll(t, a, newMaker(8, 100).spans(2))
	a.Close()
	f := func(change func(*Identity), want string) {
		t.Helper()
		id := identity
		change(&id)
		if _, err := Open(Config{Identity: id, Dir: dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}

	f(func(id *Identity) { id.Chain = 2 }, "it is of chain 1, not of chain 2")
	f(func(id *Identity) { id.PoolManager[1] = 1 }, "its pool-manager is 0xaa")
	f(func(id *Identity) { id.PositionManager[1] = 1 }, "its position-manager is 0xbb")
}

// TestFullDisk: a write that fails loses nothing that was appended, and succeeds later.
func TestFullDisk(t *testing.T) {
	m := newMaker(9, 100)
	spans := m.spans(6)
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans[:3])
	appendSpan(t, a, &spans[3])
	file := a.file
	readOnly, err := os.Open(a.active.path)
	if err != nil {
		t.Fatal(err)
	}
	a.file = readOnly // every write fails
	if err := a.Sync(); err == nil {
		t.Fatal("a write that fails is no error")
	}

	if !bytes.Contains(encodeSpan(spans[3]), spans[3].Hash[:]) || a.pending.head.spans != 1 {
		t.Fatal("what was appended is lost")
	}
	readOnly.Close()
	a.file = file
	appendAll(t, a, spans[4:])
	hold(t, a, spans).Close()
}

// An export that is stopped leaves no file, and an import no open one.
func TestTransferStops(t *testing.T) {
	a := openAt(t, t.TempDir())
	defer a.Close()
	appendAll(t, a, newMaker(1, 100).spans(300))
	a.NoteFinalized(a.Status().Head.Number)
	path := filepath.Join(t.TempDir(), "exported")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Export(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped export: %v", err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) > 0 {
		t.Errorf("it left %v", files)
	}

	if _, err := a.Export(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	again := openAt(t, t.TempDir())
	if _, err := again.Import(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	links, _ := filepath.Glob("/proc/self/fd/*")
	for _, link := range links {
		if open, _ := os.Readlink(link); open == path {
			t.Error("the imported file is still open")
		}
	}
}

// What a kill leaves of a file that was being written is removed by the next start, and by
// nobody who only reads.
func TestUnfinishedFilesAreRemoved(t *testing.T) {
	spans := newMaker(5, 100).spans(10)
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans)
	w, err := newWriter(a.pathOf(500), fileHeader{identity, market.Head{Number: 499}})
	if err != nil {
		t.Fatal(err)
	}
	w.file.Close() // killed
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	for _, readOnly := range []bool{true, false} {
		a, err := Open(Config{Identity: identity, Dir: a.cfg.Dir, ReadOnly: readOnly})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(w.file.Name()); (err == nil) != readOnly {
			t.Errorf("read only %t: %v", readOnly, err)
		}
		got, err := readAll(t, a, 99)
		if err != nil {
			t.Fatal(err)
		}
		sameSpans(t, spans, got)
		a.Close()
	}
}
