package chain

import (
	"errors"
	"testing"
	"time"

	"tidemark/actors/feed"
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
}
