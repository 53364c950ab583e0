package edge

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"tidemark/edge/gate"
	"tidemark/edge/pages"
	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/storage/accounts"
)

var requests = sync.Pool{New: func() any { return new(request) }}

// serve handles a request.
func (s *Server) serve(ctx *fasthttp.RequestCtx) {
	// A request that fasthttp had read ahead: see conn.claim.
	c, ok := ctx.Conn().(*conn)
	if ok && !c.claim() {
		ctx.SetConnectionClose()
		return
	}

	r := requests.Get().(*request)
	r.ctx, r.now = ctx, ctx.Time()
	r.alone = ok && c.takeFresh()
	r.Now = s.cfg.Clock.Time(r.now).UnixMilli()
	s.cfg.Board.NoteRequest()
	s.metrics.inFlight.Add(1)
	defer s.finishRequest(r)

	if err := s.answer(r); err != nil {
		s.sendFailure(r, err)
	}
}

// answer makes the checks in the order of api.md section 3 and sends the answer,
// unless it is an error.
func (s *Server) answer(r *request) *render.Error {
	s.gate.Expect(r.ctx)

	// Find the route. Malformed HTTP is refused only after a preflight is
	// answered and the request has an id.
	err := r.parseTarget()
	if err == nil {
		s.findFile(r)
	}
	if err == nil && s.gate.Preflight(r.ctx, r.access != free) {
		return nil
	}
	r.answerID = s.ids.choose(r.ctx, &r.ownID)
	if err != nil {
		return err
	}

	if r.access == free {
		r.setBasics()
		return s.serveFree(r)
	}

	// Check the key. This comes before 404 and 405, so that a client without a key
	// learns nothing about routes.
	r.private = true
	if r.ticket, err = s.gate.Admit(r.ctx, r.now); err != nil {
		if err.Code != fasthttp.StatusUnauthorized {
			s.setGenerations(r, "")
		}
		return err
	}
	r.admitted, r.Account = true, r.ticket.Key.Cell.ID

	// Check route, method and parameters.
	if done, err := r.checkRoute(); err != nil {
		return err
	} else if done {
		r.setBasics()
		s.settleRefused(r)
		s.setGenerations(r, "")
		return nil
	}
	if err := r.parseParameters(s.chains); err != nil {
		return err
	}

	if r.route.isExport() {
		return s.answerExport(r)
	}
	return s.answerMetered(r)
}

// answerMetered holds the units of an admitted request while its answer is
// computed, bills or releases them, and sends the answer.
func (s *Server) answerMetered(r *request) *render.Error {
	units := r.Units()
	if err := s.pages.CheckEstimate(&r.Question); err != nil {
		return err
	}
	if units > 0 {
		if err := s.gate.Reserve(&r.ticket, units); err != nil {
			return err
		}
	}

	if r.route == routeStream {
		return s.beginStream(r)
	}
	reply, err := s.compute(r)
	if err != nil {
		return err
	}

	if reply.Free {
		units = 0
	}
	r.billed, r.metered = s.settleCharge(r, units), true
	s.sendReply(r, &reply)
	return nil
}

// compute computes the answer of a metered route.
func (s *Server) compute(r *request) (pages.Reply, *render.Error) {
	if r.Route == accounts.RouteUsage {
		s.gate.AwaitShare(&r.ticket, time.Now())
		return s.pages.Usage(&r.ticket), nil
	}
	return s.pages.Answer(&r.Question)
}

// serveFree answers a free route, which needs no key and no units.
func (s *Server) serveFree(r *request) *render.Error {
	gate.AllowAnyOrigin(r.ctx)
	if done, err := r.checkRoute(); done || err != nil {
		return err
	}

	if err := query.WellFormed(r.query); err != nil {
		return render.BadRequest(err)
	}

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
		reply = s.answerIndex(r)
	case routeSite:
		s.sendFile(r.ctx, r.file)
		return nil
	default:
		panic("BUG: free route " + routes[r.route].name + " has no handler")
	}

	if tag, ok := (*s.tags.Load())[reply.Page]; ok && answerNotModified(r.ctx, tag, documentCache) {
		setVary(r.ctx, len(reply.Body)) // a 304 has the Vary of its 200
		return nil
	}
	s.sendReply(r, &reply)
	if !serving {
		r.ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		gate.SetHeader(r.ctx, "Retry-After", healthRetry)
	}
	return nil
}

// settleCharge settles an admitted request that its route answered, and returns what it
// billed.
func (s *Server) settleCharge(r *request, charged int64) (billed int64) {
	r.admitted = false
	return s.settleUnits(&r.ticket, r.route, charged)
}

// settleUnits bills units of those that a ticket holds for a route, and releases the others.
// It returns what it billed.
func (s *Server) settleUnits(t *gate.Ticket, r route, units int64) (billed int64) {
	billed = s.gate.Settle(t, routes[r].meter, units)
	if billed > 0 { // a route without units has no counter
		s.metrics.units[r].Add(int(billed))
	}
	return billed
}

// settleRefused settles an admitted request that no route answered.
func (s *Server) settleRefused(r *request) {
	r.admitted = false
	gate.SetMeter(r.ctx, &r.ticket, 0)
}

// sendFailure settles a failed request and sends the error.
func (s *Server) sendFailure(r *request, e *render.Error) {
	r.setBasics()
	if r.metered { // and its answer failed
		gate.SetMeter(r.ctx, &r.ticket, r.billed)
	}
	if r.admitted {
		if e.Untaken {
			r.ticket.PutBackToken()
		}
		if r.route == routeNone {
			s.settleRefused(r)
		} else {
			gate.SetMeter(r.ctx, &r.ticket, s.settleCharge(r, e.Units))
		}
		// After a panic the board may be what is broken: do not read it again.
		if e.Code != fasthttp.StatusInternalServerError {
			s.setGenerations(r, e.Generations)
		}
	}

	if e.Cause != nil {
		s.cfg.Log.Error("request failed", "route", routes[r.route].name, "code", e.Code,
			"request", r.requestID(), "error", e.Cause)
	}
	sendError(r.ctx, e)
}

// setGenerations sets X-Generation to the generations that an answer was computed
// from, or to the published ones when there are none. Before the first is published an
// answer has no such header.
func (s *Server) setGenerations(r *request, computed string) {
	if computed == "" {
		computed = s.pages.Published()
	}
	if computed != "" {
		gate.SetHeader(r.ctx, gate.HeaderGeneration, computed)
	}
}

// finishRequest turns a panic of the request into a 500 and a line in the log, counts the
// request and gives it back.
func (s *Server) finishRequest(r *request) {
	if v := recover(); v != nil {
		s.cfg.Log.Error("panic while serving", "route", routes[r.route].name,
			"request", r.requestID(), "panic", fmt.Sprint(v),
			"stack", string(debug.Stack()))
		s.metrics.panics.Inc()
		s.sendFailure(r, render.Internal(nil))
	}

	took, status := time.Since(r.now), r.ctx.Response.StatusCode()
	limitSending(r.ctx, r.now.Add(took))
	s.metrics.inFlight.Add(-1)
	s.metrics.observe(r.route, status, took)
	if slow := s.slow.Load(); slow > 0 && int64(took) >= slow {
		s.logSlow(r, status, took)
	}
	if s.draining.Load() {
		r.ctx.SetConnectionClose()
	}
	if r.largeHead {
		dropHead(&r.ctx.Request.Header)
	}
	*r = request{} // so that one which waits for its next use keeps no view alive
	requests.Put(r)
}

// logSlow logs which kind of request took long, and whose it was. Keys and
// parameters stay out of the log.
func (s *Server) logSlow(r *request, status int, took time.Duration) {
	account := ""
	if r.ticket.Key != nil {
		account = r.ticket.Key.Cell.Name
	}
	s.cfg.Log.Warn("slow request", "route", routes[r.route].name, "account", account,
		"status", status, "took", took, "request", r.requestID())
}

// answerUnreadable answers a request that fasthttp could not parse.
func (s *Server) answerUnreadable(ctx *fasthttp.RequestCtx, err error) {
	ctx.Response.Reset()
	limitSending(ctx, time.Now())
	if c, ok := ctx.Conn().(*conn); ok {
		c.lingers.Store(true)
		ctx.Response.SkipBody = c.framer.isHead // fasthttp forgets the method
	}

	e := errorOfParse(err)
	s.metrics.observe(routeNone, e.Code, 0)
	r := request{ctx: ctx}
	r.answerID = s.ids.choose(ctx, &r.ownID)
	r.setBasics()
	sendError(ctx, e)
	dropHead(&ctx.Request.Header) // the connection closes, and its context goes to another
}
