package archive

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings/market"
)

// TestMain makes the packer that all archives share outside of the tests with their own
// clock: what it waits with must not belong to one of them.
func TestMain(m *testing.M) {
	p := packing()
	if _, err := p.dec.DecodeAll(p.enc.EncodeAll(nil, nil), nil); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// steps is a live feed that gives one step again and again.
type steps struct {
	step   feed.Step
	err    error
	asked  []feed.Cursor
	closed int
	fail   error // of Close
}

func (s *steps) Next(_ context.Context, c feed.Cursor) (feed.Step, error) {
	s.asked = append(s.asked, c)
	return s.step, s.err
}

func (s *steps) Close() error {
	s.closed++
	return s.fail
}

func next(t *testing.T, f *Feed, c feed.Cursor) feed.Step {
	t.Helper()
	step, err := f.Next(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

func after(at market.Head) feed.Cursor { return feed.Cursor{Anchors: []market.Head{at}} }

// A span of the archive is final where the ledger need not keep what takes it back: it is
// finalized, and further below the end than the ledger can go back.
func TestFinalSpans(t *testing.T) {
	f := func(finalized, last uint64) {
		t.Helper()
		a := openAt(t, t.TempDir())
		defer a.Close()
		spans := line(100, 700)
		for i := range spans {
			appendSpan(t, a, &spans[i])
		}
		a.NoteFinalized(finalized)
		fd := NewFeed(a, nil)
		defer fd.Close()
		at := market.Head{Number: 99}
		for i := range spans {
			step := next(t, fd, after(at))
			at = step.Span.Head()
			if step.Span.Final != (step.Span.To <= last) {
				t.Fatalf("finalized %d: the span of block %d is final %t; the last one that is has %d",
					finalized, at.Number, step.Span.Final, last)
			}
			if step.Head != spans[600].Head() || step.Finalized != finalized || !step.Archived || at != spans[i].Head() {
				t.Fatalf("finalized %d: %+v", finalized, step)
			}
		}
	}

	f(0, 0)
	f(300, 300)
	f(444, 444)
	f(445, 444)
	f(700, 444)
}

// A span that was final when it was archived stays so.
func TestArchivedFinal(t *testing.T) {
	a := openAt(t, t.TempDir())
	defer a.Close()
	spans := line(100, 101)
	spans[0].Final = true
	appendAll(t, a, spans)
	f := NewFeed(a, nil)
	defer f.Close()

	if step := next(t, f, after(market.Head{Number: 99})); !step.Span.Final {
		t.Error("a final span is not")
	}
	if step := next(t, f, after(spans[0].Head())); step.Span.Final {
		t.Error("a span that is not final is")
	}
}

// The nodes are asked for blocks that the archive does not have, or has of another branch,
// and for those that the ledger refused; for no others.
func TestWhenNodesAreAsked(t *testing.T) {
	spans := line(100, 120)
	a := openAt(t, t.TempDir())
	defer a.Close()
	appendAll(t, a, spans)
	live := &steps{step: feed.Step{Head: market.Head{Number: 500}, Finalized: 77}}
	fd := NewFeed(a, live)
	f := func(what string, c feed.Cursor, asked bool) {
		t.Helper()
		live.asked = nil
		step := next(t, fd, c)
		if (len(live.asked) == 1) != asked || step.Archived == asked {
			t.Errorf("%s: the nodes were asked %d times, archived %t; want them asked %t",
				what, len(live.asked), step.Archived, asked)
		}
		if asked && (step.Finalized != 77 || live.asked[0].Refused != c.Refused) {
			t.Errorf("%s: asked %+v, got %+v; want the answer of the nodes to the same", what, live.asked, step)
		}
	}

	at := spans[9].Head() // block 109
	f("the archive has the next block", after(at), false)
	f("again", after(at), false)
	f("the ledger went back", after(spans[2].Head()), false)
	f("another branch", after(market.Head{Number: 109, Hash: market.Hash{0xee}}), true)
	f("an unknown hash", after(market.Head{Number: 109}), false)
	f("the next block was refused", feed.Cursor{Anchors: []market.Head{at}, Refused: 110}, true)
	f("a block before was refused", feed.Cursor{Anchors: []market.Head{at}, Refused: 109}, false)
	f("the end", after(spans[20].Head()), true)
	f("before the first", after(market.Head{Number: 98}), true)
	f("the block before the first", after(market.Head{Number: 99}), false)

	// The chain's head is the nodes', once they were asked, while that is the later one.
	if step := next(t, fd, after(at)); step.Head.Number != 500 {
		t.Errorf("the head is %+v; want that of the nodes", step.Head)
	}
	live.step.Head = market.Head{}
	next(t, fd, after(spans[20].Head()))
	if step := next(t, fd, after(at)); step.Head.Number != 500 {
		t.Errorf("after an answer without a head it is %+v; want the one before", step.Head)
	}
	live.step.Head = spans[3].Head()
	next(t, fd, after(spans[20].Head()))
	if step := next(t, fd, after(at)); step.Head != spans[20].Head() {
		t.Errorf("the head is %+v; want the archive's end, which is later", step.Head)
	}
	live.err = errors.New("no node answers")
	if _, err := fd.Next(t.Context(), after(spans[20].Head())); !errors.Is(err, live.err) {
		t.Errorf("the nodes fail, and the feed says %v", err)
	}
}

// What the archive had when the feed began to read is not given once it is superseded, and the
// reader of it ends then. Until then one reader gives all.
func TestSupersededIsNotGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which notices a reader that does not end
		spans := line(100, 120)
		a := openAt(t, t.TempDir())
		defer a.Close()
		appendAll(t, a, spans)
		f := NewFeed(a, nil)
		defer f.Close()
		next(t, f, after(market.Head{Number: 99}))
		for reader, i := f.reader, uint64(100); i < 105; i++ {
			if next(t, f, after(spans[i-100].Head())); f.reader != reader {
				t.Errorf("after block %d another reader is made", i)
			}
		}

		if err := a.Revert(120, spans[4].Head()); err != nil {
			t.Fatal(err)
		}
		other := line(105, 106)
		other[0].Parent, other[0].Hash = spans[4].Hash, market.Hash{0xee}
		other[1].Parent = other[0].Hash
		appendAll(t, a, other)
		if step := next(t, f, after(spans[4].Head())); step.Span.Hash != other[0].Hash {
			t.Errorf("after the revert block %d is %s; want the new one", step.Span.To, step.Span.Hash)
		}
	})
}

// The nodes are asked for blocks up to where the archive goes on, so that the hash there shows
// whether it is of their branch.
func TestUntilTheArchive(t *testing.T) {
	spans := line(100, 140)
	a := openAt(t, t.TempDir())
	defer a.Close()
	appendAll(t, a, spans[10:20])
	appendAll(t, a, spans[30:])
	live := &steps{}
	fd := NewFeed(a, live)
	f := func(at market.Head, want uint64) {
		t.Helper()
		live.asked = nil
		next(t, fd, after(at))
		if len(live.asked) != 1 || live.asked[0].Until != want {
			t.Errorf("after block %d the nodes are asked %+v; want blocks up to %d", at.Number, live.asked, want)
		}
	}

	f(market.Head{Number: 99}, 109)
	f(spans[8].Head(), 109)
	f(spans[19].Head(), 129)
	f(spans[25].Head(), 129)
	f(spans[40].Head(), 0)
}

// A ledger goes on with the archive only from a block that the archive has: not within a span,
// nor from a block whose hash is not known while it has blocks.
func TestWhereTheArchiveGoesOn(t *testing.T) {
	spans := line(100, 140)
	long := longer(spans[10:20])
	a := openAt(t, t.TempDir())
	defer a.Close()
	appendAll(t, a, slices.Concat(spans[:10], []market.Span{long}, spans[20:]))
	f := func(what string, archived bool, anchors ...market.Head) {
		t.Helper()
		fd := NewFeed(a, &steps{})
		defer fd.Close()
		if step := next(t, fd, feed.Cursor{Anchors: anchors}); step.Archived != archived {
			t.Errorf("%s: archived %t", what, step.Archived)
		}
	}

	f("its last block", true, spans[9].Head())
	f("the end of a span of several blocks", true, spans[19].Head())
	f("within it", false, spans[14].Head())
	f("within it, no hash", false, market.Head{Number: 114})
	f("nothing was applied", true, market.Head{Number: 99})
	f("a cut at an hour", false, market.Head{Number: 109}, spans[5].Head())
	f("another branch", false, market.Head{Number: 109, Hash: market.Hash{0xee}})
}

// What is missing is fetched while there is nothing else to do: at the head, and only
// after an answer that says so.
func TestWhenHolesAreFilled(t *testing.T) {
	spans := line(100, 140)
	f := func(what string, step feed.Step, err error, filled bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			a := openAt(t, t.TempDir())
			defer a.Close()
			appendAll(t, a, spans[:10])
			appendAll(t, a, spans[20:])
			live := &steps{step: step, err: err}
			fd := NewFeed(a, live)
			fd.Next(t.Context(), after(spans[40].Head()))
			if got := len(live.asked) == 2; got != filled {
				t.Errorf("%s: the nodes were asked %d times; want the hole asked for %t", what, len(live.asked), filled)
			}
		})
	}

	now := time.Now()
	f("at the head", feed.Step{Confirmed: now}, nil, true)
	f("behind it", feed.Step{}, nil, false)
	f("a new span", feed.Step{Confirmed: now, Span: &spans[5]}, nil, false)
	f("a revert", feed.Step{Confirmed: now, RevertTo: &market.Head{Number: 7}}, nil, false)
	f("a failure", feed.Step{Confirmed: now}, errors.New("no"), false)
}

// A hole is filled a part at a time, two seconds apart, and the first part is asked for
// after the block before the hole.
func TestHoleParts(t *testing.T) {
	spans := line(100, 140)
	synctest.Test(t, func(t *testing.T) {
		a := openAt(t, t.TempDir())
		defer a.Close()
		appendAll(t, a, spans[:10])
		appendAll(t, a, spans[13:])
		live := &nodes{spans: spans}
		fd := NewFeed(a, live)

		for second, want := range []int{1, 1, 2, 2, 3, 3, 3} {
			atHead(t, fd, live)
			if len(live.asked) != want {
				t.Errorf("after %d s the nodes were asked for %v; want %d parts", second, live.asked, want)
			}
			if st := a.Status(); len(st.Holes) == 0 != (want == 3) {
				t.Errorf("after %d s there are holes %v", second, st.Holes)
			}
			time.Sleep(time.Second)
		}
		if live.asked[0] != 109 || live.asked[1] != 110 || live.asked[2] != 111 {
			t.Errorf("asked for what follows %v", live.asked)
		}
		hold(t, a, spans).Close()
	})
}

// A hole that cannot be filled is an error that says why.
func TestHoleThatCannotBeFilled(t *testing.T) {
	spans := line(100, 140)
	a := openAt(t, t.TempDir())
	appendAll(t, a, spans[:10])
	appendAll(t, a, spans[13:])
	fd := NewFeed(a, &nodes{spans: spans})
	f := func(what, want string) {
		t.Helper()
		err := fd.fillHole(t.Context(), a.firstHole())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", what, err, want)
		}
	}

	path := a.segments[0].path
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	f("without the segment before it", "cannot archive blocks 110 to 110 of chain 1: ")
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	f("the first part", "")
	a.file.Close()
	f("a file that cannot be written", "cannot write the archive of chain 1: ")
}

// Closing the feed closes the nodes, and leaves the archive open.
func TestFeedCloses(t *testing.T) {
	a := openAt(t, t.TempDir())
	defer a.Close()
	spans := line(100, 102)
	appendAll(t, a, spans[:2])
	live := &steps{fail: errors.New("cannot close")}
	f := NewFeed(a, live)
	next(t, f, after(market.Head{Number: 99}))
	if err := f.Close(); !errors.Is(err, live.fail) || live.closed != 1 {
		t.Errorf("Close = %v; the nodes were closed %d times", err, live.closed)
	}

	if err := NewFeed(a, nil).Close(); err != nil {
		t.Error(err)
	}
	appendAll(t, a, spans[2:])
}

// Damage that a replay meets is an error that says what is lost. With nodes the blocks are
// fetched from them instead, and only those.
func TestDamageInReplay(t *testing.T) {
	spans := newMaker(31, 100).spans(90)
	a, _, _ := damaged(t, spans)
	live := &nodes{spans: spans}
	f := NewFeed(a, live)
	at := market.Head{Number: 99}
	var fetched []uint64
	for at != spans[89].Head() {
		step, err := f.Next(t.Context(), after(at))
		if damage := (*Damage)(nil); errors.As(err, &damage) || err != nil {
			t.Fatalf("after block %d: %v", at.Number, err)
		}
		if step.Span == nil {
			t.Fatalf("after block %d there is nothing", at.Number)
		}
		if !step.Archived {
			fetched = append(fetched, step.Span.From)
			if err := a.Append(at, step.Span); err != nil {
				t.Fatal(err)
			}
		}
		at = step.Span.Head()
	}
	if n := len(fetched); n == 0 || n > 30 {
		t.Errorf("%d of 90 spans were fetched; want the damaged ones", n)
	}
	if st := a.Status(); st.Damages != 1 || len(st.Holes) > 0 {
		t.Errorf("%+v: want one damage and no hole", st)
	}

	b, _, _ := damaged(t, spans)
	f = NewFeed(b, nil)
	var err error
	for at = (market.Head{Number: 99}); err == nil; {
		var step feed.Step
		if step, err = f.Next(t.Context(), after(at)); err == nil {
			at = step.Span.Head()
		}
	}
	if damage := (*Damage)(nil); !errors.As(err, &damage) || damage.From != at.Number+1 {
		t.Errorf("a replay without nodes ends after block %d with %v; want the damage", at.Number, err)
	}
}

// Without nodes a replay ends with the archive, and else says which blocks are in its way.
func TestEndsOfAReplay(t *testing.T) {
	spans := line(100, 140)
	a := openAt(t, t.TempDir())
	defer a.Close()
	appendAll(t, a, spans[:10])
	appendAll(t, a, spans[20:])
	fd := NewFeed(a, nil)
	f := func(at uint64, want string) {
		t.Helper()
		if err := fd.endError(market.Head{Number: at}); err.Error() != want {
			t.Errorf("after block %d: %v; want %q", at, err, want)
		}
	}

	f(98, "the archive lacks blocks 99 to 99")
	f(50, "the archive lacks blocks 51 to 99")
	f(109, "the archive lacks blocks 110 to 119")
	f(118, "the archive lacks blocks 110 to 119")
	f(119, "the archive has other blocks after 119 than the ledger at "+market.Hash{}.String())
	f(108, "the archive has other blocks after 108 than the ledger at "+market.Hash{}.String())
	f(139, "the archive has other blocks after 139 than the ledger at "+market.Hash{}.String())
	f(140, ErrEnd.Error())
	f(141, ErrEnd.Error())

	// What is appended after the end is given.
	for i := 138; i <= 142; i++ {
		step, err := fd.Next(t.Context(), after(line(100, 150)[i-100].Head()))
		if i == 140 {
			if !errors.Is(err, ErrEnd) {
				t.Errorf("at the end: %v", err)
			}
			appendAll(t, a, line(100, 150)[41:])
			step, err = fd.Next(t.Context(), after(line(100, 150)[40].Head()))
		}
		if err != nil || step.Span == nil || step.Span.From != uint64(i+1) {
			t.Errorf("after block %d: %+v, %v", i, step.Span, err)
		}
	}
}
