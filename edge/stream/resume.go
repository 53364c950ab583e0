package stream

import (
	"slices"
	"sync"
	"time"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
)

// Request is what a stream is opened with.
type Request struct {
	Query query.Stream
	Now   time.Time // from when on the first minute was paid
	Abort func()    // cuts the connection; must not block or call the hub
}

// Open begins a stream, which has to be closed.
func (h *Hub) Open(r Request) *Stream {
	s := &Stream{
		hub: h, keys: keysOfQuery(&r.Query), abort: r.Abort,
		ready: make(chan struct{}, 1),
	}
	s.chains = chainsOfKeys(s.keys)

	h.mu.Lock()
	defer h.mu.Unlock()
	h.begin()
	h.open++
	h.index.add(s)
	h.wheel.add(s, h.steady(r.Now))
	if h.stopped {
		s.End(EndStop)
	}

	h.beginAfter(s, r.Query.After)
	return s
}

// beginAfter queues the first event of a stream, or notes what it missed since the event
// with that id.
func (h *Hub) beginAfter(s *Stream, after *query.EventID) {
	s.seen = h.seq
	generations := h.known.String()

	switch {
	case after == nil:
		h.queue(s, generationEvent(generations))
	case h.canContinue(s, after):
		h.metrics.resumed.Inc()
		s.backlog = h.backlogSince(s, after)
		if !h.isNow(after) {
			s.seen-- // it has not been told of the present generations
		}
		s.signal()
	default:
		h.metrics.reset.Inc()
		h.queue(s, resetEvent(generations))
	}
}

// isNow reports whether an id is behind all that was published.
func (h *Hub) isNow(id *query.EventID) bool {
	return id.Place == 0 && !slices.ContainsFunc(h.known, func(g query.Generation) bool {
		return id.Generations.Of(g.Chain) != g.Number
	})
}

// begin starts the hub's goroutine or, if that runs, tells of what has been published
// since it last looked.
func (h *Hub) begin() {
	if h.snapshot != nil {
		h.readBoard()
		return
	}

	h.snapshot = h.Board.Load()
	h.seq, h.known = h.snapshot.Log.Next(), generationsOf(h.snapshot)
	h.wheel.at = 0
	if !h.stopped {
		h.cancel = h.start(h.run)
	}
}

// backlog is what a stream was not told yet: the steps from seq on that lead beyond
// the generations it knows.
type backlog struct {
	seq   uint64
	place int // changes of step seq that it was told
	after *query.EventID
	keys  map[key]bool // those of the stream; made when they are first asked for
}

// backlogSince returns what came after an event that a stream was told.
func (h *Hub) backlogSince(s *Stream, id *query.EventID) *backlog {
	m := &backlog{seq: h.seq, after: id}
	if id.Place > 0 {
		last := h.lastStep(id)
		m.seq, m.place = last.Seq, id.Place
		return m
	}

	// The log may drop steps that the stream knows before it has caught up.
	for _, step := range h.snapshot.Log.After(0) {
		if s.follows(step.Chain) && !m.knows(step) {
			m.seq = step.Seq
			break
		}
	}
	return m
}

// knows reports whether a step leads no further than the event's generations.
func (m *backlog) knows(step *rankings.Step) bool {
	return step.Generation <= m.after.Generations.Of(step.Chain)
}

// lastStep returns the newest step that led to the generations of an id, or nil.
func (h *Hub) lastStep(id *query.EventID) (last *rankings.Step) {
	for _, g := range id.Generations {
		s := h.snapshot.Log.Find(g.Chain, g.Number)
		if s != nil && (last == nil || s.Seq > last.Seq) {
			last = s
		}
	}
	return last
}

// canContinue reports whether the log has everything behind an id that concerns a
// stream. A published chain that the id does not know has begun since.
func (h *Hub) canContinue(s *Stream, id *query.EventID) bool {
	if id.Place > 0 {
		if last := h.lastStep(id); last == nil || id.Place > last.Len() {
			return false
		}
	}
	return !slices.ContainsFunc(h.known, func(g query.Generation) bool {
		return s.follows(g.Chain) && !h.reaches(id.Generations.Of(g.Chain), g)
	})
}

// reaches reports whether known steps lead from a generation of a chain to the
// present one.
func (h *Hub) reaches(from uint64, now query.Generation) bool {
	at := from
	for _, s := range h.snapshot.Log.After(0) {
		if s.Chain != now.Chain || s.Generation <= at {
			continue
		}
		if s.Since != at || s.Unknown {
			return false
		}
		at = s.Generation
	}
	return at == now.Number
}

// catchUp returns the next events that a stream missed, about batchBytes of them.
// When there are no more, the stream is live.
func (h *Hub) catchUp(s *Stream) (events [][]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.metrics.events.Add(len(events)) }()
	m := s.backlog
	if m == nil {
		return nil
	}

	steps := h.snapshot.Log.After(m.seq)
	if len(steps) > 0 && steps[0].Seq > m.seq {
		s.backlog, s.seen = nil, h.seq
		return [][]byte{resetEvent(h.known.String())}
	}

	size := 0
	for _, step := range steps {
		if step.Seq >= h.seq {
			break
		}
		more, done := h.renderMissed(s, step, batchBytes-size)
		for _, e := range more {
			size += len(e)
		}
		events = append(events, more...)
		if !done {
			s.signal()
			return events
		}
		m.seq, m.place = step.Seq+1, 0
	}

	s.backlog = nil
	return events
}

// renderMissed returns what a stream missed of a step, up to about room bytes. done is
// false if that was not all.
func (h *Hub) renderMissed(s *Stream, step *rankings.Step, room int) (events [][]byte, done bool) {
	m := s.backlog
	told := m.place == 0 && m.knows(step)
	if told || !s.follows(step.Chain) {
		return nil, true
	}

	// Only few steps have something for a stream, and each looks through those after it.
	generations := sync.OnceValue(func() string { return h.generationsAt(step).String() })
	found := m.place > 0
	var ids []string
	for at := m.place; at < step.Len(); at++ {
		if !m.has(s, step, at) {
			continue
		}
		if step.Reverted {
			ids = addID(ids, step, at)
			continue
		}
		if room <= 0 {
			m.place = at
			return events, false
		}
		if e := h.eventAt(step, at, generations()); e != nil {
			events, found = append(events, e), true
			room -= len(e)
		}
	}

	if len(ids) > 0 {
		found = true
		events = append(events,
			render.AppendReorgEvent(nil, generations(), step.Len(), step.Chain, ids))
	}
	if found {
		events = append(events, generationEvent(generations()))
		s.seen = step.Seq + 1
	}
	return events, true
}

// has reports whether the stream watches a change.
func (m *backlog) has(s *Stream, step *rankings.Step, at int) bool {
	if m.keys == nil {
		m.keys = make(map[key]bool, len(s.keys))
		for _, k := range s.keys {
			m.keys[k] = true
		}
	}
	var room [maxKeys]key
	keys := keysOfChange(step, at, room[:0])
	return slices.ContainsFunc(keys, func(k key) bool { return m.keys[k] })
}

// generationsAt returns the generations that were published after a step that has
// been told of.
func (h *Hub) generationsAt(step *rankings.Step) query.Generations {
	list := slices.Clone(h.known)
	for _, later := range slices.Backward(h.snapshot.Log.After(step.Seq + 1)) {
		if later.Seq >= h.seq {
			continue
		}
		for i := range list {
			if list[i].Chain == later.Chain {
				list[i].Number = later.Since
			}
		}
	}
	return list
}
