package pages

import (
	"fmt"
	"slices"

	"tidemark/edge/query"
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// errGone is the 410 for generations that are not kept, or no longer.
var errGone = &render.Error{
	Code: 410, Message: "these generations are no longer kept; start again with generation=pin",
}

// listScope returns the scope of a list: the newest views, or those of the cut that
// the question asks for. The caller must release it.
func (p *Pages) listScope(q *Question) (scope, *render.Error) {
	chain := q.listChain()
	if !q.Cut.IsSet() {
		return p.scopeOf(q, chain)
	}

	c, err := p.findCut(q, chain)
	if err != nil {
		return scope{}, err
	}
	sc, err := p.scopeOfCut(q, chain, c)
	if err != nil {
		p.pins.endAnswer(c)
	}
	return sc, err
}

// release ends the use of a scope.
func (p *Pages) release(sc *scope) {
	if sc.cut != nil {
		p.pins.endAnswer(sc.cut)
	}
}

// findCut returns the cut that a question asks for. The caller must end the answer.
func (p *Pages) findCut(q *Question, chain market.ChainID) (*cut, *render.Error) {
	p.pins.awaitNamed(q.Cut.Named, maxBehind)
	for range maxLeafRetries {
		if !q.Cut.Pin {
			if c := p.pins.findPinned(q.Account, chain, q.Cut.Named); c != nil {
				return c, nil
			}
		}
		all, err := p.scopeOf(q, 0)
		if err != nil {
			return nil, err
		}
		views := p.pins.restoreNamed(all.views, q.Cut.Named)
		asked := (&cut{views: views}).viewsOf(chain)
		if len(asked) == 0 {
			return nil, errUnavailableChain(chain)
		}

		var c *cut
		switch {
		case q.Cut.Pin:
			c, err = p.pins.pinNewest(q.Account, views)
		case areNamed(asked, q.Cut.Named): // published, and not pinned yet
			c, err = p.pins.pinNamed(q.Account, views)
		default:
			return nil, errNotKept(asked, &q.Cut)
		}
		if err != errReplaced {
			return c, err
		}
	}
	return nil, errReplaced
}

// errNotKept is the error for named generations that are not kept: a 400 if they
// leave out a chain that the question is about.
func errNotKept(asked []*rankings.View, named *query.Cut) *render.Error {
	for _, v := range asked {
		if !slices.ContainsFunc(named.Named, func(g query.Generation) bool {
			return g.Chain == v.State.Chain
		}) {
			return render.BadRequest(fmt.Errorf("generation names chains %s; the question is about "+
				"chains %s", named.Named.Chains(), appendGenerations(nil, asked).Chains()))
		}
	}
	return errGone
}

// scopeOfCut returns a question's part of a cut. Chains that were not there when
// the walk began stay missing to its end.
func (p *Pages) scopeOfCut(q *Question, chain market.ChainID, c *cut) (scope, *render.Error) {
	sc := scope{views: c.viewsOf(chain), missing: q.missing[:0], cut: c}
	snapshot := p.cfg.Board.Load()
	for i, v := range sc.views {
		at, ok := snapshot.Chain(v.State.Chain)
		if ok && at.Status.Offline {
			return sc, errUnavailableChain(v.State.Chain)
		}

		// A cut that was pinned right after a restart has views without columns.
		if ok && v.CompletedBy(at.View) {
			sc.views = slices.Clone(sc.views)
			sc.views[i] = at.View
		}
		sc.isPast = sc.isPast || !ok || at.View != sc.views[i]
	}

	for _, id := range p.enabled {
		if chain == 0 && len(c.viewsOf(id)) == 0 {
			sc.missing = append(sc.missing, id)
		}
	}
	return sc, nil
}
