package edge

import (
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/valyala/fasthttp"
)

var requests = sync.Pool{New: func() any { return new(request) }}

// serve is the way of every request.
func (s *Server) serve(ctx *fasthttp.RequestCtx) {
	r := requests.Get().(*request)
	*r = request{ctx: ctx, now: ctx.Time()}
	s.metrics.inFlight.Add(1)
	defer s.end(r)
	if err := s.answer(r); err != nil {
		s.fail(r, err)
	}
}

// end counts the request. A panic on its way is a 500 and a line in the log,
// and takes nothing else with it.
func (s *Server) end(r *request) {
	if v := recover(); v != nil {
		s.cfg.Log.Error("panic while serving", "route", routes[r.route].name,
			"request", string(r.ctx.Response.Header.Peek(headerRequestID)),
			"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		s.metrics.panics.Inc()
		s.fail(r, internal(nil))
	}
	s.metrics.inFlight.Add(-1)
	s.metrics.observe(r)
	requests.Put(r)
}

// answer checks in the order of api.md section 3, and sends what it finds.
func (s *Server) answer(r *request) *Error {
	if err := r.read(); err != nil {
		s.gate.ids.set(r.ctx)
		return err
	}
	s.readSite(r)
	if s.gate.preflight(r.ctx, r.access != free) {
		return nil
	}
	if r.access == free {
		s.gate.ids.set(r.ctx)
		openToAll(r.ctx)
	} else {
		s.gate.greet(r.ctx)
	}
	if r.access != priced {
		if done, err := r.exists(); done || err != nil {
			return err
		}
	}
	if r.access == free {
		return s.tell(r)
	}
	var err *Error
	if r.ticket, err = s.gate.admit(r.ctx, r.now); err != nil {
		if err.Code != fasthttp.StatusUnauthorized {
			s.nameGenerations(r)
		}
		return err
	}
	r.admitted = true
	return s.metered(r)
}

// metered answers an admitted request.
func (s *Server) metered(r *request) *Error {
	done, err := r.exists()
	if done {
		s.leave(r)
		s.nameGenerations(r)
	}
	if done || err != nil {
		return err
	}
	if err := s.ask(r); err != nil {
		return err
	}
	if units := r.units(); units > 0 {
		if err := s.gate.reserve(&r.ticket, units); err != nil {
			return err
		}
	}
	reply, err := s.work(r)
	if err != nil {
		return err
	}
	charged := r.units()
	if reply.free {
		charged = 0
	}
	s.settle(r, charged)
	s.send(r, &reply)
	return nil
}

// units is what a charged answer of the request's route costs.
func (r *request) units() int64 { return routes[r.route].meter.Units() }

// work computes the answer of a metered route.
func (s *Server) work(r *request) (reply, *Error) {
	switch r.route {
	case routePositions:
		return s.listPositions(r)
	case routePools:
		return s.listPools(r)
	case routePosition:
		return s.onePosition(r)
	case routePool:
		return s.onePool(r)
	case routePositionCharts:
		return s.positionCharts(r)
	case routePoolCharts:
		return s.poolCharts(r)
	case routeExplain:
		return s.explain(r)
	case routeUsage:
		return s.usage(r), nil
	}
	panic("BUG: a metered route without a handler")
}

// settle ends the account of an admitted request that its route answered.
func (s *Server) settle(r *request, charged int64) {
	r.admitted = false
	s.gate.settle(r.ctx, &r.ticket, routes[r.route].meter, charged)
}

// leave ends the account of an admitted request that no route answered.
func (s *Server) leave(r *request) {
	r.admitted = false
	s.gate.refuse(r.ctx, &r.ticket)
}

// fail sends what is not a 200.
func (s *Server) fail(r *request, e *Error) {
	if r.admitted {
		switch {
		case r.route == routeNone:
			s.leave(r)
		case e.Charged:
			s.settle(r, r.units())
		default:
			s.settle(r, 0)
		}
		if e.Code != fasthttp.StatusInternalServerError { // what panicked may be the board
			s.nameGenerations(r)
		}
	}
	if e.Cause != nil {
		s.cfg.Log.Error("request failed", "route", routes[r.route].name, "code", e.Code,
			"request", string(r.ctx.Response.Header.Peek(headerRequestID)), "error", e.Cause)
	}
	writeError(r.ctx, e)
}

// nameGenerations names the published generations on an answer that has no
// data of its own.
func (s *Server) nameGenerations(r *request) {
	if len(r.ctx.Response.Header.Peek(headerGeneration)) == 0 {
		setHeader(r.ctx, headerGeneration, s.published())
	}
}

// writeError writes an error's status, headers and body.
func writeError(ctx *fasthttp.RequestCtx, e *Error) {
	ctx.SetStatusCode(e.Code)
	ctx.SetContentType(contentJSON)
	if e.Code == fasthttp.StatusTooManyRequests || e.Retry > 0 {
		seconds := fasthttp.AppendUint(nil, int(max(1, e.RetryAfter())))
		ctx.Response.Header.SetCanonical([]byte("Retry-After"), seconds)
	}
	if e.Close {
		ctx.SetConnectionClose()
	}
	ctx.SetBody(e.AppendBody(nil))
}

// unreadable answers what fasthttp could not read as a request.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	ctx.Response.Reset()
	e := parseError(err)
	s.metrics.count(routeNone, e.Code)
	s.gate.ids.set(ctx)
	writeError(ctx, e)
}

// expect refuses a body before it is sent.
func (s *Server) expect(ctx *fasthttp.RequestCtx) int {
	s.metrics.count(routeNone, errExpect.Code)
	s.gate.ids.set(ctx)
	writeError(ctx, errExpect)
	return errExpect.Code
}

func statusText(code int) string { return fasthttp.StatusMessage(code) }
