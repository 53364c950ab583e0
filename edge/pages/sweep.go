package pages

import (
	"sync/atomic"
	"time"
)

// sweeper drops what is kept of generations that are no longer published. Most of that
// goes when the next question needs the room; when no such question comes, it would keep
// the columns and records of a generation in memory for as long as nobody asks.
type sweeper struct {
	armed atomic.Bool
	drop  func() (kept bool) // drops what is outdated, and reports whether anything is left
}

// arm makes sure that a sweep comes. It costs one atomic load if it does already.
func (s *sweeper) arm() {
	if !s.armed.Load() && s.armed.CompareAndSwap(false, true) {
		time.AfterFunc(sweepEvery, s.sweep)
	}
}

// sweep drops, and comes again while there is anything that can become outdated.
func (s *sweeper) sweep() {
	s.armed.Store(false)
	if s.drop() {
		s.arm()
	}
}

// dropOutdated drops counts and rendered parts of generations that are neither
// published nor pinned.
func (p *Pages) dropOutdated() (kept bool) {
	if isClosed(p.jobs.stopping) {
		return false
	}
	counts := p.jobs.forgetCounts()
	return p.parts.dropOutdated(p.cfg.Board) || counts > 0
}
