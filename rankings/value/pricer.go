package value

import (
	"sync/atomic"

	"tidemark/rankings/market"
)

// Pricer solves the prices of one chain again and again. It keeps what is most of the work
// and changes with a pool, its ticks and the positions in it only: the depths of pools and
// what the largest holder has of them. The zero value has none; it is for one goroutine.
type Pricer struct {
	depths   [][2]keptDepth // by pool and side
	holders  []keptHolders  // by pool
	open     openRows
	nonNFT   poolRows // of State.NonNFT
	senderOf []uint32 // by row of State.NonNFT: the number of its sender
	senders  map[market.Address]uint32

	// Memory that is used again.
	held   []market.HeldPool
	others []uint8   // by pool
	met    [][2]bool // by pool and side
	shares []share
}

// keptDepth is a depth and the price impact that it is of, never 0; 0: none is kept.
type keptDepth struct {
	depth
	impact float64
}

// Forget drops what is kept of a pool that changed, or whose ticks did. liquidity tells
// that it may have become somebody else's, or more or less of it; position is the one that
// changed with it, or NoIndex.
func (k *Pricer) Forget(pool, position uint32, liquidity bool) {
	if int(pool) < len(k.depths) {
		k.depths[pool] = [2]keptDepth{}
	}
	if liquidity && int(pool) < len(k.holders) {
		k.holders[pool] = keptHolders{}
	}
	if position != market.NoIndex {
		k.open.forget(position)
	}
}

// Revert must be called when rows of st were taken away, before others stand there.
func (k *Pricer) Revert(st *market.State) {
	k.open.cut(st.Positions.Len())
	k.cutSenders(st.NonNFT.Len())
}

// spare is the solver that the last Pricer has left. Its memory is 10 MB at a million
// positions, and one is enough, since chains are refreshed one after the other.
var spare atomic.Pointer[solver]

// begin returns a solver that uses what is kept. The caller ends with leave.
func (k *Pricer) begin(st *market.State, p *Params, ext []FeedPrice) *solver {
	s := spare.Swap(nil)
	if s == nil {
		s = new(solver)
	}
	s.begin(st, p, ext)

	// Pools that a reorganisation took away are forgotten.
	k.depths = resize(k.depths, int(st.Pools.Len()))
	s.depths = k.depths
	return s
}

func (k *Pricer) leave(s *solver) {
	s.st, s.p, s.heldParams, s.pause, s.depths = nil, nil, nil, nil, nil
	s.others, s.met = nil, nil
	spare.Store(s)
}

// resize returns s with n elements, of which those after its own are zero.
func resize[T any](s []T, n int) []T {
	if n > len(s) {
		return append(s, make([]T, n-len(s))...)
	}
	return s[:n]
}

// Each calls visit with what Prices returns, by token. The price is only valid
// within the call.
func (k *Pricer) Each(
	st *market.State, p *Params, ext []FeedPrice, pause func(),
	visit func(token uint32, price *market.Price),
) {
	s := k.begin(st, p, ext)
	defer k.leave(s)
	s.pause = pause
	s.solve()
	for i := range s.prices {
		visit(uint32(i), &s.prices[i])
	}
}
