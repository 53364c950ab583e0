package stream

import (
	"slices"
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
	s.chains = chainsOf(s.keys)

	h.mu.Lock()
	defer h.mu.Unlock()
	h.begin()
	h.open++
	h.index.add(s)
	h.wheel.add(s, r.Now)
	if h.stopped {
		s.End(EndStop)
	}

	h.greet(s, r.Query.After)
	return s
}

// greet queues the first event of a stream, or notes what it missed.
func (h *Hub) greet(s *Stream, after *query.EventID) {
	s.seen = h.seq
	generations := formatGenerations(h.known)

	switch {
	case after == nil:
		h.queue(s, generationEvent(generations))
	case h.canContinue(s, after):
		h.metrics.resumed.Inc()
		s.missed = h.missedSince(after)
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
	return id.Place == 0 && !slices.ContainsFunc(h.known, func(g generation) bool {
		return id.Of(g.chain) != g.number
	})
}

// begin starts the hub's goroutine, if it is not running.
func (h *Hub) begin() {
	if h.snapshot != nil {
		h.follow()
		return
	}

	h.snapshot = h.Board.Load()
	h.seq, h.known = h.snapshot.Log.Next(), generationsOf(h.snapshot)
	h.wheel.at = 0
	if !h.stopped {
		h.cancel = h.start(h.run)
	}
}

func keysOfQuery(q *query.Stream) (keys []key) {
	if q.Owner != nil {
		keys = append(keys, ownerKey(*q.Owner))
	}
	for i := range q.Positions {
		if p := &q.Positions[i]; !p.NoPosition {
			keys = append(keys, positionKey(p.Chain, p.Position))
		}
	}
	for i := range q.Pools {
		keys = append(keys, poolKey(q.Pools[i].Chain, q.Pools[i].Pool))
	}
	return keys
}

// missed is what a stream was not told yet: the steps from seq on that lead beyond
// the generations it knows.
type missed struct {
	seq   uint64
	place int // changes of step seq that it was told
	after *query.EventID
	wants map[key]bool
}

// missedSince returns what an event id has before it.
func (h *Hub) missedSince(id *query.EventID) *missed {
	m := &missed{after: id}
	if steps := h.snapshot.Log.After(0); len(steps) > 0 {
		m.seq = steps[0].Seq
	}
	if id.Place > 0 {
		last := h.lastStep(id)
		m.seq, m.place = last.Seq, id.Place
	}
	return m
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
	return !slices.ContainsFunc(h.known, func(g generation) bool {
		return s.concerns(g.chain) && !h.reaches(id.Of(g.chain), g)
	})
}

// reaches reports whether known steps lead from a generation of a chain to the
// present one.
func (h *Hub) reaches(from uint64, now generation) bool {
	at := from
	for _, s := range h.snapshot.Log.After(0) {
		if s.Chain != now.chain || s.Generation <= at {
			continue
		}
		if s.Since != at || s.Unknown {
			return false
		}
		at = s.Generation
	}
	return at == now.number
}

// catchUp returns the next events that a stream missed, about batchBytes of them.
// When there are no more, the stream is live.
func (h *Hub) catchUp(s *Stream) (events [][]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.metrics.events.Add(len(events)) }()
	m := s.missed
	if m == nil {
		return nil
	}

	steps := h.snapshot.Log.After(m.seq)
	if len(steps) > 0 && steps[0].Seq > m.seq {
		s.missed, s.seen = nil, h.seq
		return [][]byte{resetEvent(formatGenerations(h.known))}
	}

	size := 0
	for _, step := range steps {
		if step.Seq >= h.seq {
			break
		}
		more, done := h.missedOf(s, step, batchBytes-size)
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

	s.missed = nil
	return events
}

// missedOf returns what a stream missed of a step, up to a number of bytes. done is
// false if that was not all.
func (h *Hub) missedOf(s *Stream, step *rankings.Step, room int) (events [][]byte, done bool) {
	m := s.missed
	told := m.place == 0 && step.Generation <= m.after.Of(step.Chain)
	if told || !s.concerns(step.Chain) {
		return nil, true
	}

	generations, any := formatGenerations(h.generationsAt(step)), m.place > 0
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
		if e := h.eventAt(step, at, generations); e != nil {
			events, any = append(events, e), true
			room -= len(e)
		}
	}

	if len(ids) > 0 {
		any = true
		events = append(events,
			render.AppendReorgEvent(nil, generations, step.Len(), step.Chain, ids))
	}
	if any {
		events = append(events, generationEvent(generations))
		s.seen = step.Seq + 1
	}
	return events, true
}

// has reports whether the stream watches a change.
func (m *missed) has(s *Stream, step *rankings.Step, at int) bool {
	if m.wants == nil {
		m.wants = make(map[key]bool, len(s.keys))
		for _, k := range s.keys {
			m.wants[k] = true
		}
	}
	var room [maxKeys]key
	return slices.ContainsFunc(keysOf(step, at, room[:0]), func(k key) bool { return m.wants[k] })
}

// generationsAt returns the generations that were published after a step that has
// been told of.
func (h *Hub) generationsAt(step *rankings.Step) []generation {
	list := slices.Clone(h.known)
	for _, later := range slices.Backward(h.snapshot.Log.After(step.Seq + 1)) {
		if later.Seq >= h.seq {
			continue
		}
		for i := range list {
			if list[i].chain == later.Chain {
				list[i].number = later.Since
			}
		}
	}
	return list
}
