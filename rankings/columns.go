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
