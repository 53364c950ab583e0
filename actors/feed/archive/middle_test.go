package archive

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/rankings/market"
)

// crossed is a line of blocks with a span over ten of them, blocks 110 to 119, and the span that
// goes on after block 114, within it, on another branch.
func crossed() (spans []market.Span, on []market.Span) {
	blocks := line(100, 130)
	spans = append(slices.Clone(blocks[:10]), longer(blocks[10:20]))
	return append(spans, blocks[20]), blocks[15:]
}

// holdHole holds that an archive names blocks 110 to 114 and nothing else as missing, now and
// opened again, that it has all the others, and that the nodes can fill it.
func holdHole(t *testing.T, a *Archive, spans, on []market.Span) {
	t.Helper()
	dir, size := a.cfg.Dir, a.cfg.SegmentBytes
	lost := []Range{{110, 114}}
	for range 2 {
		if st := a.Status(); !slices.Equal(st.Holes, lost) || st.Head != on[len(on)-1].Head() {
			t.Fatalf("%v are missing before %+v; want %v", st.Holes, st.Head, lost)
		}
		findings, err := a.Check()
		want := "the archive lacks blocks 110 to 114; a running node fetches them again"
		if err != nil || len(findings) != 1 || findings[0] != want {
			t.Fatalf("the check finds %q, %v; want %q", findings, err, want)
		}
		got, err := readAll(t, a, 99)
		if err != nil {
			t.Fatal(err)
		}
		sameSpans(t, spans[:10], got)
		if got, err = readAll(t, a, 114); err != nil {
			t.Fatal(err)
		}
		sameSpans(t, on, got)

		_, err = a.Export(t.Context(), filepath.Join(t.TempDir(), "exported"))
		if err == nil || !strings.Contains(err.Error(), "it lacks blocks 110 to 114") {
			t.Fatalf("the export says %v", err)
		}
		scrubbed(t, a)
		if n := a.Status().Damages; n > 0 {
			t.Fatalf("the scrub finds %d damages", n)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		a = openSized(t, dir, size)
	}

	blocks := line(100, 130)
	refill(t, a, blocks)
	hold(t, a, append(slices.Clone(blocks[:15]), on...)).Close()
}

// The ledger can go back to a block within an archived span, where an hour began. The span's
// rest has no hash that shows its branch, so it is missing from then on, and is named.
func TestRevertIntoASpan(t *testing.T) {
	f := func(what string, size int64, sync, kill bool) {
		t.Helper()
		spans, on := crossed()
		a := openSized(t, t.TempDir(), size)
		for i := range spans {
			appendSpan(t, a, &spans[i])
			if sync {
				if err := a.Sync(); err != nil {
					t.Fatal(err)
				}
			}
		}
		to := market.Head{Number: 114} // the end of a piece has no hash
		if err := a.Revert(120, to); err != nil {
			t.Fatal(err)
		}
		if st := a.Status(); st.Head.Hash != spans[9].Hash || len(st.Holes) > 0 {
			t.Errorf("%s: the archive ends with %+v, %v are missing; want block 109", what, st.Head, st.Holes)
		}
		if kill {
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			a = openSized(t, a.cfg.Dir, size)
		}

		before := to
		for i := range on {
			if err := a.Append(before, &on[i]); err != nil {
				t.Fatal(err)
			}
			before = on[i].Head()
		}
		holdHole(t, a, spans, on)
	}

	f("pending", 0, false, false)
	f("written", 0, true, false)
	f("written and opened again", 0, true, true)
	f("in full segments", 1, true, false)
	f("in full segments, opened again", 1, true, true)
}

// So it is where a span replaces a part of another one, and after a kill before what it
// replaces is superseded in its own file.
func TestReplaceTheRestOfASpan(t *testing.T) {
	for _, size := range []int64{0, 600} {
		spans, on := crossed()
		a := openSized(t, t.TempDir(), size)
		appendAll(t, a, spans)

		before := market.Head{Number: 114}
		for i := range on {
			if err := a.Append(before, &on[i]); err != nil {
				t.Fatal(err)
			}
			before = on[i].Head()
		}
		holdHole(t, a, spans, on)
	}
}

// A span that the chain went back into is superseded as a whole, whatever comes next.
func TestRevertIntoASpanAgain(t *testing.T) {
	spans, _ := crossed()
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans)
	if err := a.Revert(120, market.Head{Number: 114}); err != nil {
		t.Fatal(err)
	}

	blocks := line(100, 130)
	appendAll(t, a, []market.Span{longer(blocks[10:13])})
	if err := a.Revert(112, market.Head{Number: 111}); err != nil {
		t.Fatal(err)
	}
	if st := a.Status(); st.Head != blocks[9].Head() {
		t.Errorf("the archive ends with %+v; want block 109", st.Head)
	}
	appendAll(t, a, blocks[10:20])
	hold(t, a, blocks[:20]).Close()
}

// A span that is the first of its segment leaves nothing of it.
func TestRevertIntoTheFirstSpan(t *testing.T) {
	blocks := line(100, 130)
	a := openAt(t, t.TempDir())
	appendAll(t, a, []market.Span{longer(blocks[:10])})
	if err := a.Revert(109, market.Head{Number: 104}); err != nil {
		t.Fatal(err)
	}

	appendAll(t, a, blocks[5:])
	st := a.Status()
	if want := []Range{{100, 104}}; !slices.Equal(st.Holes, want) || st.Whole(100) {
		t.Errorf("%v are missing; want %v", st.Holes, want)
	}
	refill(t, a, blocks)
	hold(t, a, blocks).Close()
}

// Where the span that the chain goes back into is damaged, its frame is missing too.
func TestRevertIntoADamagedSpan(t *testing.T) {
	spans, on := crossed()
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans)
	frames, _, err := a.segments[0].frames()
	if err != nil {
		t.Fatal(err)
	}

	flip(t, a.segments[0].path, frames[10].at+frameHead+5)
	if err := a.Revert(120, market.Head{Number: 114}); err != nil {
		t.Fatal(err)
	}
	appendAll(t, a, on)
	if st := a.Status(); !slices.Equal(st.Holes, []Range{{110, 114}}) {
		t.Errorf("%v are missing; want blocks 110 to 114", st.Holes)
	}
	for range 2 { // a start cuts the newest segment where damage begins
		refill(t, a, line(100, 130))
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		a = openAt(t, a.cfg.Dir)
	}
	hold(t, a, append(line(100, 114), on...)).Close()
}

// A file that was written before such holes were named, with frames that do not follow one
// another or with an end within a span: what it lacks is named, and nothing else is lost.
func TestUnnamedHole(t *testing.T) {
	spans, on := crossed()
	file := func(t *testing.T) (dir string, frames [][]byte) {
		dir = t.TempDir()
		a := openAt(t, dir)
		appendAll(t, a, spans[:11])
		path, n := a.segments[0].path, a.segments[0].size
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}

		f := frame{first: 115, last: 115, spans: 1}
		frames = append(frames, packing().appendFrame(nil, f, encodeSpan(on[0])))
		f = frame{first: 116, last: 116, spans: 1}
		frames = append(frames, packing().appendFrame(nil, f, encodeSpan(on[1])))
		frames = append(frames, packing().appendFrame(nil, frame{first: 115, last: 114}, nil))
		return path, append([][]byte{text[:n]}, frames...)
	}
	f := func(what string, lost Range, blocks []market.Span, text ...[]byte) {
		t.Helper()
		dir := t.TempDir()
		path := filepath.Join(dir, "00000000000000000100.spans")
		if err := os.WriteFile(path, slices.Concat(text...), 0o600); err != nil {
			t.Fatal(err)
		}
		a := openAt(t, dir)
		findings, err := a.Check()
		if err != nil || len(findings) != 1 || !strings.Contains(findings[0], "blocks "+lost.String()) {
			t.Errorf("%s: the check finds %q, %v; want blocks %s", what, findings, err, lost)
		}

		var damage *Damage
		if _, err := readAll(t, a, 99); !errors.As(err, &damage) || damage.From != lost.From || damage.To != lost.To {
			t.Fatalf("%s: %v; want the damage of blocks %s", what, err, lost)
		}
		if err := a.CutOut(damage); !errors.Is(err, damage) {
			t.Fatal(err)
		}
		if findings, err = a.Check(); err != nil || len(findings) > 1 {
			t.Errorf("%s: then the check finds %q, %v", what, findings, err)
		}
		refill(t, a, line(100, 130))
		hold(t, a, blocks).Close()
	}

	_, part := file(t)
	f("frames that do not follow", Range{110, 114}, line(100, 116), part[0], part[1], part[2])
	last := content{last: market.Head{Number: 114}, spans: 11}
	f("a footer within a span", Range{110, 114}, line(100, 109), part[0], part[3], last.append(nil))
}
