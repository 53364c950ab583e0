package value

import (
	"sync/atomic"

	"tidemark/rankings/market"
)

// Pricer solves the prices of one chain again and again. It keeps the depths of pools,
// which are most of the work and change with the pool and its ticks only. The zero value
// has none; it is for one goroutine.
type Pricer struct{ depths [][2]keptDepth } // by pool and side

// keptDepth is a depth and the price impact that it is of, never 0; 0: none is kept.
type keptDepth struct {
	depth
	impact float64
}

// Forget drops what is kept of a pool that changed, or whose ticks did.
func (k *Pricer) Forget(pool uint32) {
	if int(pool) < len(k.depths) {
		k.depths[pool] = [2]keptDepth{}
	}
}

// spare is the solver that the last Pricer has left. Its memory is 10 MB at a million
// positions, and one is enough, since chains are refreshed one after the other.
var spare atomic.Pointer[solver]

// Each calls visit with what Prices returns, by token. The price is only valid
// within the call.
func (k *Pricer) Each(
	st *market.State, p *Params, ext []FeedPrice, pause func(),
	visit func(token uint32, price *market.Price),
) {
	s := spare.Swap(nil)
	if s == nil {
		s = new(solver)
	}
	s.begin(st, p, ext)
	s.pause = pause

	// Pools that a reorganisation took away are forgotten.
	n := int(st.Pools.Len())
	k.depths = k.depths[:min(n, len(k.depths))]
	k.depths = append(k.depths, make([][2]keptDepth, n-len(k.depths))...)
	s.depths = k.depths

	s.solve()
	for i := range s.prices {
		visit(uint32(i), &s.prices[i])
	}
	s.st, s.p, s.heldParams, s.pause, s.feed, s.depths = nil, nil, nil, nil, nil, nil
	spare.Store(s)
}
