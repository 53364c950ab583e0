package pages

import (
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/storage/accounts"
)

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

// notCharged lists the answers that cost no units, for /v1/pricing/units.
var notCharged = []string{
	"every answer that is not a 200, except the 404 of a position or pool that does not exist, " +
		"which costs 1 unit on every route",
	"an answer with partial: true", "a position with transactionsDegraded: true", "OPTIONS",
}

// appendUnits appends the body of /v1/pricing/units.
func appendUnits(dst []byte) []byte {
	dst = append(dst, `{"units":[`...)
	for r := range accounts.Route(accounts.NumRoutes) {
		if r > 0 {
			dst = append(dst, ',')
		}
		dst = render.AppendUnits(dst, r)
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

// Usage answers GET /v1/usage: what the account has used in the current month.
func (p *Pages) Usage(t *accounts.Ticket) Reply {
	tally, _ := t.Key.Cell.Tally(t.Span.Month)
	if others := t.Key.Cell.Share(t.Span.Month); others != nil {
		others.Add(&tally)
	}
	body := render.AppendUsage(nil, &render.Usage{
		Account: t.Key.Cell.Name, Plan: &t.Terms.Plan, Span: t.Span, Tally: &tally,
		Reserved: t.Quota().Reserved,
	})
	return Reply{Page: &Page{Generations: p.Published(), Body: body}}
}

// Stats answers GET /v1/stats: how many positions, pools and transactions the
// published views have.
func (p *Pages) Stats() Reply {
	var chains []render.Corpus
	var views []*rankings.View
	snapshot := p.cfg.Board.Load()
	for _, id := range p.enabled {
		at, ok := snapshot.Chain(id)
		if !ok || at.View == nil {
			continue
		}
		st := at.View.State
		views = append(views, at.View)
		chains = append(chains, render.Corpus{
			Chain: id, Positions: uint64(st.Positions.Len()), Active: uint64(st.OpenCount),
			Pools: uint64(st.Pools.Len()), Transactions: st.Transactions,
		})
	}

	var oldest int64
	if len(views) > 0 {
		oldest = oldestConfirmed(views)
	}
	return Reply{Page: &Page{Body: render.AppendStats(nil, chains, oldest)}}
}
