package edge

import (
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/edge/stream"
	"tidemark/storage/accounts"
)

// Why a stream ended, as its last event says.
const (
	endRevoked   = "revoked"   // the key
	endSuspended = "suspended" // the account
	endQuota     = "quota"     // no unit is left for the next minute
	endMetering  = "metering"  // the next minute's unit could not be reserved
)

// errStopping is the 503 for a stream that would end at once.
var errStopping = render.Unavailable("the node is stopping", time.Second)

// beginStream sends the head of a stream, whose first minute is held, and leaves the
// rest to a goroutine of its own.
func (s *Server) beginStream(r *request) *render.Error {
	if s.draining.Load() {
		return errStopping
	}
	if err := s.pages.CheckAvailable(r.stream.Chains(), r.Now); err != nil {
		return err
	}

	r.setBasics()
	gate.SetMeter(r.ctx, &r.ticket, s.settleCharge(r, r.Route.Units()))
	s.setGenerations(r, "")
	r.ctx.SetContentType("text/event-stream")
	gate.SetHeader(r.ctx, "X-Accel-Buffering", "no") // nginx would collect events

	asked, ticket := r.stream, r.ticket
	s.sendLong(r, ticket.Key, time.Time{}, "", func(w *longWriter) {
		s.runStream(w, asked, &ticket)
	})
	return nil
}

// runStream writes the events of a stream until it ends.
func (s *Server) runStream(w *longWriter, asked query.Stream, ticket *gate.Ticket) {
	if asked.After != nil {
		s.pages.AwaitGenerations(asked.After.Generations)
	}
	events := s.hub.Open(stream.Request{
		Query: asked, Now: time.Now(), Abort: func() { w.interrupt(errSlowReader) },
	})
	defer events.Close()

	for {
		select {
		case <-events.Ready():
		case <-w.Ended():
			reason := endOf(w)
			if reason == "" {
				return // nobody would read it
			}
			events.End(reason)
		}

		b := events.Take()
		for _, e := range b.Events {
			_, _ = w.Write(e) // Flush returns the error, too
		}
		if b.Ended {
			_ = w.End(nil, "") // the connection closes anyway
			return
		}
		_ = w.Flush() // Ended tells
		for range b.Due {
			s.payMinute(w, events, ticket)
		}
	}
}

// endOf returns why a stream ends, or nothing if its client is gone.
func endOf(w *longWriter) string {
	switch w.Reason() {
	case errServerStops:
		return stream.EndStop
	case errKeyRevoked:
		if w.key.RevokedAt() != 0 {
			return endRevoked
		}
		return endSuspended
	}
	return ""
}

// payTries is how often the unit of a minute is tried, a second apart. A request
// waits for its lease as long as one of them.
const payTries = 5

// payMinute bills the minute that has begun, or ends the stream.
func (s *Server) payMinute(w *longWriter, events *stream.Stream, ticket *gate.Ticket) {
	for range payTries {
		err := s.gate.ReservePart(ticket, time.Now(), accounts.RouteStream.Units())
		switch {
		case err == nil:
			s.settleUnits(ticket, routeStream, accounts.RouteStream.Units())
			return
		case err.Code == fasthttp.StatusTooManyRequests:
			events.End(endQuota)
			return
		}

		select {
		case <-w.Ended():
			return
		case <-time.After(time.Second):
		}
	}
	events.End(endMetering)
}
