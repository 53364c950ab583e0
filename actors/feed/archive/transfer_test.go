package archive

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/rankings/market"
)

// exported makes an archive of blocks 100 to 700 and exports what is settled of it.
func exported(t *testing.T, finalized uint64) (a *Archive, path string, st Status, err error) {
	t.Helper()
	a = openAt(t, t.TempDir())
	t.Cleanup(func() { a.Close() })
	spans := line(100, 700)
	for i := range spans {
		appendSpan(t, a, &spans[i])
	}
	a.NoteFinalized(finalized)
	path = filepath.Join(t.TempDir(), "exported")
	st, err = a.Export(t.Context(), path)
	return a, path, st, err
}

// An export has the blocks that no reorganisation reaches: they are finalized, and the
// ledger would not go back to them. They are final in it.
func TestExportIsSettled(t *testing.T) {
	spans := line(100, 700)
	f := func(finalized, last uint64) {
		t.Helper()
		_, path, st, err := exported(t, finalized)
		if err != nil {
			t.Fatal(err)
		}
		want := Status{
			Base: market.Head{Number: 99}, Head: spans[last-100].Head(), Finalized: last, Spans: last - 99, Segments: 1,
		}
		want.Bytes = st.Bytes
		if !sameStatus(st, want) {
			t.Errorf("finalized %d: exported %+v; want %+v", finalized, st, want)
		}
		id, inspected, err := Inspect(path)
		if err != nil || id != identity || !sameStatus(inspected, st) {
			t.Errorf("Inspect says %+v, %+v, %v", id, inspected, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Size() != st.Bytes+footerLen {
			t.Errorf("the file has %d bytes, %v; want %d and the footer", info.Size(), err, st.Bytes)
		}

		b := openAt(t, t.TempDir())
		defer b.Close()
		var checked []uint64
		got, err := b.Import(t.Context(), path, func(h market.Head) error {
			checked = append(checked, h.Number)
			return nil
		})
		if got.Bytes = st.Bytes; err != nil || !sameStatus(got, st) || len(checked) != int(last-99) || checked[0] != 100 {
			t.Errorf("imported %+v, %v after %d checks; want %+v", got, err, len(checked), st)
		}
		list, err := readAll(t, b, 99)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			if !list[i].Final {
				t.Fatalf("block %d is not final", list[i].To)
			}
			list[i].Final = false
		}
		sameSpans(t, spans[:last-99], list)
	}

	f(100, 100)
	f(300, 300)
	f(700, 444)
}

func sameStatus(a, b Status) bool {
	return a.Base == b.Base && a.Head == b.Head && a.Finalized == b.Finalized && a.Spans == b.Spans &&
		a.Events == b.Events && a.Bytes == b.Bytes && a.Segments == b.Segments && len(a.Holes) == len(b.Holes)
}

// What an import has is settled also after a start, so that it can be exported again.
func TestImportIsSettled(t *testing.T) {
	_, path, st, err := exported(t, 700)
	if err != nil {
		t.Fatal(err)
	}
	a := openAt(t, t.TempDir())
	if _, err := a.Import(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	a = openAt(t, a.cfg.Dir)
	defer a.Close()
	if got := a.Status(); got.Finalized != st.Finalized {
		t.Errorf("block %d is finalized; want %d", got.Finalized, st.Finalized)
	}
	again, err := a.Export(t.Context(), filepath.Join(t.TempDir(), "again"))
	if err != nil || again.Head.Number != st.Head.Number-market.UndoBlocks {
		t.Errorf("exported %+v, %v; want the blocks up to %d", again, err, st.Head.Number-market.UndoBlocks)
	}
}

// A segment that a kill left without a block, or from which the chain took every block back, is
// no archive: it is not whole, says that it has no block, and a file can be imported there.
func TestSegmentWithoutBlocks(t *testing.T) {
	_, path, exported, err := exported(t, 700)
	if err != nil {
		t.Fatal(err)
	}
	f := func(base uint64, takenBack bool) {
		t.Helper()
		dir := t.TempDir()
		a := openAt(t, dir)
		spans := line(base+1, base+3)
		err := a.create(market.Head{Number: base})
		if takenBack {
			appendAll(t, a, spans)
			err = errors.Join(err, a.Revert(base+3, market.Head{Number: base}))
		}
		if err := errors.Join(err, a.Close()); err != nil {
			t.Fatal(err)
		}

		a = openAt(t, dir)
		defer a.Close()
		if st := a.Status(); st.Head.Number != 0 || st.Base.Number != 0 || st.Whole(base+1) || st.Segments != 1 {
			t.Errorf("after block %d, taken back %t: %+v; want no block in one segment", base, takenBack, st)
		}
		if st, err := a.Import(t.Context(), path, nil); err != nil || !sameStatus(st, exported) {
			t.Errorf("after block %d, taken back %t: imported %+v, %v; want %+v", base, takenBack, st, err, exported)
		}
		_, err = a.Import(t.Context(), path, nil)
		if err == nil || !strings.Contains(err.Error(), "has blocks 100 to 444 already") {
			t.Errorf("imported again: %v", err)
		}
	}

	f(99, false)
	f(99, true)
	f(5000, false)
}

// An export that cannot be says why, and leaves no file.
func TestExportFails(t *testing.T) {
	f := func(a *Archive, path, want string) {
		t.Helper()
		st, err := a.Export(t.Context(), path)
		if err == nil || err.Error() != "cannot export the archive of chain 1: "+want || st.Segments != 0 {
			t.Errorf("exported %+v, %v; want %s", st, err, want)
		}
	}

	a, path, _, err := exported(t, 99)
	if err == nil {
		t.Error("an export without a settled block")
	}
	f(a, path, "no block after 99 is settled yet")
	if _, err := os.Stat(path); err == nil {
		t.Error("it left a file")
	}
	a.NoteFinalized(300)
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	f(a, path, path+" exists")
	if text, _ := os.ReadFile(path); string(text) != "mine" {
		t.Error("a file was written over")
	}

	first := openAt(t, t.TempDir())
	defer first.Close()
	appendAll(t, first, []market.Span{{From: 100, To: 900, Hash: market.Hash{1}}})
	first.NoteFinalized(900)
	none := filepath.Join(t.TempDir(), "none")
	f(first, none, "no block after 99 is settled yet")
	if files, _ := os.ReadDir(filepath.Dir(none)); len(files) > 0 {
		t.Errorf("it left %v", files)
	}

	empty := openAt(t, t.TempDir())
	defer empty.Close()
	f(empty, path, "it is empty")
	spans := line(100, 700)
	holes := openAt(t, t.TempDir())
	defer holes.Close()
	appendAll(t, holes, spans[:3])
	appendAll(t, holes, spans[5:8])
	f(holes, path, "it lacks blocks 103 to 104; a running node fetches them again")
}

// An import that cannot be says why, and leaves the archive empty, or as it was.
func TestImportFails(t *testing.T) {
	_, path, _, err := exported(t, 400)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	f := func(text []byte, id Identity, check func(market.Head) error, want string) {
		t.Helper()
		name := filepath.Join(t.TempDir(), "given")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := Open(Config{Identity: id, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		_, err = a.Import(t.Context(), name, check)
		if err == nil || !strings.HasPrefix(err.Error(), "cannot import "+name+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("imported: %v; want %s", err, want)
		}
		if files, _ := os.ReadDir(a.cfg.Dir); len(files) > 0 || a.Status().Spans != 0 {
			t.Errorf("%s: it left %v", want, files)
		}
	}

	other := identity
	other.Chain = 5
	f(whole, other, nil, "it is of chain 1, not of chain 5")
	f(whole[:len(whole)-footerLen], identity, nil, "it is not complete")
	f(whole[:len(whole)-footerLen-1], identity, nil, "cut short")
	f(whole[:20], identity, nil, "")
	wrong := errors.New("block 300 is another")
	f(whole, identity, func(h market.Head) error {
		if h.Number == 300 {
			return wrong
		}
		return nil
	}, wrong.Error())
	bad := append([]byte(nil), whole...)
	bad[fileHead+frameHead+3] ^= 1
	f(bad, identity, nil, "the checksum of blocks 100 to 400 does not match")

	// A footer that says less or more than there is.
	var c content
	if !c.decode(whole[len(whole)-footerLen:]) {
		t.Fatal("no footer")
	}
	c.last.Number--
	f(append(whole[:len(whole)-footerLen:len(whole)-footerLen], c.append(nil)...), identity, nil, "its footer says 399")

	a := openAt(t, t.TempDir())
	defer a.Close()
	spans := line(100, 104)
	appendAll(t, a, spans)
	if _, err := a.Import(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(),
		"the archive has blocks 100 to 104 already; move "+a.cfg.Dir+" away first") {
		t.Errorf("an import over another: %v", err)
	}
	if st := a.Status(); st.Head != spans[4].Head() {
		t.Errorf("it left %+v", st)
	}
	if _, err := a.Import(t.Context(), filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := openAt(t, t.TempDir())
	defer b.Close()
	if _, err := b.Import(ctx, path, nil); !errors.Is(err, context.Canceled) || b.Status().Segments != 0 {
		t.Errorf("a stopped import: %v, %+v", err, b.Status())
	}
}

// Of what an archive is can be found without its configuration, as long as one of its
// files can be read.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	if _, err := Find(dir); !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), dir) {
		t.Errorf("an empty directory: %v", err)
	}
	a := openSized(t, dir, 4_000)
	appendAll(t, a, newMaker(33, 100).spans(40))
	names := make([]string, 0, len(a.segments))
	for _, s := range a.segments {
		names = append(names, s.path)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	for i, name := range names {
		if id, err := Find(dir); err != nil || id != identity {
			t.Errorf("with %d damaged files: %+v, %v", i, id, err)
		}
		if i%2 == 0 {
			flip(t, name, 20)
		} else if err := os.Truncate(name, fileHead-1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Find(dir); err == nil || errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), dir) {
		t.Errorf("with only damaged files: %v", err)
	}

	f := func(text string) {
		t.Helper()
		name := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Inspect(name); err == nil || !strings.Contains(err.Error(), "cannot read "+name) {
			t.Errorf("Inspect of %q: %v", text, err)
		}
	}
	f("")
	f("no archive")
	if _, _, err := Inspect(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Inspect of no file: %v", err)
	}
}

// An export counts the events that it has.
func TestExportCountsEvents(t *testing.T) {
	spans := newMaker(41, 100).spans(400) // more than one frame
	a := openAt(t, t.TempDir())
	defer a.Close()
	for i := range spans {
		appendSpan(t, a, &spans[i])
	}
	a.NoteFinalized(spans[399].To)

	st, err := a.Export(t.Context(), filepath.Join(t.TempDir(), "exported"))
	if err != nil || st.Spans == 0 || st.Events != eventsOf(spans[:st.Spans]) || st.Head != spans[st.Spans-1].Head() {
		t.Errorf("exported %+v, %v; want %d events", st, err, eventsOf(spans[:st.Spans]))
	}
}

// Where the directory of an archive is gone, what is written, taken back or imported is an
// error that says so.
func TestGoneDirectory(t *testing.T) {
	spans := newMaker(42, 100).spans(60)
	_, path, _, err := exported(t, 400)
	if err != nil {
		t.Fatal(err)
	}
	f := func(want string, do func(*Archive) error) {
		t.Helper()
		a := openSized(t, t.TempDir(), 4_000)
		appendAll(t, a, spans[:59])
		if strings.HasPrefix(want, "cannot import") {
			a = openAt(t, t.TempDir())
		}
		if err := os.RemoveAll(a.cfg.Dir); err != nil {
			t.Fatal(err)
		}
		if err := do(a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %s", err, want)
		}
	}

	f("cannot archive blocks", func(a *Archive) error {
		far := market.Span{From: 1 << 30, To: 1 << 30}
		return a.Append(market.Head{Number: 1<<30 - 1}, &far)
	})
	f("cannot take the archive of chain 1 back", func(a *Archive) error {
		return a.Revert(spans[58].To, spans[1].Head())
	})
	f("cannot import", func(a *Archive) error {
		_, err := a.Import(t.Context(), path, nil)
		return err
	})

	if err := syncDir(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the names of a directory that is gone: %v", err)
	}
}
