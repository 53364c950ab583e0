package stream

import (
	"slices"
	"sync"

	"tidemark/rankings/market"
)

// Stream is what one client follows. The hub queues events for it; whoever writes
// them to the client waits for Ready and calls Take.
type Stream struct {
	hub    *Hub
	keys   []key
	chains []market.ChainID // whose events concern it; nil: of all chains
	abort  func()           // cuts the connection

	// Guarded by the hub.
	seen      uint64   // the next step to tell of
	touched   uint64   // one more than the last step with an event for it
	reorged   []string // ids that a reorganisation concerns, in the step being told
	backlog   *backlog // what it was not told yet; nil: it is live
	slot      int      // on the wheel
	place     int      // in its slot
	paidUntil int64    // unix ms

	ready  chan struct{}
	mu     sync.Mutex // guards the rest
	queue  [][]byte   // events, shared with other streams
	unsent int        // their bytes
	due    int        // minutes that have begun and are to be paid
	reason string     // why it ends; empty: it goes on
	cut    bool       // nothing more is sent
}

// Ready tells that Take has something.
func (s *Stream) Ready() <-chan struct{} { return s.ready }

// Batch is what a stream has to do next.
type Batch struct {
	Events [][]byte // to send; they must not be changed
	Due    int      // minutes that have begun and are to be paid
	Ended  bool     // the events are the last ones
}

// Take returns what there is to do.
func (s *Stream) Take() Batch {
	s.mu.Lock()
	b := Batch{Events: s.queue, Due: s.due, Ended: s.cut || s.reason != ""}
	s.queue, s.unsent, s.due = nil, 0, 0
	if s.reason != "" && !s.cut {
		b.Events = append(b.Events, endEvent(s.reason))
	}
	s.mu.Unlock()

	if !b.Ended {
		b.Events = append(b.Events, s.hub.catchUp(s)...)
	}
	return b
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
func (s *Stream) push(event []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut {
		return
	}

	s.queue = append(s.queue, event)
	s.unsent += len(event)
	if s.unsent > int(s.hub.unsent.Load()) {
		s.cut, s.queue = true, nil
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

// charge notes that a minute has begun.
func (s *Stream) charge() {
	s.mu.Lock()
	s.due++
	s.mu.Unlock()
	s.signal()
}

// follows reports whether events of a chain concern the stream.
func (s *Stream) follows(chain market.ChainID) bool {
	return s.chains == nil || slices.Contains(s.chains, chain)
}
