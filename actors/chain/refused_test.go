package chain

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"tidemark/actors/feed"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// broken returns the next step with a swap of it changed.
func (s *stage) broken(t *testing.T) feed.Step {
	t.Helper()
	s.now = s.now.Add(time.Hour)
	step, err := s.feed.Next(t.Context(), s.chain.Cursor())
	if err != nil {
		t.Fatal(err)
	}

	for _, b := range step.Span.Blocks {
		for i, log := range b.Logs {
			if swap, ok := log.Event.(market.Swap); ok {
				swap.Liquidity.Lo++
				b.Logs[i].Event = swap
				return step
			}
		}
	}

	t.Fatal("nothing was swapped")
	return step
}

// What the ledger refuses of a feed of real nodes is read again with proof, then
// with all that can be taken back, and quarantined in the end; a span that comes
// right is applied as if nothing had been.
func TestRefusedSpansAreReadAgain(t *testing.T) {
	s := newStage(t)
	s.load()
	s.follow()
	step := s.broken(t)
	s.chain.WantsState = false // as with a feed of real nodes

	err := s.chain.Advance(step, s.now)
	if err == nil || !s.chain.Refused(step, err) {
		t.Fatalf("a wrong swap was answered %v", err)
	}
	if got := s.chain.Cursor().Refused; got != step.Span.To {
		t.Errorf("read again up to %d; want %d", got, step.Span.To)
	}

	before := s.chain.ledger.Head()
	step.Proven = true
	if !s.chain.Refused(step, err) || s.chain.ledger.Head().Number >= before.Number {
		t.Errorf("a proven span that is refused leaves the ledger at %d", s.chain.ledger.Head().Number)
	}
	if !s.chain.Refused(step, err) || !s.chain.refused.certain {
		t.Error("the pool is not quarantined at last")
	}
	if s.chain.Refused(step, err) {
		t.Error("goes on for ever")
	}
}

// A span without proof is read again for a while, then with all that can be taken back,
// and quarantined in the end. Where nothing can be taken back, a proven one is at once.
func TestTriesOfASpan(t *testing.T) {
	s := newStage(t)
	s.load()
	mismatch := error(&ledger.Mismatch{})
	c := s.chain
	c.WantsState = false
	f := func(what string, step feed.Step, goesOn, certain bool, to uint64) {
		t.Helper()
		if got := c.Refused(step, mismatch); got != goesOn || c.refused.certain != certain || c.refused.to != to {
			t.Errorf("%s: goes on %t, certain %t, up to %d; want %t, %t, %d", what, got, c.refused.certain,
				c.refused.to, goesOn, certain, to)
		}
	}
	span := func(to uint64, proven bool) feed.Step {
		return feed.Step{Span: &market.Span{From: to, To: to}, Proven: proven}
	}

	f("the first span of a chain", span(5, true), true, true, 5)
	f("again", span(5, true), false, true, 5)
	c.refused, c.WantsState = refusal{}, true
	s.follow()
	c.WantsState = false
	head := c.ledger.Head()
	at := head.Number + 9
	for range maxUnproven {
		f("without proof", span(at, false), true, false, at)
	}
	f("one that ends before it", span(at-1, true), true, false, at)
	if to := c.ledger.Head(); to.Number >= head.Number || len(c.ledger.Anchors()) != 1 || !c.corrected {
		t.Errorf("the ledger is at %d of %d; want it as far back as it can go", to.Number, head.Number)
	}

	// What was read again meanwhile is not taken back once more.
	c.WantsState, s.now = true, s.now.Add(time.Minute)
	at += 100
	f("of a simulated market", span(at, false), false, false, at-100)
	c.refused.to = at
	s.follow()
	c.WantsState, head = false, c.ledger.Head()
	f("still without proof", span(at, false), true, true, at)
	if c.ledger.Head() != head || len(c.ledger.Anchors()) == 1 {
		t.Errorf("the ledger went back twice, to %+v", c.ledger.Head())
	}
	f("for ever", span(at, false), false, true, at)
}

// What is refused no more is forgotten once the ledger is at its end.
func TestRefusalEnds(t *testing.T) {
	s := newStage(t)
	s.load()
	s.follow()
	head := s.chain.ledger.Head()
	f := func(to, want uint64) {
		t.Helper()
		s.chain.refused = refusal{to: to, tries: 3, deep: true, certain: true}
		if err := s.chain.Advance(feed.Step{Head: head}, s.now); err != nil {
			t.Fatal(err)
		}
		if got := s.chain.Cursor().Refused; got != want || s.chain.refused.certain != (want > 0) {
			t.Errorf("at block %d, refused up to %d: %+v; want %d", head.Number, to, s.chain.refused, want)
		}
	}

	f(head.Number-1, 0)
	f(head.Number, 0)
	f(head.Number+1, head.Number+1)
}

// The ledger goes back to the last block that is known before the first that is read again.
func TestRereadFrom(t *testing.T) {
	f := func(after uint64, to int) {
		t.Helper()
		s := newStage(t)
		s.load()
		s.follow()
		for range 4 {
			s.now = s.now.Add(time.Minute)
			s.follow()
		}

		anchors := s.chain.ledger.Anchors()
		from, want := anchors[2].Number+after, anchors[to]
		s.chain.refused = refusal{to: 1 << 40, tries: 7, certain: true}
		if !s.chain.Reread(from, from+3) || s.chain.ledger.Head() != want || s.chain.refused != (refusal{to: from + 3}) {
			t.Errorf("%d after a known block: at %+v with %+v; want %+v", after, s.chain.ledger.Head(), s.chain.refused, want)
		}
	}

	f(1, 2)
	f(0, 3)
}

// A difference that lies within what can be taken back is read again.
func TestReread(t *testing.T) {
	s := newStage(t)
	s.load()
	s.follow()
	for range 3 {
		s.now = s.now.Add(5 * time.Minute)
		s.follow()
	}

	head := s.chain.ledger.Head().Number
	if !s.chain.Reread(head, head) || s.chain.ledger.Head().Number >= head {
		t.Errorf("the ledger stays at %d of %d", s.chain.ledger.Head().Number, head)
	}

	if got := s.chain.Cursor().Refused; got != head {
		t.Errorf("read again up to %d; want %d", got, head)
	}

	// What lies further back is read again from where the kept history begins.
	for range 3 {
		s.now = s.now.Add(5 * time.Minute)
		s.follow()
	}
	anchors := s.chain.ledger.Anchors()
	oldest := anchors[len(anchors)-1]
	if !s.chain.Reread(1, 2) || s.chain.ledger.Head() != oldest {
		t.Errorf("the ledger is at %+v; its oldest anchor is %+v", s.chain.ledger.Head(), oldest)
	}
	if s.chain.Reread(1, 2) {
		t.Error("went back further than it can")
	}
}

// What was read again is published, also when it ends at the same head.
func TestRereadIsPublished(t *testing.T) {
	s := newStage(t)
	s.load()
	s.follow()
	s.now = s.now.Add(5 * time.Minute)
	step, err := s.feed.Next(t.Context(), s.chain.Cursor())
	if err != nil {
		t.Fatal(err)
	}
	again := *step.Span
	advance := func(span market.Span) {
		t.Helper()
		step.Span = &span
		if err := s.chain.Advance(step, s.now); err != nil {
			t.Fatal(err)
		}
		s.refresh()
	}
	advance(again)
	before := s.chain.view

	if !s.chain.Reread(before.State.Head.Number, before.State.Head.Number) {
		t.Fatal("nothing can be read again")
	}
	advance(again)
	if at := s.chain.ledger.Head(); at != before.State.Head {
		t.Fatalf("the ledger is at %+v; want %+v", at, before.State.Head)
	}
	if s.chain.view.Generation <= before.Generation {
		t.Errorf("generation %d is served after %d", s.chain.view.Generation, before.Generation)
	}

	generation := s.chain.view.Generation
	s.refresh()
	if s.chain.view.Generation != generation {
		t.Error("the same block is published for ever")
	}
}

// While blocks are read again, the newest generation is served on: the ledger that went
// back is older than all that was served. What was read again is published once.
func TestNothingOlderIsPublished(t *testing.T) {
	s := newStage(t)
	s.publish()
	for range 3 {
		s.now = s.now.Add(5 * time.Minute)
		s.follow()
		s.refresh()
	}
	before := s.chain.view

	if !s.chain.Reread(1, before.State.Head.Number+1) || s.chain.ledger.Head() == before.State.Head {
		t.Fatal("nothing can be read again")
	}
	s.refresh()
	if s.chain.view != before || s.chain.Unpublished() {
		t.Errorf("block %d is served after block %d", s.chain.view.State.Head.Number, before.State.Head.Number)
	}

	// The block after it, which was refused, is not there yet.
	s.follow()
	s.refresh()
	s.refresh()
	if v := s.chain.view; v.State.Head != before.State.Head || v.Generation != before.Generation+1 {
		t.Errorf("generation %d of block %d is served after generation %d of block %d; want one more of the same block",
			v.Generation, v.State.Head.Number, before.Generation, before.State.Head.Number)
	}
}

// A reorganisation takes the ledger back by whole spans. That is not published before the
// blocks that replace them are there, unless the chain is that short now.
func TestRevertIsPublishedAtTheHead(t *testing.T) {
	f := func(blocks uint64, published bool) {
		t.Helper()
		s := newStage(t)
		s.publish()
		s.now = s.now.Add(5 * time.Minute)
		s.follow()
		s.refresh()

		before, to := s.chain.view, s.chain.ledger.Anchors()[1]
		head := market.Head{Number: to.Number + blocks, Time: s.now.Unix()}
		if err := s.chain.Advance(feed.Step{RevertTo: &to, Head: head}, s.now); err != nil {
			t.Fatal(err)
		}
		s.refresh()
		if got := s.chain.view != before; got != published {
			t.Errorf("back at block %d of %d, %d was served: published %t; want %t",
				to.Number, head.Number, before.State.Head.Number, got, published)
		}
	}

	f(0, true)
	f(1, false)
	f(100_000, false)
}

// Only what the ledger refuses of a span of real nodes is read again.
func TestOtherErrorsAreNotReadAgain(t *testing.T) {
	s := newStage(t)
	s.load()
	s.follow()
	step := s.broken(t)
	s.chain.WantsState = false
	refused := s.chain.Advance(step, s.now)

	f := func(what string, step feed.Step, err error, simulated, want bool) {
		t.Helper()
		s.chain.WantsState = simulated
		if got := s.chain.Refused(step, err); got != want {
			t.Errorf("%s: read again %t; want %t", what, got, want)
		}
		if to := s.chain.Cursor().Refused; (to != 0) != want {
			t.Errorf("%s: blocks up to %d are read again", what, to)
		}
	}

	f("another error", step, errors.New("out of order"), false, false)
	f("a revert", feed.Step{RevertTo: &market.Head{}}, refused, false, false)
	f("a simulated market", step, refused, true, false)
	f("a wrong event", step, refused, false, true)
	s.chain.refused = refusal{}
	f("blocks of two branches", step, fmt.Errorf("block 3 is %w", ledger.ErrOutOfOrder), false, true)
	s.chain.refused = refusal{}
	f("another parent", step, fmt.Errorf("cannot apply: %w", ledger.ErrNotNext), false, true)
}
