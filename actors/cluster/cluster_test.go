package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tidemark/rankings/market"
)

// noise are bytes that cannot be packed.
func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// appends appends a cut.
func appends(t *testing.T, ch *Chain, batch []byte) Place {
	t.Helper()
	at, err := ch.Append(batch, []byte("note"))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// takes waits for the next cut and compares it.
func takes(t *testing.T, ch *Chain, batch []byte, at Place) {
	t.Helper()
	e := next(t, ch)
	if e.Cut == nil || !bytes.Equal(e.Cut.Batch, batch) || string(e.Cut.Note) != "note" || e.Cut.Place != at {
		t.Fatalf("the next event is %+v; want cut %+v of %d bytes", e, at, len(batch))
	}
}

// patience bounds waits: more than servers on a busy machine take to elect a leader.
const patience = 40 * time.Second

// next returns the next event that is no beat.
func next(t *testing.T, ch *Chain) Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		e, err := ch.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if e.Beat == nil {
			return e
		}
	}
}

// soon checks that something takes less than a limit at least once: a busy machine makes it
// late a few times, and a follower that polls each time.
func soon(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	took := make([]time.Duration, 10)
	for i := range took {
		began := time.Now()
		f()
		if took[i] = time.Since(began); took[i] < limit {
			return
		}
	}
	t.Errorf("took %s; want less than %s once", took, limit)
}

// ends waits until a chain has followed to the end.
func ends(t *testing.T, ch *Chain) {
	t.Helper()
	ch.lead.ready.Store(false)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() {
		for !ch.lead.ready.Load() && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()

	if e, err := ch.Next(ctx); !errors.Is(err, context.Canceled) || !ch.lead.ready.Load() {
		t.Fatalf("at the end there is %+v, %v", e, err)
	}
}

// breaks checks that the next cut is refused.
func breaks(t *testing.T, ch *Chain, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	e, err := ch.Next(ctx)
	if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), want) {
		t.Errorf("the next event is %+v, %v; want that %q", e, err, want)
	}
}

// Cuts of any size come as they were, in order, also to a node that joins later or
// continues from a stored place; and at once, because the writer tells of them.
func TestCutsArePassedOn(t *testing.T) {
	s := newServers(t, 1, false)
	a, b := s.member("a", false), s.member("b", false)
	var batches [][]byte
	var places []Place
	for _, size := range []int{0, 10, PartBytes - 5, PartBytes, 3*PartBytes + 7, 100} {
		batch := noise(size)
		at := appends(t, a, batch)
		takes(t, b, batch, at)
		batches, places = append(batches, batch), append(places, at)
	}

	late := s.member("late", false)
	for i := range batches {
		takes(t, late, batches[i], places[i])
	}
	if err := late.Start(places[3].Encode()); err != nil {
		t.Fatal(err)
	}
	takes(t, late, batches[4], places[4])

	ends(t, b)
	soon(t, pollEvery/2, func() {
		at := appends(t, a, batches[1])
		a.Tell([]byte("where I am"))
		takes(t, b, batches[1], at)
	})
	if e, err := b.Next(t.Context()); string(e.Beat) != "where I am" {
		t.Errorf("the writer tells %+v, %v", e, err)
	}
}

// A cut has no more parts than it needs, none of them is empty, and they have all of
// its packed bytes.
func TestParts(t *testing.T) {
	exact, whole := false, noise(PartBytes)
	for size := PartBytes - 48; size <= PartBytes; size++ {
		messages, _, err := encodeCut(Place{}, whole[:size], nil)
		if err != nil {
			t.Fatal(err)
		}

		sent := 0
		for i, m := range messages {
			n := len(m) - headerLen
			if n == 0 || n > PartBytes || i < len(messages)-1 && n < PartBytes {
				t.Errorf("a cut of %d bytes: part %d has %d", size, i, n)
			}
			sent += n
		}
		packed := encoder.EncodeAll(append(make([]byte, 4), whole[:size]...), nil) // without a note
		if sent != len(packed) {
			t.Errorf("a cut of %d bytes: %d of %d packed bytes are sent", size, sent, len(packed))
		}
		exact = exact || sent == PartBytes
	}
	if !exact {
		t.Error("no cut fills its part")
	}
}

// A writer that has been replaced is refused, whatever it believes, and finds what it
// missed in the stream.
func TestOutdatedWriterIsRefused(t *testing.T) {
	s := newServers(t, 1, false)
	a, b := s.member("a", false), s.member("b", false)
	first := appends(t, a, []byte("one"))
	takes(t, b, []byte("one"), first)
	second := appends(t, b, []byte("two"))

	if _, err := a.Append([]byte("another two"), nil); !errors.Is(err, ErrOutdated) {
		t.Fatalf("a second cut 2 was answered %v", err)
	}
	if err := a.Start(first.Encode()); err != nil {
		t.Fatal(err)
	}
	takes(t, a, []byte("two"), second)
	third := appends(t, a, []byte("three"))
	takes(t, b, []byte("three"), third)
}

// A cut that its writer did not finish is void: the next writer uses the number.
func TestUnfinishedCutIsVoid(t *testing.T) {
	s := newServers(t, 1, false)
	a, b, c := s.member("a", false), s.member("b", false), s.member("c", false)
	one := appends(t, a, []byte("one"))
	messages, hash, err := encodeCut(a.at, noise(3*PartBytes), nil)
	if err != nil {
		t.Fatal(err)
	}
	for part := range 2 {
		if a.seen, err = a.appendMessage(t.Context(), messages[part], fmt.Sprint(part, hash)); err != nil {
			t.Fatal(err)
		}
	}

	takes(t, b, []byte("one"), one)
	ends(t, b)
	two := appends(t, b, []byte("two"))
	if _, err := a.appendMessage(t.Context(), messages[2], "2"); !errors.Is(err, ErrOutdated) {
		t.Errorf("the rest of the cut was answered %v", err)
	}
	takes(t, c, []byte("one"), one)
	takes(t, c, []byte("two"), two)
}

// A cut that is not as it was written, or not the next one, is refused.
func TestDamagedCutIsRefused(t *testing.T) {
	s := newServers(t, 1, false)
	chains, id := s.join("a"), market.ChainID(0)
	f := func(want string, damage func(messages [][]byte) [][]byte) {
		t.Helper()
		id++
		c := memberOf(t, chains, id, false)
		appends(t, c, []byte("one"))
		messages, _, err := encodeCut(c.at, noise(PartBytes+10), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range damage(messages) {
			if c.seen, err = c.appendMessage(t.Context(), m, fmt.Sprint(id, i)); err != nil {
				t.Fatal(err)
			}
		}

		c.at, c.seen = Place{}, 0
		next(t, c)
		breaks(t, c, want)
	}
	flip := func(part, at int) func([][]byte) [][]byte {
		return func(m [][]byte) [][]byte { m[part][at] ^= 4; return m }
	}

	f("does not have the hash", flip(0, headerLen+100))
	f("does not have the hash", flip(1, headerLen+3))
	f("part 1 does not follow", flip(0, 11)) // its format
	f("follows another cut", flip(0, 25))
	f("is no part of a cut", flip(0, 2))
	f("part 1 does not follow", flip(1, headerLen-1))
	f("part 1 does not follow", func(m [][]byte) [][]byte { return m[1:] })
	f("is no part of a cut", func(m [][]byte) [][]byte { return [][]byte{m[0][:20]} })
	f("cut 3 follows cut 1", func([][]byte) [][]byte {
		m, _, _ := encodeCut(Place{Number: 2}, []byte("three"), nil)
		return m
	})
	f("follows another cut", func([][]byte) [][]byte {
		m, _, _ := encodeCut(Place{Number: 1, Hash: Hash{1}}, []byte("two"), nil)
		return m
	})
}

// Servers that have less than this node has, or something else, are not followed, and
// never written to.
func TestOtherStreamIsRefused(t *testing.T) {
	s := newServers(t, 1, false)
	a := s.member("a", false)
	appends(t, a, []byte("one"))
	at := appends(t, a, []byte("two"))

	f := func(want string, at Place) {
		t.Helper()
		b := s.member("b"+fmt.Sprint(rand.Uint64()), true)
		if err := b.Start(at.Encode()); err != nil {
			t.Fatal(err)
		}
		breaks(t, b, want)
		if b.Leads() || b.lead.ready.Load() {
			t.Error("it is to write")
		}
	}
	f("the stream ends at message 2", Place{Sequence: 9, Number: 9, Hash: at.Hash})
	f("is not the cut 2", Place{Sequence: at.Sequence, Number: 2, Hash: Hash{7}})
	f("follows another cut", Place{Sequence: 1, Number: 1, Hash: Hash{7}})
	if err := a.Start([]byte("short")); !errors.Is(err, ErrBroken) {
		t.Errorf("a place of five bytes was answered %v", err)
	}
}

// A stream that was deleted and made again has other cuts with the same numbers: nothing
// of it is taken, also not from its beginning.
func TestNewStreamIsRefused(t *testing.T) {
	s := newServers(t, 1, false)
	a := s.member("a", true)
	at := appends(t, a, []byte("one"))
	if has, err := a.Beginning(t.Context()); has != FirstCut || err != nil {
		t.Errorf("the stream begins with %d, %v; want the first cut", has, err)
	}

	if err := a.c.js.DeleteStream(t.Context(), streamName); err != nil {
		t.Fatal(err)
	}
	b := s.member("b", false)
	appends(t, b, []byte("another one"))
	if has, err := a.Beginning(t.Context()); !errors.Is(err, ErrBroken) {
		t.Errorf("a new stream begins with %d, %v", has, err)
	}
	if err := a.Start(at.Encode()); err != nil {
		t.Fatal(err)
	}
	breaks(t, a, "was made anew")
	if a.c.History() == b.c.History() {
		t.Error("both streams have the same history")
	}
}

// FuzzMessage gives a follower any message: it is refused, or as it was written.
func FuzzMessage(f *testing.F) {
	whole, _, err := encodeCut(Place{}, []byte("batch"), []byte("note"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole[0])
	f.Add(whole[0][:headerLen])

	f.Fuzz(func(t *testing.T, message []byte) {
		a := assembly{}
		cut, err := a.add(1, message)
		if err == nil && cut != nil && cut.Place.Number != 1 {
			t.Errorf("cut %+v after none", cut.Place)
		}
		if err != nil && !errors.Is(err, ErrBroken) {
			t.Errorf("%v is not ErrBroken", err)
		}
	})
}
