package stream

import "time"

// wheel spreads streams over a minute: a stream has to pay when its slot comes, and gets a
// comment in every commentEvery-th second from it. So ten thousand streams cost one
// ticker, and every second a small part of them.
type wheel struct {
	slots [turn][]*Stream
	at    int64 // the last second that was handled, unix
}

// add puts a stream that has just paid into the slot of a minute later.
func (w *wheel) add(s *Stream, now time.Time) {
	s.slot = int((now.Unix() + 1) % turn)
	s.place = len(w.slots[s.slot])
	w.slots[s.slot] = append(w.slots[s.slot], s)
	s.paidUntil = now.Add(turn * time.Second).UnixMilli()
}

// remove takes a stream out.
func (w *wheel) remove(s *Stream) {
	slot := w.slots[s.slot]
	last := len(slot) - 1
	slot[s.place] = slot[last]
	slot[s.place].place = s.place
	slot[last] = nil
	w.slots[s.slot] = slot[:last]
}

// each calls f for every stream.
func (w *wheel) each(f func(*Stream)) {
	for _, slot := range w.slots {
		for _, s := range slot {
			f(s)
		}
	}
}

// turnWheel handles the seconds that have begun.
func (h *Hub) turnWheel(now time.Time) {
	second := now.Unix()
	if h.wheel.at == second {
		return
	}
	if h.wheel.at == 0 || h.wheel.at > second {
		h.wheel.at = second - 1
	}

	h.wheel.at = max(h.wheel.at, second-turn) // every slot has its turn once
	for h.wheel.at < second {
		h.wheel.at++
		h.handleSecond(now)
	}
	h.index.forget(now.UnixMilli())
}

// handleSecond charges the streams of one slot, and comments on those of four.
func (h *Hub) handleSecond(now time.Time) {
	for _, s := range h.wheel.slots[h.wheel.at%turn] {
		if s.paidUntil <= now.UnixMilli() {
			s.paidUntil += turn * 1000
			s.charge()
		}
	}

	// The first one comes in the last second before it is due, so that a stream that
	// has just begun gets none.
	end := generationEvent(h.known.String())
	for slot := (h.wheel.at + 2) % commentEvery; slot < turn; slot += commentEvery {
		for _, s := range h.wheel.slots[slot] {
			h.comment(s, end)
		}
	}
}

// comment sends a comment and, if generations came without an event for the stream,
// where it stands: a stream that comes back after a quiet hour has missed nothing.
func (h *Hub) comment(s *Stream, end []byte) {
	s.push(comment)
	if s.backlog == nil && s.seen != h.seq {
		h.queue(s, end)
		s.seen = h.seq
	}
}
