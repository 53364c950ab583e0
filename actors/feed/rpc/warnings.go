package rpc

import (
	"time"

	"tidemark/actors/feed/endpoint"
)

// warnAgain is how often a failure that goes on is counted in the log.
const warnAgain = 5 * time.Minute

// warning is a failure of one kind that goes on.
type warning struct {
	since, line time.Time
	count       int
}

// warnOfFailure logs the first failure of a kind, and then their number from time to
// time.
func (f *Feed) warnOfFailure(s *source, err error, failures int, rest time.Duration) {
	kind, now := endpoint.KindOf(err), f.cfg.Clock.Now()
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	w := s.health.warned[kind]
	if w == nil {
		s.health.warned[kind] = &warning{since: now, line: now, count: 1}
		f.cfg.Log.Warn("a node failed", "chain", f.cfg.Chain, "endpoint", s.Name, "kind", string(kind),
			"error", err, "rest", rest.Round(time.Millisecond))
		return
	}

	w.count++
	if now.Sub(w.line) >= warnAgain {
		w.line = now
		f.cfg.Log.Warn("a node goes on failing", "chain", f.cfg.Chain, "endpoint", s.Name,
			"kind", string(kind), "error", err, "failures", w.count, "in_a_row", failures,
			"since", w.since.UTC().Format(time.RFC3339))
	}
}

// noteRecovery forgets warnings that are old enough: a node that fails now and
// then is warned of once.
func (f *Feed) noteRecovery(s *source) {
	now := f.cfg.Clock.Now()
	s.health.mu.Lock()
	defer s.health.mu.Unlock()
	for kind, w := range s.health.warned {
		if now.Sub(w.line) < warnAgain {
			continue
		}
		delete(s.health.warned, kind)
		f.cfg.Log.Info("a node answers again", "chain", f.cfg.Chain, "endpoint", s.Name,
			"kind", string(kind), "failures", w.count)
	}
}
