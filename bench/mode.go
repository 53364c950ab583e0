package bench

import (
	"context"
	"time"

	"tidemark/actors/feed/sim"
	"tidemark/bench/corpus"
)

// mode is how a node serves the corpus.
type mode uint8

const (
	still    mode = iota // its market stands where the history ends
	uncached             // the same, and every page is rendered for whoever asks
	calm                 // its market goes on and moves few pools
	live                 // its market goes on
	alone                // there is no node
)

// moves reports whether the market goes on.
func (m mode) moves() bool { return m == calm || m == live }

// serve makes sure that a node runs in a mode. One that is not ours is as it
// is.
func (s *suite) serve(ctx context.Context, m mode) error {
	if s.URL != "" || s.node != nil && s.mode == m {
		return nil
	}
	if err := s.stopNode(); err != nil || m == alone {
		return err
	}
	kept := s.generations // of the node before
	if err := s.startNode(ctx, m); err != nil {
		return err
	}
	if err := s.node.waitReady(ctx, nil); err != nil || !m.moves() {
		return err
	}
	return s.node.waitPast(ctx, kept)
}

// startNode starts a node on the copy of the corpus, with a market that goes on
// where it was.
func (s *suite) startNode(ctx context.Context, m mode) error {
	how := corpus.Node{
		Live: m == live, Calm: m == calm, Uncached: m == uncached, Refresh: s.Refresh, Extra: plans,
	}
	engine, err := s.record.Spec.Engine(how, s.wentOn(m))
	if err != nil {
		return err
	}
	s.node, err = startNode(ctx, &s.cores, launch{
		exe: s.Exe, data: s.data, config: s.record.Spec.Config(how), engine: &engine, scratch: s.scratch,
	}, &s.run.Units)
	s.mode = m
	return err
}

// firstBlocks is how far a market has gone on when its first node starts: every
// chain has a block or two, so that nobody waits for the first.
const firstBlocks = 25 * time.Second

// wentOn returns when the market of a mode went on from the end of the history.
// In a calm one nothing happens at first (see sim.CalmLull). A brisk one goes on
// where the calm one is, with minutes in every refresh, and from far enough on
// that no calm minute is left in the median that prices the native currency.
func (s *suite) wentOn(m mode) time.Time {
	now := time.Now()
	switch {
	case m == calm && s.calmed.IsZero():
		s.calmed = now.Add(-sim.CalmLull - firstBlocks)
	case m == live && s.goesOn.IsZero():
		passed := firstBlocks + sim.CalmLull
		if !s.calmed.IsZero() {
			passed += now.Sub(s.calmed)
		}
		s.goesOn = now.Add(-passed / time.Duration(sim.BriskSpeed(s.Refresh)))
	}
	if m == calm {
		return s.calmed
	}
	return s.goesOn
}

func (s *suite) stopNode() error {
	if s.node == nil || s.node.child == nil {
		return nil
	}
	if h, err := s.node.health(); err == nil {
		s.generations = h.generations()
	}
	err := s.node.Stop()
	s.node = nil
	return err
}
