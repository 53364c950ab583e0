package pages

import (
	"sync/atomic"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// parts are the rendered fragments that rows of one view share, by pool. The
// first request that needs a fragment renders it.
type parts struct {
	view   *rankings.View
	shares []atomic.Pointer[render.Share]
	pools  []atomic.Pointer[render.Pool]
}

// chainParts holds the parts of each chain's newest view.
type chainParts map[market.ChainID]*atomic.Pointer[parts]

func newChainParts(chains []render.Chain) chainParts {
	c := make(chainParts, len(chains))
	for i := range chains {
		c[chains[i].ID] = new(atomic.Pointer[parts])
	}
	return c
}

// partsOf returns the parts of a view, or nil when a newer view of the chain has
// been asked for. Rows of an older view are rendered without shared parts.
func (c chainParts) partsOf(v *rankings.View) *parts {
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
		return c.partsOf(v) // another request was first
	}
	return next
}

// dropOutdated drops the parts of views that are no longer published, and reports
// whether any are left.
func (c chainParts) dropOutdated(board *rankings.Board) (left bool) {
	for _, slot := range c {
		p := slot.Load()
		switch {
		case p == nil:
		case isOutdated(board, []*rankings.View{p.view}):
			slot.CompareAndSwap(p, nil)
		default:
			left = true
		}
	}
	return left
}

// share returns the fragment that the positions of a pool share, or nil when there are no
// parts to keep it in.
func (p *parts) share(pool uint32) *render.Share {
	if p == nil {
		return nil
	}
	if kept := p.shares[pool].Load(); kept != nil {
		return kept
	}
	made := render.NewShare(p.view.State, pool)
	p.shares[pool].Store(made)
	return made
}

// readShare reads where the fragment of a pool is kept.
func (p *parts) readShare(pool uint32) uint64 {
	if p == nil || p.shares[pool].Load() == nil {
		return 0
	}
	return 1
}

// poolRow returns the rendered row of a pool.
func (c chainParts) poolRow(v *rankings.View, pool uint32) *render.Pool {
	p := c.partsOf(v)
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
