package edge

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

var requests = sync.Pool{New: func() any { return new(request) }}

// serve is the way of every request.
func (s *Server) serve(ctx *fasthttp.RequestCtx) {
	r := requests.Get().(*request)
	*r = request{ctx: ctx, now: ctx.Time()}
	r.Now = s.cfg.Clock.Time(r.now).UnixMilli()
	s.metrics.inFlight.Add(1)
	defer s.end(r)

	if err := s.answer(r); err != nil {
		s.fail(r, err)
	}
}

// answer checks in the order of api.md section 3, and sends what it finds.
func (s *Server) answer(r *request) *render.Error {
	// Is it sound HTTP, and which route does it ask for?
	err := r.read()
	if err == nil {
		s.readSite(r)
	}
	if err == nil && s.gate.Preflight(r.ctx, r.access != free) {
		return nil
	}
	s.ids.set(r.ctx)
	if err != nil {
		return err
	}

	// A free route needs nothing but to exist.
	if r.access == free {
		gate.AllowAnyOrigin(r.ctx)
		if done, err := r.exists(); done || err != nil {
			return err
		}
		s.serveFree(r)
		return nil
	}

	// Whose key is it? Where there are no positions and pools to guess, a path
	// that leads nowhere is told before that.
	gate.SetPrivate(r.ctx)
	if r.access == keyed {
		if done, err := r.exists(); done || err != nil {
			return err
		}
	}
	if r.ticket, err = s.gate.Admit(r.ctx, r.now); err != nil {
		if err.Code != fasthttp.StatusUnauthorized {
			s.nameGenerations(r, "")
		}
		return err
	}
	r.admitted = true

	// What does it ask?
	if done, err := r.exists(); err != nil {
		return err
	} else if done {
		s.refuse(r)
		s.nameGenerations(r, "")
		return nil
	}
	if err := r.ask(s.chains); err != nil {
		return err
	}

	// The units are held while the work is done, and billed by what came of it.
	if units := r.Route.Units(); units > 0 {
		if err := s.gate.Reserve(&r.ticket, units); err != nil {
			return err
		}
	}
	reply, err := s.work(r)
	if err != nil {
		return err
	}
	charged := r.Route.Units()
	if reply.Free {
		charged = 0
	}
	s.settle(r, charged)
	s.send(r, &reply)
	return nil
}

// work computes the answer of a metered route.
func (s *Server) work(r *request) (pages.Reply, *render.Error) {
	if r.Route == accounts.RouteUsage {
		return s.pages.Usage(&r.ticket), nil
	}
	return s.pages.Answer(&r.Question)
}

// serveFree answers a free route.
func (s *Server) serveFree(r *request) {
	reply, serving := pages.Reply{}, true
	switch r.route {
	case routeChains:
		reply.Page = s.pages.Chains
	case routeProtocols:
		reply.Page = s.pages.Protocols
	case routePlans:
		reply.Page = s.pages.Plans()
	case routeUnits:
		reply.Page = s.pages.Units
	case routeOpenAPI:
		reply.Page = s.openAPI
	case routeStats:
		reply = s.pages.Stats()
	case routeHealth:
		reply, serving = s.pages.Health(r.Now)
	case routeIndex:
		reply = s.index(r)
	case routeSite:
		s.sendFile(r.ctx, r.file)
		return
	default:
		panic("BUG: a free route without a handler")
	}

	if tag, ok := (*s.tags.Load())[reply.Page]; ok && unchanged(r.ctx, tag, documentCache) {
		return
	}
	s.send(r, &reply)
	if !serving {
		r.ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		gate.SetHeader(r.ctx, "Retry-After", healthRetry)
	}
}

// settle ends the account of an admitted request that its route answered.
func (s *Server) settle(r *request, charged int64) {
	r.admitted = false
	billed := s.gate.Settle(r.ctx, &r.ticket, r.Route, charged)
	if billed > 0 {
		s.metrics.units[r.route].Add(int(billed))
	}
}

// refuse ends the account of an admitted request that no route answered.
func (s *Server) refuse(r *request) {
	r.admitted = false
	s.gate.Refuse(r.ctx, &r.ticket)
}

// fail sends what is not a 200.
func (s *Server) fail(r *request, e *render.Error) {
	if r.admitted {
		if r.route == routeNone {
			s.refuse(r)
		} else {
			s.settle(r, e.Units)
		}
		if e.Code != fasthttp.StatusInternalServerError { // what panicked may be the board
			s.nameGenerations(r, e.Generations)
		}
	}

	if e.Cause != nil {
		s.cfg.Log.Error("request failed", "route", routes[r.route].name, "code", e.Code,
			"request", string(r.ctx.Response.Header.Peek(gate.HeaderRequestID)), "error", e.Cause)
	}
	sendError(r.ctx, e)
}

// nameGenerations names the generations that an error was computed from, or
// those that are published.
func (s *Server) nameGenerations(r *request, computed string) {
	if computed == "" {
		computed = s.pages.Published()
	}
	gate.SetHeader(r.ctx, gate.HeaderGeneration, computed)
}

// end counts the request. A panic on its way is a 500 and a line in the log,
// and takes nothing else with it.
func (s *Server) end(r *request) {
	if v := recover(); v != nil {
		s.cfg.Log.Error("panic while serving", "route", routes[r.route].name,
			"request", string(r.ctx.Response.Header.Peek(gate.HeaderRequestID)),
			"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		s.metrics.panics.Inc()
		s.fail(r, render.Internal(nil))
	}

	took, status := time.Since(r.now), r.ctx.Response.StatusCode()
	s.metrics.inFlight.Add(-1)
	s.metrics.observe(r.route, status, took)
	if slow := s.slow.Load(); slow > 0 && int64(took) >= slow {
		s.logSlow(r, status, took)
	}
	if s.draining.Load() {
		r.ctx.SetConnectionClose()
	}
	requests.Put(r)
}

// logSlow tells which kind of question took long, and whose it was. Keys and
// parameters stay out of the log.
func (s *Server) logSlow(r *request, status int, took time.Duration) {
	account := ""
	if r.ticket.Key != nil {
		account = r.ticket.Key.Cell.Name
	}
	s.cfg.Log.Warn("slow request", "route", routes[r.route].name, "account", account,
		"status", status, "took", took,
		"request", string(r.ctx.Response.Header.Peek(gate.HeaderRequestID)))
}

// serveUnreadable answers what fasthttp could not read as a request.
func (s *Server) serveUnreadable(ctx *fasthttp.RequestCtx, err error) {
	ctx.Response.Reset()
	e := parseError(err)
	s.metrics.observe(routeNone, e.Code, 0)
	s.ids.set(ctx)
	sendError(ctx, e)
}
