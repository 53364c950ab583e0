package sim

import (
	"sort"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// world is the market while a span is made: the State before it, and over it
// the rows that the span has changed so far. It keeps only what the future
// depends on. Nothing of it outlives the span.
type world struct {
	*plan
	st        *market.State
	pools     map[uint32]*pool
	positions map[uint32]*position
	nonNFTs   map[uint32]*nonNFT
	nPools    uint32
	nHeld     uint32 // positions ever minted
	nNonNFT   uint32
}

// pool is a pool in the middle of a span.
type pool struct {
	*venue
	index       uint32
	sqrt        clmath.U256
	tick        int32
	liquidity   clmath.U128
	protocolFee uint32
	refs        []market.TickRef
	own         bool // refs are no longer the State's
	ticks       map[int32]tick
}

// tick is an initialised tick that the span has changed.
type tick struct {
	gross clmath.U128
	net   clmath.I128
}

// position is an NFT in the middle of a span.
type position struct {
	id           uint64
	pool         uint32
	owner        market.Address
	lower, upper int32
	liquidity    clmath.U128
	burned       bool
}

// nonNFT is liquidity of another sender than the position manager.
type nonNFT struct {
	pool         uint32
	sender       market.Address
	salt         market.Hash
	lower, upper int32
	liquidity    clmath.U128
}

func (p *plan) newWorld(st *market.State) *world {
	return &world{
		plan: p, st: st, pools: map[uint32]*pool{}, positions: map[uint32]*position{},
		nonNFTs: map[uint32]*nonNFT{}, nPools: st.Pools.Len(), nHeld: st.Positions.Len(),
		nNonNFT: st.NonNFT.Len(),
	}
}

// pool returns pool i, which exists.
func (w *world) pool(i uint32) *pool {
	if p := w.pools[i]; p != nil {
		return p
	}
	row := w.st.Pools.At(i)
	p := &pool{
		venue: &w.venues[i], index: i, sqrt: row.SqrtPriceX96, tick: row.Tick,
		liquidity: row.Liquidity, protocolFee: row.ProtocolFee, refs: w.st.TickLists.At(i),
	}
	w.pools[i] = p
	return p
}

// position returns position i, which exists.
func (w *world) position(i uint32) *position {
	if p := w.positions[i]; p != nil {
		return p
	}
	row := w.st.Positions.At(i)
	p := &position{
		id: row.ID, pool: row.Pool, owner: *w.st.Owners.At(row.Owner), burned: row.Burned,
		lower: row.TickLower, upper: row.TickUpper, liquidity: row.Liquidity(),
	}
	w.positions[i] = p
	return p
}

// firstOf returns the first position of a pool, which is its founder's. It looks
// at all positions before it, so it is for what happens rarely.
func (w *world) firstOf(p *pool) *position {
	for i := range w.nHeld {
		if n := w.position(i); n.pool == p.index {
			return n
		}
	}
	panic("BUG: a pool without a founder")
}

// nonNFT returns the liquidity of other senders with index i, which exists.
func (w *world) nonNFT(i uint32) *nonNFT {
	if d := w.nonNFTs[i]; d != nil {
		return d
	}
	row := w.st.NonNFT.At(i)
	d := &nonNFT{
		pool: row.Pool, sender: row.Sender, salt: row.Salt,
		lower: row.TickLower, upper: row.TickUpper, liquidity: row.Liquidity,
	}
	w.nonNFTs[i] = d
	return d
}

// netAt returns the liquidityNet of the initialised tick ref.
func (w *world) netAt(p *pool, ref market.TickRef) clmath.I128 {
	if t, ok := p.ticks[ref.Tick]; ok {
		return t.net
	}
	return w.st.Ticks.At(ref.Slot).LiquidityNet
}

// changeRange adds delta to a range, as the contracts do.
func (w *world) changeRange(p *pool, lower, upper int32, delta clmath.I128) {
	if delta.Sign() == 0 {
		return
	}
	w.changeTick(p, lower, delta, delta)
	w.changeTick(p, upper, delta, delta.Neg())
	if lower <= p.tick && p.tick < upper {
		p.liquidity = mustApply(p.liquidity, delta)
	}
}

// changeTick changes one tick, initialising or freeing it.
func (w *world) changeTick(p *pool, at int32, gross, net clmath.I128) {
	i := sort.Search(len(p.refs), func(i int) bool { return p.refs[i].Tick >= at })
	found := i < len(p.refs) && p.refs[i].Tick == at
	t, ok := p.ticks[at]
	if found && !ok {
		row := w.st.Ticks.At(p.refs[i].Slot)
		t = tick{row.LiquidityGross, row.LiquidityNet}
	}

	t.gross = mustApply(t.gross, gross)
	t.net, _ = t.net.Add(net)
	if p.ticks == nil {
		p.ticks = map[int32]tick{}
	}

	if t.gross.IsZero() {
		delete(p.ticks, at)
		p.ownRefs()
		p.refs = append(p.refs[:i], p.refs[i+1:]...)
		return
	}

	p.ticks[at] = t
	if !found {
		p.ownRefs()
		p.refs = append(p.refs, market.TickRef{})
		copy(p.refs[i+1:], p.refs[i:])
		p.refs[i] = market.TickRef{Tick: at, Slot: market.NoIndex}
	}
}

func (p *pool) ownRefs() {
	if !p.own {
		p.refs = append(make([]market.TickRef, 0, len(p.refs)+16), p.refs...)
		p.own = true
	}
}

func mustApply(v clmath.U128, d clmath.I128) clmath.U128 {
	v, over := v.Apply(d)
	if over {
		panic("BUG: simulated liquidity left 128 bits")
	}
	return v
}

// nextStop returns where the next step of a swap ends at the latest: the next
// initialised tick in the bitmap's word, or the word's edge.
func (p *pool) nextStop(down bool) (at int32, ref market.TickRef, initialised bool) {
	edge := clmath.WordEdge(p.tick, p.spacing, down)
	i := sort.Search(len(p.refs), func(i int) bool { return p.refs[i].Tick > p.tick })

	if down {
		if i--; i >= 0 && p.refs[i].Tick >= edge {
			return p.refs[i].Tick, p.refs[i], true
		}
		return edge, ref, false
	}
	if i < len(p.refs) && p.refs[i].Tick <= edge {
		return p.refs[i].Tick, p.refs[i], true
	}
	return edge, ref, false
}
