package storage

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// exported returns the export of chain 1 of a store.
func exported(t *testing.T, s *Store) []byte {
	t.Helper()
	e := s.Export(1)
	var all bytes.Buffer
	pauses := 0
	if err := e.Write(&all, func() { pauses++ }); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}

	if pauses == 0 {
		t.Error("an export never pauses")
	}
	return all.Bytes()
}

// An export replaces whatever another store has of the chain, as a whole, and that store
// goes on with the cuts after it, also as the one that writes, and after a restart.
func TestImportReplacesAChain(t *testing.T) {
	p := newPairOfNodes(t)
	g := newRig(31, 1)
	for range 6 {
		g.commit(t, p.stores[0], 12, true)
	}
	e := p.stores[0].Export(1)
	place, err := e.Place()
	if string(place) != "6" || err != nil {
		t.Errorf("the export has the place %q, %v; want 6", place, err)
	}
	g.commit(t, p.stores[0], 12, true)
	p.compare()

	// Another node has data of its own, with higher numbers, and another chain.
	fs := vfs.NewMem()
	s, err := Open("data", testOptions(fs))
	if err != nil {
		t.Fatal(err)
	}
	own, beside := newRig(99, 1), newRig(98, 42161)
	for range 20 {
		own.commit(t, s, 9, true)
	}
	beside.commit(t, s, 9, true)
	kept := keysOf(t, s, 42161)

	var sent bytes.Buffer
	if err := errors.Join(e.Write(&sent, func() {}), e.Close()); err != nil {
		t.Fatal(err)
	}
	if err := fs.MkdirAll("data/incoming-1/earlier", 0o700); err != nil { // an attempt that was killed
		t.Fatal(err)
	}
	in, err := s.Receive(1, &sent)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := fs.List("data/incoming-1"); err != nil || slices.Contains(left, "earlier") {
		t.Errorf("an import goes on with what an earlier one left: %q, %v", left, err)
	}
	if err := errors.Join(in.Install(), in.Close()); err != nil {
		t.Fatal(err)
	}
	if place, err := s.Place(1); string(place) != "6" || err != nil {
		t.Errorf("after an import the place is %q, %v", place, err)
	}
	closeTest(t, s)
	if err := fs.MkdirAll("data/incoming-5/killed", 0o700); err != nil {
		t.Fatal(err)
	}
	closeTest(t, openToRead(t, fs))
	if left, err := fs.List("data/incoming-5"); err != nil || len(left) != 1 {
		t.Errorf("a store that is only read changes what is left of an import: %q, %v", left, err)
	}

	if s, err = Open("data", testOptions(fs)); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Stat("data/incoming-5"); err == nil {
		t.Error("a start leaves what a killed process received")
	}
	if r := s.Rollback(1); r != nil {
		t.Errorf("an import looks like a loss: %s", r)
	}
	if !slices.Equal(keysOf(t, s, 42161), kept) {
		t.Error("an import changed another chain")
	}
	if left, _ := fs.List("data/incoming-1"); len(left) > 0 {
		t.Errorf("it left %q", left)
	}

	// It goes on as the writer.
	g.commit(t, s, 12, true)
	closeTest(t, s)
	if s, err = Open("data", testOptions(fs)); err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, s)
	if err := s.findGap(1); err != nil {
		t.Error(err)
	}
}

// An export that is not whole changes nothing.
func TestBrokenExportIsRefused(t *testing.T) {
	p := newPairOfNodes(t)
	g := newRig(33, 1)
	g.commit(t, p.stores[0], 12, true)
	whole := exported(t, p.stores[0])
	s := p.stores[1]
	before := keysOf(t, s, 1)

	f := func(want string, from io.Reader) {
		t.Helper()
		in, err := s.Receive(1, from)
		if in != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it is answered %v; want %q", err, want)
		}
		if left, _ := s.opts.fs.List("data/incoming-1"); len(left) > 0 {
			t.Errorf("it left %q", left)
		}
		if !slices.Equal(keysOf(t, s, 1), before) {
			t.Error("it changed the chain")
		}
	}
	f("unexpected EOF", bytes.NewReader(whole[:len(whole)-1]))
	f("torn", io.MultiReader(bytes.NewReader(whole), errorReader{}))
	f("does not follow", io.MultiReader(bytes.NewReader(whole), bytes.NewReader(whole)))
	f("a key has 200 bytes", strings.NewReader("\xc8\x01xxxx"))
	f("a value has", strings.NewReader("\x01\x01\xff\xff\xff\xff\x7f"))
	s.guard.full.Store(true)
	f(ErrReadOnly.Error(), bytes.NewReader(whole))
	f(ErrReadOnly.Error(), bytes.NewReader(nil))
	s.guard.full.Store(false)
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, errors.New("torn") }

// An export of a chain without data empties that of another node, and nothing else.
func TestEmptyExport(t *testing.T) {
	s := openTest(t, vfs.NewMem())
	defer closeTest(t, s)
	newRig(35, 1).commit(t, s, 12, true)
	newRig(36, 42161).commit(t, s, 12, true)
	kept := keysOf(t, s, 42161)

	in, err := s.Receive(1, bytes.NewReader(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(in.Install(), in.Close()); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Restore(1); r != nil || err != nil {
		t.Errorf("the chain has %v, %v; want nothing", r, err)
	}
	if !slices.Equal(keysOf(t, s, 42161), kept) {
		t.Error("it changed another chain")
	}
}

// A damaged chain is replaced like any other.
func TestImportReplacesDamage(t *testing.T) {
	p := newPairOfNodes(t)
	g := newRig(34, 1)
	g.commit(t, p.stores[0], 12, true)
	whole := exported(t, p.stores[0])

	s := p.stores[1]
	if err := s.db.Set(appendKind(nil, 1, kindHead), []byte{1}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore(1); err == nil || s.Damaged(1) == nil {
		t.Fatalf("the chain is not damaged: %v", err)
	}
	in, err := s.Receive(1, bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(in.Install(), in.Close()); err != nil {
		t.Fatal(err)
	}
	if d := s.Damaged(1); d != nil {
		t.Error(d)
	}
	p.compare()
}
