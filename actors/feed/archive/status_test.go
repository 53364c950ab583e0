package archive

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/rankings/market"
)

// line makes spans of one block each, without events.
func line(from, to uint64) (list []market.Span) {
	var parent market.Hash
	for n := from; n <= to; n++ {
		s := market.Span{From: n, To: n, Parent: parent, Time: int64(n)}
		s.Hash[0], s.Hash[1], s.Hash[31] = byte(n), byte(n>>8), 1
		list = append(list, s)
		parent = s.Hash
	}
	return list
}

// eventsOf counts the events of spans.
func eventsOf(spans []market.Span) (n uint64) {
	for i := range spans {
		for k := range spans[i].Blocks {
			n += uint64(len(spans[i].Blocks[k].Logs))
		}
	}
	return n
}

// The status is of all that was appended, what is pending included, and is the same of
// an archive that is opened again.
func TestStatus(t *testing.T) {
	spans := newMaker(21, 100).spans(60)
	a := openSized(t, t.TempDir(), 8_000)
	hold := func(n int, finalized uint64) {
		t.Helper()
		got := a.Status()
		want := Status{
			Base: market.Head{Number: 99}, Head: spans[n-1].Head(), Finalized: finalized,
			Spans: uint64(n), Events: eventsOf(spans[:n]), Bytes: got.Bytes, Segments: got.Segments,
		}
		if got.Base != want.Base || got.Head != want.Head || got.Finalized != want.Finalized || got.Spans != want.Spans ||
			got.Events != want.Events || len(got.Holes) > 0 || got.Damages != 0 {
			t.Fatalf("after %d spans: %+v; want %+v", n, got, want)
		}
	}

	for i := range spans {
		appendSpan(t, a, &spans[i])
		if i == 30 {
			a.NoteFinalized(spans[20].To)
			a.NoteFinalized(spans[10].To) // an older block changes nothing
		}
		finalized := uint64(0)
		if i >= 30 {
			finalized = spans[20].To
		}
		hold(i+1, finalized)
		if i%5 == 4 {
			if err := a.Sync(); err != nil {
				t.Fatal(err)
			}
			hold(i+1, finalized)
		}
	}

	for range 2 {
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		a = openSized(t, a.cfg.Dir, 8_000)
		hold(60, spans[20].To)
		if e := a.tail(); e.head != spans[59].Head() || e.finalized != spans[20].To {
			t.Errorf("the archive ends with %+v", e)
		}
	}

	names, err := filepath.Glob(filepath.Join(a.cfg.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var bytes int64
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	st := a.Status()
	if sealed := int64(len(names)-1) * footerLen; st.Segments != len(names) || st.Bytes != bytes-sealed {
		t.Errorf("%d bytes in %d segments; the files have %d, %d of them footers, in %d",
			st.Bytes, st.Segments, bytes, sealed, len(names))
	}
}

// An archive without spans ends nowhere, and nothing in it is superseded.
func TestEmptyArchive(t *testing.T) {
	a := openAt(t, t.TempDir())
	if e := a.tail(); e != (ending{}) || a.firstHole() != nil {
		t.Errorf("it ends with %+v, with the hole %v", e, a.firstHole())
	}
	if err := a.Revert(100, market.Head{Number: 90}); err != nil || a.currentVersion() != 0 {
		t.Errorf("a revert: %v, version %d", err, a.currentVersion())
	}
	if err := a.Drop(); err != nil {
		t.Error(err)
	}
}

// An archive is whole when it has every block from the start.
func TestWhole(t *testing.T) {
	f := func(base, head uint64, holes []Range, start uint64, want bool) {
		t.Helper()
		st := Status{Base: market.Head{Number: base}, Head: market.Head{Number: head}, Holes: holes}
		if got := st.Whole(start); got != want {
			t.Errorf("blocks after %d to %d, start %d: whole %t; want %t", base, head, start, got, want)
		}
	}

	f(99, 200, nil, 100, true)
	f(100, 200, nil, 100, false)
	f(98, 200, nil, 100, true)
	f(0, 200, nil, 0, true)
	f(1, 200, nil, 0, false)
	f(0, 0, nil, 1, false)
	f(99, 200, []Range{{150, 150}}, 100, false)
}

// On a full disk nothing is written before Sync; else a frame is written as soon as it
// is full.
func TestWhenFramesAreWritten(t *testing.T) {
	spans := line(100, 10_000)
	full := false
	a, err := Open(Config{Identity: identity, Dir: t.TempDir(), Full: func() bool { return full }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()

	first := 0 // spans of a full frame
	for bytes := 0; bytes < frameBytes; first++ {
		bytes += len(encodeSpan(spans[first]))
	}
	for i := range first - 1 {
		appendSpan(t, a, &spans[i])
	}
	if a.active.size != fileHead {
		t.Errorf("%d bytes are written before the frame is full", len(a.pending.records))
	}
	full = true
	for i := first - 1; i < first+9; i++ {
		appendSpan(t, a, &spans[i])
	}
	if a.active.size != fileHead {
		t.Error("a frame is written on a full disk")
	}
	full = false
	appendSpan(t, a, &spans[first+9])
	if a.active.spans != uint64(first)+10 || a.pending.head.first != 0 || len(a.pending.records) > 0 {
		t.Errorf("a frame of %d spans is written; want %d, and nothing pending", a.active.spans, first+10)
	}

	full = true
	appendSpan(t, a, &spans[first+10])
	if err := a.Sync(); err != nil || a.active.spans != uint64(first)+11 {
		t.Errorf("Sync on a full disk: %v, %d spans are written; want %d", err, a.active.spans, first+11)
	}
}

// Segments above the limit go, the oldest first, and no more of them than need to; the
// newest stays.
func TestOldestGo(t *testing.T) {
	spans := newMaker(23, 100).spans(120)
	a := openSized(t, t.TempDir(), 4_000)
	appendAll(t, a, spans)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	sizes := make([]int64, 0, len(a.segments))
	for _, s := range a.segments {
		sizes = append(sizes, s.size)
	}
	total := a.Status().Bytes

	f := func(limit int64, left int) {
		t.Helper()
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(a.cfg.Dir)); err != nil {
			t.Fatal(err)
		}
		b, err := Open(Config{Identity: identity, Dir: dir, SegmentBytes: 4_000, MaxBytes: limit})
		if err != nil {
			t.Fatal(err)
		}
		version := b.currentVersion()
		if err := b.trim(); err != nil {
			t.Fatal(err)
		}
		st := b.Status()
		if st.Segments != left || st.Head != spans[119].Head() || (b.currentVersion() != version) != (left < len(sizes)) {
			t.Errorf("of %d bytes at most %d: %d segments are left; want %d", total, limit, st.Segments, left)
		}
		if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != left {
			t.Errorf("%d files are left; want %d", len(names), left)
		}
	}

	n := len(sizes)
	f(0, n)
	f(total, n)
	f(total-1, n-1)
	f(total-sizes[0], n-1)
	f(total-sizes[0]-1, n-2)
	f(1, 1)
}

// A dropped archive has nothing, on disk neither, and begins anew.
func TestDrop(t *testing.T) {
	spans := newMaker(24, 100).spans(60)
	a := openSized(t, t.TempDir(), 8_000)
	appendAll(t, a, spans[:50])
	appendSpan(t, a, &spans[50])
	version := a.currentVersion()
	if err := os.Remove(a.segments[0].path); err != nil { // by hand, before
		t.Fatal(err)
	}
	if err := a.Drop(); err != nil {
		t.Fatal(err)
	}

	if st := a.Status(); st.Head.Number != 0 || st.Spans != 0 || st.Segments != 0 {
		t.Errorf("%+v is left", st)
	}
	if files, _ := os.ReadDir(a.cfg.Dir); len(files) > 0 {
		t.Errorf("the files %v are left", files)
	}
	if a.currentVersion() == version {
		t.Error("a reader is not told")
	}
	again := newMaker(25, 300).spans(5)
	appendAll(t, a, again)
	hold(t, a, again).Close()
}

// damagedArchive makes an archive of spans from block 100 on in many segments, the newest
// of which is cut short, and of the second of which a byte differs.
func damagedArchive(t *testing.T, spans []market.Span) (dir, second string, newest *segment) {
	t.Helper()
	a := openSized(t, t.TempDir(), 8_000)
	appendAll(t, a, spans)
	second, newest = a.segments[1].path, a.segments[len(a.segments)-1]
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	if err := os.Truncate(newest.path, newest.size-1); err != nil {
		t.Fatal(err)
	}
	flip(t, second, 20)
	return a.cfg.Dir, second, newest
}

// An archive that is only read is left as it is, whatever is wrong with it, and none is
// made where there is none.
func TestReadOnly(t *testing.T) {
	dir, second, newest := damagedArchive(t, newMaker(26, 100).spans(60))

	names := func() string {
		var list []string
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			info, err := f.Info()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, f.Name(), info.ModTime().String())
		}
		return strings.Join(list, " ")
	}
	was := names()
	b, err := Open(Config{Identity: identity, Dir: dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if st := b.Status(); st.Damages != 1 || len(st.Holes) != 1 {
		t.Errorf("%+v; want one damage and its hole", st)
	}
	first := strings.TrimLeft(strings.TrimSuffix(filepath.Base(second), suffix), "0")
	reason := "is damaged from block " + first + " on: "
	if findings, err := b.Check(); err != nil || !strings.Contains(strings.Join(findings, "; "), reason) {
		t.Errorf("the check says %q, %v; want %q", findings, err, reason)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if now := names(); now != was {
		t.Errorf("the directory had %s; now %s", was, now)
	}

	none := filepath.Join(dir, "none")
	if _, err := Open(Config{Identity: identity, Dir: none, ReadOnly: true}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("a directory was made to be read")
	}
	if _, err := Open(Config{Identity: identity, Dir: newest.path}); err == nil {
		t.Error("a file passes for a directory")
	}
}

// While the archive has more than the ledger, a revert of the ledger supersedes nothing;
// neither does one to the archive's end.
func TestRevertOfLessThanTheEnd(t *testing.T) {
	spans := line(100, 140)
	a := openAt(t, t.TempDir())
	defer a.Close()
	appendAll(t, a, spans)
	f := func(from, to, want uint64) {
		t.Helper()
		version := a.currentVersion()
		if err := a.Revert(from, spans[to-100].Head()); err != nil {
			t.Fatal(err)
		}
		got, err := readAll(t, a, 99)
		if err != nil || got[len(got)-1].To != want || a.Status().Head != spans[want-100].Head() {
			t.Errorf("from %d to %d: the archive ends with %+v, %v; want %d", from, to, a.Status().Head, err, want)
		}
		if changed := a.currentVersion() != version; changed != (to == want) && to != 140 {
			t.Errorf("from %d to %d: readers are told %t", from, to, changed)
		}
	}

	f(139, 130, 140)
	f(200, 140, 140)
	f(140, 139, 139)
	f(200, 120, 120)
	f(120, 110, 110)
}

// What is taken back before it was written leaves no trace: neither in the counts nor in
// the file.
func TestRevertOfPending(t *testing.T) {
	spans := newMaker(28, 100).spans(10)
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans[:4])
	size := a.active.size
	f := func(to int) {
		t.Helper()
		for i := to; i < len(spans); i++ {
			appendSpan(t, a, &spans[i])
		}
		if err := a.Revert(spans[9].To, spans[to-1].Head()); err != nil {
			t.Fatal(err)
		}
		st := a.Status()
		if st.Spans != uint64(to) || st.Events != eventsOf(spans[:to]) || st.Head != spans[to-1].Head() {
			t.Errorf("back to span %d: %+v; want %d events", to, st, eventsOf(spans[:to]))
		}
	}

	f(4)
	if err := a.Sync(); err != nil || a.active.size != size {
		t.Errorf("%v; the file has %d bytes; want %d", err, a.active.size, size)
	}
	f(4)
	for i := 4; i < 7; i++ {
		appendSpan(t, a, &spans[i])
	}
	f(7)
	if err := a.Revert(spans[6].To, spans[4].Head()); err != nil {
		t.Fatal(err)
	}
	f(5)
	appendSpan(t, a, &spans[5])
	appendSpan(t, a, &spans[6])
	hold(t, a, spans[:7]).Close()
}

// A check of an archive whose files cannot be read is no check without findings.
func TestCheckFails(t *testing.T) {
	spans := line(100, 110)
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans)
	appended := line(111, 111)
	appendAll(t, a, appended)
	if err := os.Rename(a.active.path, a.active.path+".away"); err != nil {
		t.Fatal(err)
	}

	if findings, err := a.Check(); err == nil {
		t.Errorf("a file is gone, and the check says %q", findings)
	}
	if err := a.Scrub(); err == nil {
		t.Error("a file is gone, and its sums match")
	}
	if _, err := readAll(t, a, 99); err == nil {
		t.Error("a file is gone, and was read")
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}

// Damage is told with the blocks that are lost.
func TestDamageTexts(t *testing.T) {
	f := func(d Damage, want string) {
		t.Helper()
		d.File, d.Err = "7.spans", os.ErrInvalid
		if got := d.Error(); got != want {
			t.Errorf("got %s; want %s", got, want)
		}
	}

	f(Damage{From: 7, To: 9}, "segment 7.spans of the archive is damaged: blocks 7 to 9: invalid argument")
	f(Damage{From: 7}, "segment 7.spans of the archive is damaged from block 7 on: invalid argument")
}

// The metrics and the log tell what Open had to give up.
func TestOpenTellsWhatIsLost(t *testing.T) {
	spans := newMaker(27, 100).spans(60)
	dir, second, newest := damagedArchive(t, spans)

	var log strings.Builder
	b, err := Open(Config{
		Identity: identity, Dir: dir, SegmentBytes: 8_000, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, want := range []string{
		"level=ERROR msg=\"a segment of the archive cannot be read; its blocks are fetched again\" chain=1 segment=" +
			filepath.Base(second),
		"level=WARN msg=\"the end of a segment of the archive is dropped\" chain=1 segment=" + filepath.Base(newest.path),
		"unfinished=true",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
	info, err := os.Stat(newest.path)
	if err != nil || info.Size() >= newest.size-1 {
		t.Errorf("the unfinished end stays in the file: %v, %v", info, err)
	}
	if i := slices.IndexFunc(spans, func(s market.Span) bool { return s.To == b.Status().Head.Number }); i != 58 {
		t.Errorf("the archive ends with span %d; want the one before the last", i)
	}
}

// A directory is what its name says, whatever characters that has: it is not a pattern. What has
// no segment in it is empty, and what is no directory cannot be read.
func TestNamesOfDirectories(t *testing.T) {
	dir, spans := t.TempDir(), line(100, 110)
	for n, name := range []string{"x", "[x]", "*", "a[b", "?"} {
		a := openAt(t, filepath.Join(dir, name))
		if st := a.Status(); st.Segments != 0 {
			t.Errorf("%s has %d segments before anything is in it", name, st.Segments)
		}
		appendAll(t, a, spans[:n+1])
		hold(t, a, spans[:n+1]).Close()
		if id, err := Find(filepath.Join(dir, name)); err != nil || id != identity {
			t.Errorf("%s is of %+v, %v", name, id, err)
		}
	}

	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(file); err == nil || errors.Is(err, ErrEmpty) {
		t.Errorf("a file: %v", err)
	}
	if _, err := Open(Config{Identity: identity, Dir: file, ReadOnly: true}); err == nil {
		t.Error("a file is opened to be read")
	}
	if _, err := Find(filepath.Join(dir, "none")); !errors.Is(err, ErrEmpty) {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// A footer that is damaged is told and loses nothing: all frames before it are read.
func TestDamagedFooter(t *testing.T) {
	spans := newMaker(36, 100).spans(60)
	a := openSized(t, t.TempDir(), 8_000)
	a.NoteFinalized(123)
	appendAll(t, a, spans)
	first := *a.segments[0]
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	for at := int64(0); at < footerLen; at += 5 {
		flip(t, first.path, first.size+at)
		b, err := Open(Config{Identity: identity, Dir: a.cfg.Dir, SegmentBytes: 8_000, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if st := b.Status(); st.Damages != 1 || st.Spans != 60 || len(st.Holes) > 0 || b.segments[0].finalized != 123 {
			t.Fatalf("byte %d of the footer: %+v, finalized %d; want one damage", at, st, b.segments[0].finalized)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		flip(t, first.path, first.size+at)
	}
}

// What is finalized is known after a start, also of a segment that was not ended, and when
// more is appended.
func TestFinalizedStays(t *testing.T) {
	spans := line(100, 112)
	for _, segment := range []int64{0, 1} {
		a := openSized(t, t.TempDir(), segment)
		appendAll(t, a, spans[:5])
		a.NoteFinalized(103)
		appendAll(t, a, spans[5:11])

		hold := func() {
			t.Helper()
			if st := a.Status(); st.Finalized != 103 || a.tail().finalized != 103 {
				t.Errorf("block %d and %d are finalized; want 103", st.Finalized, a.tail().finalized)
			}
		}
		hold()
		for i := range 2 {
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			a = openSized(t, a.cfg.Dir, segment)
			hold()
			appendAll(t, a, spans[11+i:12+i])
			hold()
		}
		a.Close()
	}
}

// Several spans of one frame are read from any of them on.
func TestReadWithinAFrame(t *testing.T) {
	spans := newMaker(37, 100).spans(12)
	a := openAt(t, t.TempDir())
	defer a.Close()
	for i := range spans {
		appendSpan(t, a, &spans[i])
	}

	for n := range spans {
		got, err := readAll(t, a, spans[n].To)
		if err != nil {
			t.Fatal(err)
		}
		sameSpans(t, spans[n+1:], got)
	}
}
