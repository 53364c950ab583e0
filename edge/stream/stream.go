package stream

import (
	"sync"

	"tidemark/rankings/market"
	"tidemark/storage/accounts"
)

// Stream is what one client follows. The hub queues events for it; whoever writes
// them to the client waits for Ready and calls Take.
type Stream struct {
	hub    *Hub
	keys   []key
	chains []market.ChainID // whose events concern it; nil: of all chains
	apiKey *accounts.Key
	abort  func() // cuts the connection

	// Guarded by the hub.
	seen      uint64   // the next step to tell of
	touched   uint64   // one more than the last step with an event for it
	reorged   []string // ids that a reorganisation concerns, in the step being told
	missed    *missed  // what it was not told yet; nil: it is live
	slot      int      // on the wheel
	place     int      // in its slot
	paidUntil int64    // unix ms
	unpaid    int64    // since when a unit could not be reserved; 0: paid

	ready  chan struct{}
	mu     sync.Mutex // guards the rest
	queue  [][]byte   // events, shared with other streams
	unsent int        // their bytes
	reason string     // why it ends; empty: it goes on
	cut    bool       // nothing more is sent
}

// Ready tells that Take has something.
func (s *Stream) Ready() <-chan struct{} { return s.ready }

// Take returns the events to send, which must not be changed. ended reports that
// they are the last ones.
func (s *Stream) Take() (events [][]byte, ended bool) {
	s.mu.Lock()
	events, s.queue, s.unsent = s.queue, nil, 0
	cut, ended := s.cut, s.reason != ""
	s.mu.Unlock()

	switch {
	case cut:
		return nil, true
	case ended:
		return append(events, endEvent(s.reason)), true
	}
	return append(events, s.hub.catchUp(s)...), false
}

// End ends the stream for a reason: its next Take returns the end.
func (s *Stream) End(reason string) {
	s.mu.Lock()
	if s.reason == "" {
		s.reason = reason
	}
	s.mu.Unlock()
	s.signal()
}

// Close takes the stream off the hub. It has to be called once.
func (s *Stream) Close() { s.hub.remove(s) }

// push queues an event. A client that does not read is cut.
func (s *Stream) push(event []byte, limit int) {
	s.mu.Lock()
	s.queue = append(s.queue, event)
	s.unsent += len(event)
	over := s.unsent > limit && !s.cut
	if over {
		s.cut, s.queue = true, nil
	}
	s.mu.Unlock()

	if over {
		s.hub.metrics.cut.Inc()
		s.abort()
	}
	s.signal()
}

// signal makes Ready tell.
func (s *Stream) signal() {
	select {
	case s.ready <- struct{}{}:
	default: // it does already
	}
}

// concerns reports whether the stream follows a chain.
func (s *Stream) concerns(chain market.ChainID) bool {
	if s.chains == nil {
		return true
	}
	for _, id := range s.chains {
		if id == chain {
			return true
		}
	}
	return false
}
