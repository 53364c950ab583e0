package edge

import (
	_ "embed"

	"github.com/valyala/fasthttp"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/storage/accounts"
)

// statics are the answers that the configuration decides.
type statics struct{ chains, protocols, plans, units, openAPI *page }

//go:embed openapi.json
var openAPI []byte

func newStatics(cfg *Config) statics {
	return statics{
		chains:    &page{body: render.AppendChains(nil, cfg.Chains)},
		protocols: &page{body: render.AppendProtocols(nil, cfg.Chains)},
		plans:     &page{body: appendPlans(nil, cfg.Plans)},
		units:     &page{body: appendUnits(nil)},
		openAPI:   &page{body: openAPI},
	}
}

// tell answers a free route.
func (s *Server) tell(r *request) *Error {
	switch r.route {
	case routeChains:
		s.send(r, &reply{page: s.statics.chains})
	case routeProtocols:
		s.send(r, &reply{page: s.statics.protocols})
	case routePlans:
		s.send(r, &reply{page: s.statics.plans})
	case routeUnits:
		s.send(r, &reply{page: s.statics.units})
	case routeOpenAPI:
		s.send(r, &reply{page: s.statics.openAPI})
	case routeStats:
		s.send(r, &reply{page: s.corpus()})
	case routeHealth:
		s.health(r)
	case routeIndex:
		setHeader(r.ctx, "Cache-Control", "no-store")
		s.send(r, &reply{page: s.index(r)})
		setHeader(r.ctx, "Vary", "Accept, Accept-Encoding")
	case routeSite:
		s.sendFile(r.ctx, r.file)
	default:
		panic("BUG: a free route without a handler")
	}
	return nil
}

// corpus counts what the published views hold.
func (s *Server) corpus() *page {
	var chains []render.Corpus
	var views []*rankings.View
	picture := s.cfg.Board.Load()
	for _, c := range s.queryChains {
		at, ok := picture.Chain(c.ID)
		if !c.Enabled || !ok || at.View == nil {
			continue
		}
		st := at.View.State
		views = append(views, at.View)
		chains = append(chains, render.Corpus{
			Chain: c.ID, Positions: uint64(st.Positions.Len()), Active: uint64(st.OpenCount),
			Pools: uint64(st.Pools.Len()), Transactions: st.Transactions,
		})
	}
	var oldest int64
	if len(views) > 0 {
		oldest = asOf(views)
	}
	return &page{body: render.AppendStats(nil, chains, oldest)}
}

// health answers /health: 503 when no chain can be served.
func (s *Server) health(r *request) {
	picture := s.cfg.Board.Load()
	node, served := render.OK, 0
	var rows []byte
	for _, c := range s.queryChains {
		if !c.Enabled {
			continue
		}
		at, ok := picture.Chain(c.ID)
		if !ok {
			at = &rankings.Chain{ID: c.ID}
		}
		how := s.chainHealth(picture, at, r.milli())
		if how != render.OK {
			node = render.Degraded
		}
		if s.available(picture, c.ID, r.milli()) != nil {
			served++
		}
		if len(rows) > 0 {
			rows = append(rows, ',')
		}
		rows = render.AppendChainHealth(rows, at, how)
	}
	if served == 0 {
		node = render.Down
	}
	body := append(render.AppendHealth(nil, node, s.cfg.Version), rows...)
	body = append(body, ']')
	if served == 0 {
		body = append(body, `,"error":"no chain can be served"`...)
	}
	s.send(r, &reply{page: &page{body: append(body, '}')}})
	if served == 0 {
		r.ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		setHeader(r.ctx, "Retry-After", "5")
	}
}

// chainHealth judges one chain by what it serves, and by why it does not.
func (s *Server) chainHealth(p *rankings.Picture, c *rankings.Chain, now int64) render.Health {
	switch {
	case c.Status.Offline:
		return render.Offline
	case c.Status.Stopped:
		return render.Down
	case c.Status.Syncing:
		return render.Syncing
	case s.available(p, c.ID, now) == nil:
		return render.Down
	case now-c.View.Confirmed() > s.limits.Freshness.Milliseconds():
		return render.Lagging
	case c.Status.FailingSince != 0 && now-c.Status.FailingSince > feedGrace.Milliseconds():
		return render.Lagging
	}
	return render.OK
}

// appendPlans appends the body of /v1/plans.
func appendPlans(dst []byte, plans []accounts.Plan) []byte {
	dst = append(dst, `{"plans":[`...)
	first := true
	for i := range plans {
		if !plans[i].Public {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = render.AppendPlan(dst, &plans[i])
	}
	return append(dst, `],"quotaResets":"monthly, 1st 00:00 UTC"}`...)
}

// notCharged lists the answers that cost no units.
var notCharged = []string{
	"every answer that is not a 200, but the 404 of a position or pool that does not exist",
	"a list with partial: true", "a position with transactionsDegraded: true", "OPTIONS",
}

// appendUnits appends the body of /v1/pricing/units.
func appendUnits(dst []byte) []byte {
	dst = append(dst, `{"units":[`...)
	first := true
	for i := range routes {
		if routes[i].access == free {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = render.AppendUnits(dst, routes[i].meter)
	}
	dst = append(dst, `],"notCharged":[`...)
	for i, text := range notCharged {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = render.String(dst, text)
	}
	return append(dst, `]}`...)
}

// usage answers GET /v1/usage: what the account's month has come to.
func (s *Server) usage(r *request) reply {
	t := &r.ticket
	tally, _ := t.Key.Cell.Tally(t.Span.Month)
	return reply{page: &page{generations: s.published(), body: render.AppendUsage(nil, &render.Usage{
		Account: t.Key.Cell.Name, Plan: &t.Terms.Plan, Span: t.Span, Tally: &tally,
	})}}
}
