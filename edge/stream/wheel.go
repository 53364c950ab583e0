package stream

import (
	"time"

	"tidemark/storage/accounts"
)

// wheel spreads streams over a minute: a stream pays when its slot comes, and gets a
// comment in every commentEvery-th second from it. So ten thousand streams cost one
// ticker, and every second a small part of them.
type wheel struct {
	slots   [turn][]*Stream
	at      int64     // the last second that was handled, unix
	debtors []*Stream // whose unit could not be reserved yet
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
	s.unpaid = 0
	s.slot = -1
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
	if h.wheel.at == 0 || h.wheel.at < second-turn || h.wheel.at > second {
		h.wheel.at = second - 1
	}

	h.collect(now)
	for h.wheel.at < second {
		h.wheel.at++
		h.handleSecond(now)
	}
	h.index.forget(now.UnixMilli())
}

// handleSecond has the streams of one slot pay, and comments on those of four.
func (h *Hub) handleSecond(now time.Time) {
	for _, s := range h.wheel.slots[h.wheel.at%turn] {
		if s.paidUntil <= now.UnixMilli() {
			h.pay(s, now)
		}
	}

	end := generationEvent(formatGenerations(h.known))
	for slot := h.wheel.at % commentEvery; slot < turn; slot += commentEvery {
		for _, s := range h.wheel.slots[slot] {
			h.comment(s, end)
		}
	}
}

// comment sends a comment and, if generations came without an event for the stream,
// where it stands: a stream that comes back after a quiet hour has missed nothing.
func (h *Hub) comment(s *Stream, end []byte) {
	s.push(comment, h.Unsent())
	if s.missed == nil && s.seen != h.seq {
		h.queue(s, end)
		s.seen = h.seq
	}
}

// pay bills the minute that begins.
func (h *Hub) pay(s *Stream, now time.Time) {
	switch h.Charge(s.apiKey, now) {
	case accounts.Granted:
		s.paidUntil += turn * 1000
		s.unpaid = 0
	case accounts.OverQuota:
		s.End(EndQuota)
	default:
		h.postpone(s, now)
	}
}

// collect has those pay that could not before.
func (h *Hub) collect(now time.Time) {
	debtors := h.wheel.debtors
	h.wheel.debtors = nil
	for _, s := range debtors {
		if s.slot >= 0 {
			h.pay(s, now)
		}
	}
}

// postpone notes that a stream has to pay in the next second, or ends it.
func (h *Hub) postpone(s *Stream, now time.Time) {
	if s.unpaid == 0 {
		s.unpaid = now.UnixMilli()
	}
	if now.UnixMilli()-s.unpaid > payWithin.Milliseconds() {
		s.End(EndMetering)
		return
	}
	h.wheel.debtors = append(h.wheel.debtors, s)
}
