package archive

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/rankings/market"
)

// obstruct puts a directory with a file in it in the place of a file, so that it can be
// neither opened as a file nor removed.
func obstruct(t *testing.T, path string) {
	t.Helper()
	err := os.RemoveAll(path)
	if err = errors.Join(err, os.MkdirAll(filepath.Join(path, "x"), 0o700)); err != nil {
		t.Fatal(err)
	}
}

// A file that cannot be written, opened or removed is an error of whoever needed it, which
// says what it was for.
func TestFilesThatFail(t *testing.T) {
	spans := newMaker(12, 100).spans(60)
	n := 0 // how many are in the archive
	f := func(what string, reopened bool, act func(a *Archive) error, want string) {
		t.Helper()
		a := openSized(t, t.TempDir(), 8_000)
		appendAll(t, a, spans[:40])
		for n = 40; a.active == nil; n++ { // until a segment is begun
			appendAll(t, a, spans[n:n+1])
		}
		if len(a.segments) < 3 {
			t.Fatalf("%d segments", len(a.segments))
		}

		if reopened {
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			a = openSized(t, a.cfg.Dir, 8_000)
		}

		err := act(a)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", what, err, want)
		}
		_ = a.Close() // it may fail as well
	}
	last := func() market.Head { return spans[n-1].Head() }
	addNext := func(a *Archive) error { return a.Append(last(), &spans[n]) }

	f("sync of a closed file", false, func(a *Archive) error { a.file.Close(); return a.Sync() },
		"cannot write the archive of chain 1: ")
	f("close of a closed file", false, func(a *Archive) error { a.file.Close(); return a.Close() },
		"cannot close the archive of chain 1: ")
	f("the next segment", true, func(a *Archive) error { obstruct(t, a.segments[len(a.segments)-1].path); return addNext(a) },
		"is a directory")
	f("another segment after a closed file", false, func(a *Archive) error {
		a.file.Close()
		far := market.Span{From: 1 << 30, To: 1 << 30}
		return a.Append(market.Head{Number: 1<<30 - 1}, &far)
	}, "cannot archive blocks ")
	f("back in the newest segment", true, func(a *Archive) error {
		obstruct(t, a.segments[len(a.segments)-1].path)
		return a.Revert(last().Number, spans[n-2].Head())
	}, "cannot take the archive of chain 1 back to block ")
	f("back over a segment", true, func(a *Archive) error {
		obstruct(t, a.segments[len(a.segments)-2].path)
		return a.Revert(last().Number, a.segments[len(a.segments)-2].base)
	}, "cannot take the archive of chain 1 back to block ")
	f("the oldest segment is too much", false, func(a *Archive) error {
		obstruct(t, a.segments[0].path)
		a.cfg.MaxBytes, a.cfg.SegmentBytes = 1, 1
		return errors.Join(addNext(a), a.Sync())
	}, "cannot write the archive of chain 1: ")
	f("drop", false, func(a *Archive) error { obstruct(t, a.segments[0].path); return a.Drop() },
		"cannot drop the archive of chain 1: ")
	f("a reader", true, func(a *Archive) error {
		obstruct(t, a.segments[0].path)
		_, err := readAll(t, a, 99)
		return err
	}, "is a directory")
	f("scrub", true, func(a *Archive) error { obstruct(t, a.segments[0].path); return a.Scrub() }, "is a directory")
	f("check", true, func(a *Archive) error {
		obstruct(t, a.segments[0].path)
		_, err := a.Check()
		return err
	}, "is a directory")
	f("start", true, func(a *Archive) error {
		obstruct(t, a.segments[0].path)
		_, err := Open(a.cfg)
		return err
	}, "cannot open the archive of chain 1: ")
	f("a damaged segment that stays where it is", true, func(a *Archive) error {
		path := a.segments[0].path
		obstruct(t, path+".damaged")
		err := os.WriteFile(path, []byte("no header of a segment"), 0o600)
		if _, failed := Open(a.cfg); err == nil {
			err = failed
		}
		return err
	}, "cannot open the archive of chain 1: ")

	a := openAt(t, t.TempDir())
	obstruct(t, a.pathOf(100))
	err := a.Append(market.Head{Number: 99}, &spans[0])
	if err == nil || !strings.Contains(err.Error(), "cannot archive blocks 100 to ") || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("the first segment: %v", err)
	}
}

// What could not be written is still pending, and is in the archive after the next Sync.
func TestFailedWriteIsPending(t *testing.T) {
	spans := newMaker(13, 100).spans(20)
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans[:10])
	for i := range spans[10:] {
		appendSpan(t, a, &spans[10+i])
	}
	a.file.Close()
	for range 2 {
		if err := a.Sync(); err == nil {
			t.Fatal("a closed file was written")
		}
	}

	var err error
	if a.file, err = os.OpenFile(a.active.path, os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	a = openAt(t, a.cfg.Dir)
	got, err := readAll(t, a, 99)
	if err != nil {
		t.Fatal(err)
	}
	sameSpans(t, spans, got)
	if st := a.Status(); st.Spans != 20 || st.Damages != 0 || st.Head != spans[19].Head() {
		t.Errorf("the archive has %+v", st)
	}
}

// A segment of which the end cannot be written or made durable is not ended.
func TestSealsThatFail(t *testing.T) {
	f := func(what, path string, flags int, act func(a *Archive) error) {
		t.Helper()
		a := openAt(t, t.TempDir())
		appendAll(t, a, line(100, 105))
		kept := a.file
		if path == "" {
			path = a.active.path
		}
		var err error
		if a.file, err = os.OpenFile(path, flags, 0); err != nil {
			t.Fatal(err)
		}
		a.cfg.SegmentBytes = 1
		if err := act(a); err == nil {
			t.Errorf("%s: no error", what)
		}
		if a.active == nil {
			t.Errorf("%s: the segment is ended", what)
		} else {
			a.file.Close()
		}
		a.file = kept
		a.active = a.segments[0]
		if err := a.Close(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		hold(t, openAt(t, a.cfg.Dir), line(100, 105)).Close()
	}

	f("a file that is only read", "", os.O_RDONLY, (*Archive).Sync)
	f("a file that cannot be synced", os.DevNull, os.O_RDWR, (*Archive).seal)
}

// A segment that another one takes the place of, as while a hole is filled, is made durable
// before: the next Sync does not reach it.
func TestSegmentIsDurableWhenItIsLeft(t *testing.T) {
	spans := line(100, 115)
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans[:3])
	appendAll(t, a, spans[6:10])
	appendSpan(t, a, &spans[10])
	file := a.file
	var err error
	if a.file, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil { // cannot be synced
		t.Fatal(err)
	}

	err = a.Append(market.Head{Number: 102, Hash: spans[2].Hash}, &spans[3])
	if err == nil || !strings.Contains(err.Error(), "cannot archive blocks 103 to 103 of chain 1: sync ") {
		t.Errorf("the hole is filled before what follows it is durable: %v", err)
	}
	file.Close()
}
