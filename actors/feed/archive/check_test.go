package archive

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metrics"
)

// check returns what is wrong with the archive in a directory.
func check(t *testing.T, dir string) []string {
	t.Helper()
	a, err := Open(Config{Identity: identity, Dir: dir, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	findings, err := a.Check()
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

// A byte that flipped anywhere in a segment is found, with the file and blocks, and
// nothing else is; the files stay as they are.
func TestCheck(t *testing.T) {
	spans := newMaker(12, 100).spans(90)
	dir := t.TempDir()
	a := openSized(t, dir, 8_000)
	appendAll(t, a, spans)
	second := *a.segments[1]
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if findings := check(t, dir); len(findings) > 0 {
		t.Fatalf("a whole archive: %q", findings)
	}

	file := filepath.Base(second.path)
	for k := int64(0); k < second.size; k += 401 {
		flip(t, second.path, k)
		findings := check(t, dir)
		flip(t, second.path, k)
		if len(findings) == 0 || !strings.Contains(findings[0], file) || !strings.Contains(findings[0], "block") {
			t.Fatalf("byte %d flipped: %q; want file %s", k, findings, file)
		}
		for _, other := range findings[1:] {
			if !strings.Contains(other, file) && !strings.Contains(other, "lacks blocks") {
				t.Fatalf("byte %d flipped: %q", k, other)
			}
		}
	}
	if findings := check(t, dir); len(findings) > 0 {
		t.Errorf("after all: %q", findings)
	}
}

// The blocks of every damaged frame are named, not only of the first.
func TestCheckNamesAll(t *testing.T) {
	spans := newMaker(13, 100).spans(90)
	dir := t.TempDir()
	a := openSized(t, dir, 8_000)
	appendAll(t, a, spans)
	frames, _, err := a.segments[1].frames()
	if err != nil || len(frames) < 4 {
		t.Fatal(len(frames), err)
	}
	path := a.segments[1].path
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	for _, i := range []int{1, 3} {
		flip(t, path, frames[i].at+frameHead)
	}
	findings := check(t, dir)
	if len(findings) != 2 {
		t.Fatalf("%q; want two findings", findings)
	}
	for n, i := range []int{1, 3} {
		want := fmt.Sprintf("damaged: blocks %d to %d:", frames[i].first, frames[i].last)
		if !strings.Contains(findings[n], want) {
			t.Errorf("%q; want %q", findings[n], want)
		}
	}
}

// A scrub names the blocks of the frame whose checksum does not match. Where the header of a frame is
// damaged, it does not know which blocks follow, and names those of the segment.
func TestScrubNamesBlocks(t *testing.T) {
	f := func(name string, at int64, what string, blocks func(s *segment, p *placed) (from, to uint64)) {
		t.Helper()
		a := openSized(t, t.TempDir(), 8_000)
		defer a.Close()
		appendAll(t, a, newMaker(13, 100).spans(90))
		s := a.segments[1]
		frames, _, err := s.frames()
		if err != nil || len(frames) < 4 {
			t.Fatal(len(frames), err)
		}
		flip(t, s.path, frames[2].at+at)
		from, to := blocks(s, &frames[2])

		var damage *Damage
		for range a.Status().Segments + 1 {
			if err := a.Scrub(); err != nil && !errors.As(err, &damage) {
				t.Fatal(err)
			}
		}
		if damage == nil || damage.File != filepath.Base(s.path) || damage.From != from || damage.To != to ||
			damage.Err == nil || !strings.Contains(damage.Error(), what) {
			t.Errorf("%s: %v; want blocks %d to %d, %q", name, damage, from, to, what)
		}
	}

	f("what is packed", frameHead+5, "the checksum of blocks", func(_ *segment, p *placed) (from, to uint64) {
		return p.first, p.last
	})
	f("a header", 10, "the checksum of a frame's header", func(s *segment, _ *placed) (from, to uint64) {
		return s.base.Number + 1, s.last.Number
	})
}

// Damage in the newest segment is told from a write that a kill cut short by what
// follows it.
func TestCheckNewest(t *testing.T) {
	spans := newMaker(16, 100).spans(40)
	dir := t.TempDir()
	a := openSized(t, dir, 1<<20)
	appendAll(t, a, spans)
	frames, _, err := a.segments[0].frames()
	if err != nil || len(frames) < 9 {
		t.Fatal(len(frames), err)
	}
	path := a.segments[0].path
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	f := func(at int64, want string) {
		t.Helper()
		flip(t, path, at)
		got := strings.Join(check(t, dir), "; ")
		flip(t, path, at)
		if !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("byte %d flipped: %q; want %q", at, got, want)
		}
	}
	last := frames[len(frames)-1]
	damaged := fmt.Sprintf("is damaged from block %d on", frames[4].first)
	f(frames[4].at, damaged)
	f(frames[4].at+10, damaged)
	f(frames[4].at+frameHead+5, damaged)
	f(last.at, "")
	f(last.at+10, "")
	f(last.at+frameHead+5, "")
}

// A segment that is gone is a hole; a write that a kill cut short is nothing wrong, and
// neither is an archive that begins late.
func TestCheckHoles(t *testing.T) {
	spans := newMaker(14, 500).spans(90)
	dir := t.TempDir()
	a := openSized(t, dir, 8_000)
	appendAll(t, a, spans)
	second, newest := a.segments[1], a.segments[len(a.segments)-1]
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	if err := os.Truncate(newest.path, newest.size-1); err != nil {
		t.Fatal(err)
	}
	if findings := check(t, dir); len(findings) > 0 {
		t.Errorf("cut at the end: %q", findings)
	}
	if err := os.Remove(second.path); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("the archive lacks blocks %d to %d", second.base.Number+1, second.last.Number)
	if findings := check(t, dir); len(findings) != 1 || !strings.HasPrefix(findings[0], want) {
		t.Errorf("%q; want %q", findings, want)
	}
}

// The metrics say what the archive has.
func TestMeters(t *testing.T) {
	set := metrics.NewSet()
	dir := t.TempDir()
	a, err := Open(Config{Identity: identity, Dir: dir, SegmentBytes: 8_000, Metrics: set})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	f := func(name string, want float64) {
		t.Helper()
		got := set.GetOrCreateGauge("tidemark_archive_"+name+`{chain="1"}`, nil).Get()
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%s is %g; want %g", name, got, want)
		}
	}

	f("bytes", 0)
	f("oldest_block", math.NaN())
	f("newest_block", math.NaN())

	spans := newMaker(15, 100).spans(60)
	appendAll(t, a, spans[:20])
	appendAll(t, a, spans[22:])
	var bytes int64
	for _, s := range a.segments {
		bytes += s.size
	}
	f("bytes", float64(bytes))
	f("segments", float64(len(a.segments)))
	f("oldest_block", 100)
	f("newest_block", float64(spans[59].To))
	f("missing_blocks", float64(spans[21].To-spans[20].From+1))

	flip(t, a.segments[0].path, a.segments[0].size/2)
	if err := a.Scrub(); err == nil {
		t.Error("the damage is not noticed")
	}
	if n := set.GetOrCreateCounter(`tidemark_archive_damages_total{chain="1"}`).Get(); n != 1 {
		t.Errorf("%d damages; want 1", n)
	}
}
