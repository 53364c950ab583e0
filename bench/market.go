package bench

import (
	"context"
	"time"

	"tidemark/actors/feed/sim"
	"tidemark/bench/corpus"
	"tidemark/bench/process"
)

// mode is how a node serves the corpus.
type mode struct {
	market corpus.Market
	bare   bool // without a page cache
	cores  int  // of the server; 0: its half of the machine
	none   bool // there is no node
}

// The modes.
var (
	still   = mode{}
	two     = mode{cores: 2}
	bare    = mode{bare: true}
	calm    = mode{market: corpus.Calm}
	live    = mode{market: corpus.Brisk}
	liveTwo = mode{market: corpus.Brisk, cores: 2}
	alone   = mode{none: true}
)

// moves reports whether the market continues after the history.
func (m mode) moves() bool { return m.market != corpus.Still }

// serve makes sure that a node runs in a mode. One that is not ours is left as
// it is.
func (s *suite) serve(ctx context.Context, m mode) error {
	if s.URL != "" || s.node != nil && s.mode == m {
		return nil
	}
	if err := s.stopNode(); err != nil || m.none {
		return err
	}

	kept := s.generations // of the node before
	if err := s.startNode(ctx, m); err != nil {
		return err
	}
	if err := s.node.WaitUntil(ctx, (*process.Health).Ready); err != nil || !m.moves() {
		return err
	}
	return s.node.WaitPast(ctx, kept)
}

// startNode starts a node on the copy of the corpus, with a market that
// continues where it was.
func (s *suite) startNode(ctx context.Context, m mode) error {
	n := corpus.Node{Market: m.market, Since: s.marketSince(m.market), Bare: m.bare, Refresh: s.Refresh}
	args, err := s.record.Spec.Args(n)
	if err != nil {
		return err
	}

	s.mode = m
	s.node, err = process.StartNode(ctx, s.cores.Only(m.cores), args, s.data, s.record.Spec.Config(n),
		s.scratch)
	return err
}

// firstBlocks is how far a market is when its first node starts: every chain
// has a block or two, so that nobody waits for the first.
const firstBlocks = 25 * time.Second

// marketSince returns when a market continued after the end of the history. In a
// calm one nothing happens at first (see sim.CalmLull). A brisk one continues
// where the calm one is, with minutes in every refresh, and from so far on that
// no calm minute is left in the median that prices the native currency.
func (s *suite) marketSince(m corpus.Market) time.Time {
	now := time.Now()
	if m == corpus.Calm {
		if s.calmSince.IsZero() {
			s.calmSince = now.Add(-sim.CalmLull - firstBlocks)
		}
		return s.calmSince
	}

	if m == corpus.Brisk && s.liveSince.IsZero() {
		passed := firstBlocks + sim.CalmLull
		if !s.calmSince.IsZero() {
			passed += now.Sub(s.calmSince)
		}
		s.liveSince = now.Add(-passed / time.Duration(sim.BriskSpeed(s.Refresh)))
	}
	return s.liveSince
}

// stopNode stops a node of ours, and keeps how far its generations were.
func (s *suite) stopNode() error {
	if s.node == nil || s.node.Child == nil {
		return nil
	}
	if h, err := s.node.Health(); err == nil {
		s.generations = h.Generations()
	}

	err := s.node.Stop()
	s.node = nil
	return err
}
