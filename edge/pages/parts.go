package pages

import (
	"sync/atomic"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// parts are the fragments that the rows of one view share, by pool, each made
// by the first request that needs it.
type parts struct {
	view   *rankings.View
	shares []atomic.Pointer[render.Share]
	pools  []atomic.Pointer[render.Pool]
}

// chainParts holds, for each chain, the parts of its newest view. They are
// let go of with the view.
type chainParts map[market.ChainID]*atomic.Pointer[parts]

func newChainParts(chains []render.Chain) chainParts {
	c := make(chainParts, len(chains))
	for i := range chains {
		c[chains[i].ID] = new(atomic.Pointer[parts])
	}
	return c
}

// of returns the parts of a view, or nil for one that is not the newest: its
// rows are rendered without.
func (c chainParts) of(v *rankings.View) *parts {
	slot := c[v.State.Chain]
	p := slot.Load()
	if p != nil && p.view == v {
		return p
	}
	if p != nil && p.view.Generation > v.Generation {
		return nil
	}

	n := v.State.Pools.Len()
	next := &parts{
		view:   v,
		shares: make([]atomic.Pointer[render.Share], n),
		pools:  make([]atomic.Pointer[render.Pool], n),
	}

	if !slot.CompareAndSwap(p, next) {
		return c.of(v)
	}
	return next
}

// share returns what the positions of a pool share; m is of an open one.
func (p *parts) share(pool uint32, m *value.Metrics) *render.Share {
	if p == nil || !m.Open {
		return nil
	}
	if kept := p.shares[pool].Load(); kept != nil {
		return kept
	}
	made := render.NewShare(p.view.State, pool, m)
	p.shares[pool].Store(made)
	return made
}

// pool returns the row of a pool of a view.
func (c chainParts) pool(v *rankings.View, pool uint32) *render.Pool {
	p := c.of(v)
	if p == nil {
		return render.NewPool(v.State, pool)
	}
	if kept := p.pools[pool].Load(); kept != nil {
		return kept
	}
	made := render.NewPool(v.State, pool)
	p.pools[pool].Store(made)
	return made
}
