package rankings

import (
	"sync/atomic"

	"tidemark/rankings/block"
	"tidemark/rankings/index"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// columns holds the few bytes of every row that filters and searches read, so
// that they need not touch the records. Entries are by index, not in any sort
// order, and hold no pointers.
type columns struct {
	// By position.
	pool, owner      index.Column[uint32]
	age              index.Column[uint32] // when an open one was minted; the age in seconds of a closed one
	closedPnl        index.Column[uint64] // as bits; 0 of open ones
	open             *block.Bitmap        // it has liquidity
	inRange          *block.Bitmap
	valued           *block.Bitmap // open, with a value that is known and not 0
	defaultPositions *block.Bitmap // its pool passes the default filters

	// By place among the open positions. What rows earn in a year follows from percent
	// and age.
	roi, feePercent, pnl, value []float64
	pendingFees                 []float64
	kept                        keptRows // empty once the next generation has taken it
	openIDs                     openIDs

	closedIDs closedIDs

	// By pool.
	sides        index.Column[uint32] // two entries a pool: its token0 and its token1
	tvl          []float64
	fee          []uint32      // as rows show it; NoFee is unknown
	hookTag      []uint32      // of the hooks' address; 0: no hooks
	hooked       *block.Bitmap // it has hooks
	safePools    *block.Bitmap // neither token is risky
	defaultPools *block.Bitmap // safe, and at least DefaultMinPoolTVLUsd
	poolOrders   poolOrders

	// By token, and the tokens in the order of their TVL.
	tokenPools  []TokenPools
	tokensByTVL []uint32

	quarantined     *block.Bitmap
	someQuarantined bool

	passingByRank [orderCount]*block.Bitmap // rows that the default filters admit

	continued   bool     // they were computed from those of the generation before
	crossedRows rowWords // since that one; see hints

	// Lookups.
	pools   index.IDs      // every pool, by id
	tokens  index.IDs      // every token, by address
	owners  index.IDs      // by address
	byPool  index.Postings // positions of a pool
	byOwner index.Postings // positions of an owner
	byToken index.Postings // sides of a token
	symbols index.Symbols

	poolGrams, tokenGrams index.Grams // of pool ids and of token addresses
}

// forgetChanged forgets what only the generation that is built needs.
func (c *columns) forgetChanged() {
	c.closedIDs.changed, c.openIDs.changed = nil, nil
	clear(c.poolOrders.changed[:])
	for _, s := range []*index.Column[uint32]{&c.pool, &c.owner, &c.age, &c.sides} {
		s.Seal()
	}
	c.closedPnl.Seal()
}

// columnBuilder computes the columns of a State. It copies from the previous
// view whatever that one computed from the same records and prices.
type columnBuilder struct {
	*columns
	st                *market.State
	prev              *View         // nil, or with columns
	tick              []int32       // by pool; dense, because records are far apart in memory
	marks             []poolMarks   // by pool
	tokenMoved        []bool        // by token: its price is another one than in prev
	nativeMoved       bool          // that of the native currency is
	quarantineChanged *block.Bitmap // pools that entered or left quarantine since prev
	someTurned        bool          // a pool did
	crossedTicks      *block.Bitmap // by slot, that a price crossed since prev; nothing of what is told
	ticksUnknown      bool          // any tick may have been
	told              *hints        // nil: nothing is told against prev
	ranker            *value.Ranker
	metrics           value.Figures
	next              nextChunk
	pause             func()

	place     uint32       // open positions before the current row
	prevOpen  uint32       // those of prev
	chunkKept []value.Kept // of the current row and those after it in its chunk
}

// poolMarks are what every row of a pool asks of it.
type poolMarks uint8

const (
	movedPool    poolMarks = 1 << iota // another price or fee growth than in prev
	tickedPool                         // another tick than in prev
	standardPool                       // it passes the default filters
	pricedPool                         // another price of a token than in prev
	crossedPool                        // its price may have crossed a tick since prev, or did
)

// buildColumns computes the columns of st, calling pause between stretches of
// work. prev is the generation before it, or nil. It takes kept from prev: another
// generation after prev would be computed from the records alone, which takes longer. told
// is nil but in a generation that another node built.
func buildColumns(prev *View, st *market.State, told *hints, pause func()) *columns {
	if prev != nil && (prev.columns == nil || prev.columns.kept.rows == nil) {
		prev = nil // it has nothing to copy from
	}
	old := new(columns)
	if prev != nil {
		old = prev.columns
	}

	// Room for a million rows is a millisecond of clearing memory, hence the pauses
	// here and below.
	n := st.Positions.Len()
	pool, owner := index.Continue(&old.pool, n), index.Continue(&old.owner, n)
	age, closedPnl := index.Continue(&old.age, n), index.Continue(&old.closedPnl, n)
	pause()

	f := &columnBuilder{
		st: st, prev: prev, pause: pause, ranker: takeRanker(st),
		columns: &columns{
			pool: pool, owner: owner, age: age, closedPnl: closedPnl,
			sides: index.Continue(&old.sides, 2*st.Pools.Len()),
			open:  block.NewBitmap(n), inRange: block.NewBitmap(n),
			valued: block.NewBitmap(n), defaultPositions: block.NewBitmap(n),
		},
	}

	if prev != nil {
		f.tokenMoved, f.nativeMoved = f.ranker.MovedPrices(prev.State, pause)
		f.continued = true
		if told.follows(prev) {
			f.told = told
		}
	}
	f.fillPools()
	f.fillPositions()
	f.ranker.Release()
	spareRanker.Store(f.ranker)
	f.fillLookups()
	f.fillTokens()
	return f.columns
}

// spareRanker is what the last builder has left, since the memory of a Ranker is larger than
// that of most columns. One is enough, as of an orderBuilder.
var spareRanker atomic.Pointer[value.Ranker]

func takeRanker(st *market.State) *value.Ranker {
	r := spareRanker.Swap(nil)
	if r == nil {
		return value.NewRanker(st)
	}
	r.Restart(st)
	return r
}

// fillPools fills the columns of pools. It also marks the pools that moved:
// only a position in one of those can have entered or left its range, or hold
// other amounts than in prev.
func (f *columnBuilder) fillPools() {
	st := f.st
	n := st.Pools.Len()
	f.tvl = make([]float64, n)
	f.safePools, f.defaultPools = block.NewBitmap(n), block.NewBitmap(n)
	f.marks, f.quarantineChanged = make([]poolMarks, n), block.NewBitmap(n)
	f.quarantined, f.hooked = block.NewBitmap(n), block.NewBitmap(n)
	f.crossedTicks = block.NewBitmap(st.Ticks.Len())
	f.fee, f.hookTag, f.tick = make([]uint32, n), make([]uint32, n), make([]int32, n)
	if f.prev != nil {
		f.poolOrders.take(&f.prev.columns.poolOrders, f.prev.State.Pools.Len(), n)
	}

	for i := range n {
		p := st.Pools.At(i)
		f.tvl[i] = st.Stats.At(i).TVLUsd
		f.sides.Set(2*i, p.Currency0)
		f.sides.Set(2*i+1, p.Currency1)
		f.fee[i], f.hookTag[i], f.tick[i] = p.ShownFee(), hookTag(&p.Hooks), p.Tick
		if f.hookTag[i] != 0 {
			f.hooked.Set(i)
		}
		if !isRisky(st, i) {
			f.safePools.Set(i)
		}
		if p.Quarantined {
			f.quarantined.Set(i)
			f.someQuarantined = true
		}
		if isStandard(st, i) {
			f.defaultPools.Set(i)
			f.marks[i] |= standardPool
		}

		f.comparePool(i, p)
		if f.marks[i]&(movedPool|pricedPool) != 0 {
			f.ranker.Prepare(i) // its rows are to be renewed
		}
		if i%market.ChunkLen == 0 {
			f.pause()
		}
	}

	f.safePools.Seal()
	f.defaultPools.Seal()
}

// comparePool marks what differs between pool i and the same pool in prev.
func (f *columnBuilder) comparePool(i uint32, p *market.Pool) {
	if f.prev == nil || i >= f.prev.State.Pools.Len() {
		f.marks[i] |= movedPool | tickedPool | pricedPool | crossedPool
		f.poolOrders.addPool(i)
		return
	}
	if f.nativeMoved || f.tokenMoved[p.Currency0] || f.tokenMoved[p.Currency1] {
		f.marks[i] |= pricedPool
	}

	was := f.prev.State.Pools.At(i)
	if value.OwnExitsMoved(was, p) {
		f.marks[i] |= pricedPool
	}
	f.comparePoolKeys(i, was, p)
	if poolMoved(was, p) {
		f.marks[i] |= movedPool
		if f.told == nil && f.crossTicks(i, was.Tick, p.Tick) {
			f.marks[i] |= crossedPool
		}
	}
	if was.Tick != p.Tick {
		f.marks[i] |= tickedPool
	}
	if was.Quarantined != p.Quarantined {
		f.quarantineChanged.Set(i)
		f.someTurned = true
	}
}

func poolMoved(was, is *market.Pool) bool {
	return was != is && (was.Tick != is.Tick || was.SqrtPriceX96 != is.SqrtPriceX96 ||
		was.FeeGrowthGlobal0X128 != is.FeeGrowthGlobal0X128 ||
		was.FeeGrowthGlobal1X128 != is.FeeGrowthGlobal1X128)
}

// crossTicks marks the initialised ticks of pool i, which was at another tick, that its price
// crossed since prev, also if it came back, and reports whether there are any. A position out
// of range of whose ends none is marked has the claim of before: it is on the same side of
// the price, and what both of its ticks know of the growth outside of them is the same.
func (f *columnBuilder) crossTicks(i uint32, was, is int32) (some bool) {
	if i >= f.st.TickLists.Len() {
		f.ticksUnknown = true
		return true
	}

	before, now := &f.prev.State.Ticks, &f.st.Ticks
	for _, ref := range f.st.TickLists.At(i) {
		crossed := (ref.Tick <= was) != (ref.Tick <= is)
		if !crossed && ref.Slot < before.Len() { // no position of prev has a new tick
			a, b := before.At(ref.Slot), now.At(ref.Slot)
			crossed = a != b && (a.Pool != b.Pool || a.Tick != b.Tick ||
				a.FeeGrowthOutside0X128 != b.FeeGrowthOutside0X128 ||
				a.FeeGrowthOutside1X128 != b.FeeGrowthOutside1X128)
		}
		if crossed {
			f.crossedTicks.Set(ref.Slot)
			some = true
		}
	}
	return some
}
