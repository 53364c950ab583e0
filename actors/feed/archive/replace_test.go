package archive

import (
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"tidemark/rankings/market"
)

// longer joins spans to one.
func longer(spans []market.Span) market.Span {
	s := spans[0]
	s.Blocks, s.Tokens = slices.Clone(s.Blocks), slices.Clone(s.Tokens)
	for _, next := range spans[1:] {
		s.To, s.Hash, s.Time = next.To, next.Hash, next.Time
		s.Blocks = append(s.Blocks, next.Blocks...)
	}
	return s
}

// Blocks that are replaced up to the archive's end or beyond it take the segments with them
// that they cover; whoever reads begins anew.
func TestReplaceUpToTheEnd(t *testing.T) {
	all := newMaker(31, 100).spans(110)
	f := func(to int) {
		t.Helper()
		a := openSized(t, t.TempDir(), 4_000)
		appendAll(t, a, all[:90])
		before, segments := a.currentVersion(), a.Status().Segments
		again := longer(all[40:to])
		appendAll(t, a, []market.Span{again})
		if a.currentVersion() == before || a.Status().Segments >= segments {
			t.Errorf("up to span %d: version %d as before, %d segments of %d", to, before, a.Status().Segments, segments)
		}
		a = hold(t, a, append(slices.Clone(all[:40]), again))
		appendAll(t, a, all[to:])
		hold(t, a, slices.Concat(all[:40], []market.Span{again}, all[to:])).Close()
	}

	f(90)
	f(95)
}

// What replaced blocks can be taken back before it is written: the archive ends where it began
// then, and goes on from there.
func TestRevertOfReplacement(t *testing.T) {
	spans := line(100, 120)
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans[:13])
	again := longer(spans[10:13])
	again.Hash[5] = 7
	appendSpan(t, a, &again)
	if err := a.Revert(again.To, spans[9].Head()); err != nil {
		t.Fatal(err)
	}

	if st := a.Status(); st.Head.Number != 109 || st.Head.Hash != spans[9].Hash {
		t.Errorf("the archive ends with %+v; want block 109", st.Head)
	}
	appendAll(t, a, spans[10:15])
	if st := a.Status(); st.Segments != 1 || len(st.Holes) > 0 {
		t.Errorf("%d segments, %v are missing", st.Segments, st.Holes)
	}
	hold(t, a, spans[:15]).Close()
}

// Of another branch is what follows the replaced block within its segment. That is no damage, and
// the segments after it are of that branch too.
func TestReplaceByAnotherBranch(t *testing.T) {
	spans := newMaker(9, 100).spans(90)
	a := openSized(t, t.TempDir(), 8_000)
	defer a.Close()
	appendAll(t, a, spans)
	var log strings.Builder
	a.cfg.Log = slog.New(slog.NewTextHandler(&log, nil))

	i := slices.IndexFunc(spans, func(s market.Span) bool { return s.From == a.segments[1].base.Number+1 }) + 1
	other := spans[i]
	other.Hash[5] ^= 7
	appendAll(t, a, []market.Span{other})
	if log.Len() > 0 {
		t.Errorf("it logs %s", &log)
	}
	if st := a.Status(); st.Head != other.Head() || len(st.Holes) > 0 {
		t.Errorf("it ends with block %d, and lacks %v; want it to end with %d", st.Head.Number, st.Holes, other.To)
	}
}

// A span of which a part was superseded cannot be given any more: its blocks are missing, and are
// fetched again.
func TestPartOfASpanIsSuperseded(t *testing.T) {
	spans := line(100, 130)
	a := openAt(t, t.TempDir())
	defer a.Close()
	appendAll(t, a, append(slices.Clone(spans[:10]), longer(spans[10:20])))
	appendAll(t, a, spans[15:])

	got, err := readAll(t, a, 99)
	if err != nil || len(got) != 10 {
		t.Fatalf("%d spans and %v; want ten", len(got), err)
	}
	if holes := a.Status().Holes; !slices.Equal(holes, []Range{{110, 114}}) {
		t.Errorf("%v are missing; want blocks 110 to 114", holes)
	}
}

// Reading from a block on does not meet damage before it.
func TestDamageBeforeTheBlock(t *testing.T) {
	spans := newMaker(9, 100).spans(90)
	a, _, _ := damaged(t, spans)
	defer a.Close()
	_, err := readAll(t, a, 99)
	var damage *Damage
	if !errors.As(err, &damage) {
		t.Fatalf("reading all: %v; want damage", err)
	}

	i := slices.IndexFunc(spans, func(s market.Span) bool { return s.From > damage.To })
	got, err := readAll(t, a, spans[i].From-1)
	if err != nil {
		t.Fatalf("after block %d: %v", spans[i].From-1, err)
	}
	sameSpans(t, spans[i:], got)
}

// An archive that is taken back below its first block is empty, and begins anew.
func TestRevertOfAll(t *testing.T) {
	spans := newMaker(32, 100).spans(60)
	a := openSized(t, t.TempDir(), 8_000)
	appendAll(t, a, spans)
	if err := a.Revert(spans[59].To, market.Head{Number: 98}); err != nil {
		t.Fatal(err)
	}

	st := a.Status()
	if st.Segments != 0 || st.Head != (market.Head{}) || st.Spans != 0 || a.active != nil || a.file != nil {
		t.Errorf("%+v is left", st)
	}
	if files, err := os.ReadDir(a.cfg.Dir); err != nil || len(files) > 0 {
		t.Errorf("the files %v are left, %v", files, err)
	}
	appendAll(t, a, spans[:10])
	hold(t, a, spans[:10]).Close()
}

// An archive of which nothing can be read is not exported, and a check needs what is pending to
// be written.
func TestNothingToRead(t *testing.T) {
	a := openAt(t, t.TempDir())
	if _, err := a.export(t.Context(), a.cfg.Dir+"/exported", market.Head{Number: 99}, 120); err == nil ||
		!strings.Contains(err.Error(), "nothing can be read of it") {
		t.Errorf("an export of nothing: %v", err)
	}

	spans := line(100, 110)
	appendAll(t, a, spans[:5])
	appendSpan(t, a, &spans[5])
	a.file.Close()
	if findings, err := a.Check(); err == nil {
		t.Errorf("what is pending cannot be written, and the check says %q", findings)
	}
	if _, err := a.export(t.Context(), a.cfg.Dir+"/exported", market.Head{Number: 99}, 120); err == nil {
		t.Error("what is pending cannot be written, and is exported")
	}
}

// Damage that cannot be cut out is told with the reason, and the archive stays as it was.
func TestDamageThatStays(t *testing.T) {
	spans := newMaker(9, 100).spans(90)
	f := func(what, want string, spoil func(a *Archive, d *Damage)) {
		t.Helper()
		a, _, _ := damaged(t, spans)
		defer a.Close()
		_, err := readAll(t, a, 99)
		var damage *Damage
		if !errors.As(err, &damage) {
			t.Fatalf("reading all: %v", err)
		}
		before := a.Status()
		spoil(a, damage)
		err = a.CutOut(damage)
		if !errors.Is(err, damage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", what, err, want)
		}
		if st := a.Status(); st.Segments != before.Segments || st.Head != before.Head || len(st.Holes) > 0 {
			t.Errorf("%s: %+v is left of %+v", what, st, before)
		}
	}
	segmentOf := func(a *Archive, d *Damage) *segment {
		i := slices.IndexFunc(a.segments, func(s *segment) bool { return strings.HasSuffix(s.path, d.File) })
		return a.segments[i]
	}

	f("the lower part cannot be written", "is a directory", func(a *Archive, d *Damage) {
		obstruct(t, segmentOf(a, d).path+".tmp")
	})
	f("the upper part cannot be written", "is a directory", func(a *Archive, d *Damage) {
		obstruct(t, a.pathOf(d.To+1)+".tmp")
	})
	f("a segment that is gone", "", func(_ *Archive, d *Damage) { d.File = "0.spans" })
}

// What is split of a segment must follow what is written already.
func TestSplitFollows(t *testing.T) {
	spans := newMaker(33, 100).spans(20)
	a := openAt(t, t.TempDir())
	defer a.Close()
	appendAll(t, a, spans)
	s := a.segments[0]
	r, err := a.readSegment(s, s.base)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()

	low, err := newWriter(a.pathOf(1), fileHeader{s.Identity, market.Head{Number: 7}})
	if err != nil {
		t.Fatal(err)
	}
	err = r.split(low, nil)
	if want := "a span begins with block 100 after block 7"; err == nil || err.Error() != want {
		t.Errorf("%v; want %q", err, want)
	}
	if _, err := low.finish(err); err == nil {
		t.Error("what could not be split is kept")
	}
}

// A segment that says that it has more blocks than it has is found, with those that it lacks.
func TestSegmentThatSaysTooMuch(t *testing.T) {
	spans := line(100, 110)
	a := openAt(t, t.TempDir())
	defer a.Close()
	w, err := newWriter(a.pathOf(100), fileHeader{identity, market.Head{Number: 99}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range spans {
		if err := w.add(&spans[i], 0); err != nil {
			t.Fatal(err)
		}
	}
	w.seg.last.Number = 120
	if _, err := w.finish(nil); err != nil {
		t.Fatal(err)
	}

	findings := check(t, a.cfg.Dir)
	want := "blocks 111 to 120: its blocks end with 110; it says 120"
	if len(findings) != 1 || !strings.Contains(findings[0], want) {
		t.Errorf("%q; want %q", findings, want)
	}
}

// A hole is named with both of its ends.
func TestEndsOfAHole(t *testing.T) {
	spans := line(100, 130)
	a := openAt(t, t.TempDir())
	defer a.Close()
	appendAll(t, a, spans[:10])
	appendAll(t, a, spans[20:])
	if h := a.firstHole(); h == nil || h.after != spans[9].Head() || h.until != 119 {
		t.Errorf("the hole is %+v; want it after block 109 until 119", h)
	}
}

// What fills the blocks before the first segment and goes further replaces the blocks there.
func TestLongSpanBeforeTheFirst(t *testing.T) {
	spans := line(100, 130)
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans[20:])
	appendAll(t, a, []market.Span{longer(spans[:25])})
	got, err := readAll(t, a, 99)
	if err != nil || len(got) != 7 || got[0].To != 124 || got[1].From != 125 || got[6].To != 130 {
		t.Errorf("%d spans, the first up to block %d, %v; want one up to 124 before the others", len(got), got[0].To, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}

// Of many segments only the one that is written is open.
func TestOpenSegments(t *testing.T) {
	a := openSized(t, t.TempDir(), 4_000)
	spans := newMaker(34, 100).spans(60)
	appendAll(t, a, spans[:59])
	appendSpan(t, a, &spans[59])
	open := func(want int) {
		t.Helper()
		list := 0
		links, _ := os.ReadDir("/proc/self/fd")
		for _, link := range links {
			if path, _ := os.Readlink("/proc/self/fd/" + link.Name()); strings.HasPrefix(path, a.cfg.Dir) {
				list++
			}
		}
		if list != want {
			t.Errorf("%d files of %d segments are open; want %d", list, a.Status().Segments, want)
		}
	}

	open(1)
	again := longer(spans[40:42])
	appendSpan(t, a, &again)
	open(1)
	if err := a.Revert(spans[59].To, spans[20].Head()); err != nil {
		t.Fatal(err)
	}
	open(1)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	open(0)
}

// However much of a segment's footer is there after a kill, the segment is whole.
func TestKillWhileSealing(t *testing.T) {
	spans := line(100, 140)
	a := openSized(t, t.TempDir(), 1)
	for i := range spans {
		appendSpan(t, a, &spans[i])
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	path := a.segments[0].path
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	for n := range footerLen + 1 {
		if err := os.WriteFile(path, text[:len(text)-footerLen+n], 0o600); err != nil {
			t.Fatal(err)
		}
		b := openAt(t, a.cfg.Dir)
		if st := b.Status(); st.Head != spans[40].Head() || st.Damages != 0 || st.Spans != 41 {
			t.Fatalf("with %d bytes of the footer: %+v", n, st)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if findings := check(t, a.cfg.Dir); len(findings) > 0 {
			t.Errorf("with %d bytes of the footer: %q", n, findings)
		}
	}
}

// While the nodes are asked, nothing of the archive is being read.
func TestReaderEndsAtTheNodes(t *testing.T) {
	spans := line(100, 120)
	a := openAt(t, t.TempDir())
	defer a.Close()
	appendAll(t, a, spans)
	f := NewFeed(a, &nodes{spans: spans})
	defer f.Close()

	next(t, f, after(market.Head{Number: 99}))
	if f.reader == nil {
		t.Fatal("the archive is not read")
	}
	if _, err := f.Next(t.Context(), after(market.Head{Number: 100, Hash: market.Hash{0xee}})); f.reader != nil {
		t.Errorf("on another branch the archive is still read, %v", err)
	}
}

// Frames of a block each are superseded from the block on that the chain went back to, also after
// a start, and damage in what is superseded is not met. Damage in a frame's header is of all blocks
// from that frame on.
func TestSupersededFrames(t *testing.T) {
	spans := line(100, 110)
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans)
	old, _, err := a.segments[0].frames()
	if err != nil || len(old) != 11 {
		t.Fatalf("%d frames, %v", len(old), err)
	}
	if err := a.Revert(110, spans[5].Head()); err != nil {
		t.Fatal(err)
	}
	a = hold(t, a, spans[:6])

	other := line(106, 108)
	for i := range other {
		other[i].Hash[5] = 7
	}
	other[0].Parent, other[1].Parent, other[2].Parent = spans[5].Hash, other[0].Hash, other[1].Hash
	appendAll(t, a, other)
	a = hold(t, a, slices.Concat(spans[:6], other))
	defer a.Close()
	flip(t, a.segments[0].path, old[8].at+frameHead)
	got, err := readAll(t, a, 99)
	if err != nil {
		t.Fatalf("with damage in what is superseded: %v", err)
	}
	sameSpans(t, slices.Concat(spans[:6], other), got)

	flip(t, a.segments[0].path, old[3].at)
	var damage *Damage
	if got, err := readAll(t, a, 99); !errors.As(err, &damage) || len(got) != 3 || damage.From != 103 || damage.To != 108 {
		t.Errorf("%d spans and %v; want three, and the damage of blocks 103 to 108", len(got), err)
	}
}

// Blocks that are replaced before damage take what follows in the segment with them, since it cannot
// be read; it is missing then, and the segments after it stay.
func TestReplaceBeforeDamage(t *testing.T) {
	spans := newMaker(9, 100).spans(90)
	a, _, _ := damaged(t, spans)
	defer a.Close()
	second, third := a.segments[1].base.Number, a.segments[2].base
	i := slices.IndexFunc(spans, func(s market.Span) bool { return s.From == second+1 })
	appendAll(t, a, spans[i:i+1])
	if holes := a.Status().Holes; !slices.Equal(holes, []Range{{spans[i].To + 1, third.Number}}) {
		t.Errorf("%v are missing; want what follows block %d up to %d", holes, spans[i].To, third.Number)
	}
}
