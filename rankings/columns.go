package rankings

import (
	"math/bits"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// columns holds the few bytes of every row that filters and searches read, so
// that they need not touch the records. Entries are by index, not in any sort
// order, and hold no pointers.
type columns struct {
	// By position.
	pool, owner      steady
	open             *block.Bitmap // it has liquidity
	inRange          *block.Bitmap
	valued           *block.Bitmap // open, with a value that is known and not 0
	defaultPositions *block.Bitmap // its pool passes the default filters

	// By place among the open positions.
	apr, feeAPR, roi, pnl, value []float64
	pendingFees                  []float64
	mintedAt                     []uint32
	claims                       []value.Claim // nil once the next generation has been made of them

	// By place among the closed positions.
	closedPnl []float64
	closedAge []uint32 // seconds

	// By pool.
	sides        []uint32 // two entries a pool: its token0 and its token1
	tvl          []float64
	fee          []uint32      // as rows show it; NoFee is unknown
	hookTag      []uint32      // of the hooks' address; 0: no hooks
	hooked       *block.Bitmap // it has hooks
	safePools    *block.Bitmap // neither token is risky
	defaultPools *block.Bitmap // safe, and at least DefaultMinPoolTVLUsd

	// By token, and the tokens in the order of their TVL.
	tokenPools  []TokenPools
	tokensByTVL []uint32

	quarantined     *block.Bitmap
	someQuarantined bool

	passingByRank [orderCount]*block.Bitmap // rows that the default filters admit

	// Lookups.
	pools   index    // every pool, by id
	tokens  index    // every token, by address
	owners  index    // by address
	byPool  postings // positions of a pool
	byOwner postings // positions of an owner
	byToken postings // sides of a token
	symbols symbols

	poolGrams, tokenGrams grams // of pool ids and of token addresses
}

// columnBuilder computes the columns of a State. It copies from the previous
// view whatever that one computed from the same records.
type columnBuilder struct {
	*columns
	st                *market.State
	prev              *View         // nil, or with columns
	tick              []int32       // by pool; dense, because records are far apart in memory
	marks             []poolMarks   // by pool
	quarantineChanged *block.Bitmap // pools that entered or left quarantine since prev
	someTurned        bool          // a pool did
	prevOpen          uint32        // open positions of prev before the current row
	ranker            *value.Ranker
	metrics           value.Figures
	pause             func()
}

// poolMarks are what every row of a pool asks of it.
type poolMarks uint8

const (
	movedPool    poolMarks = 1 << iota // another price or fee growth than in prev
	tickedPool                         // another tick than in prev
	standardPool                       // it passes the default filters
)

// buildColumns computes the columns of st, calling pause between stretches of
// work. prev is the generation before it, or nil.
func buildColumns(prev *View, st *market.State, pause func()) *columns {
	if prev != nil && (prev.columns == nil || prev.columns.claims == nil) {
		prev = nil // it has nothing to copy from
	}
	old := new(columns)
	if prev != nil {
		old = prev.columns
	}

	// Room for a million rows is a millisecond of clearing memory, hence the pauses
	// here and below.
	n := st.Positions.Len()
	pool, owner := continueSteady(&old.pool, n), continueSteady(&old.owner, n)
	pause()

	f := &columnBuilder{
		st: st, prev: prev, pause: pause, ranker: value.NewRanker(st, pause),
		columns: &columns{
			pool: pool, owner: owner,
			open: block.NewBitmap(n), inRange: block.NewBitmap(n),
			valued: block.NewBitmap(n), defaultPositions: block.NewBitmap(n),
		},
	}

	f.fillPools()
	f.fillPositions()
	f.fillLookups()
	f.fillTokens()
	return f.columns
}

// fillPools fills the columns of pools. It also marks the pools that moved:
// only a position in one of those can have entered or left its range, or hold
// other amounts than in prev.
func (f *columnBuilder) fillPools() {
	st := f.st
	n := st.Pools.Len()
	f.tvl, f.sides = make([]float64, n), make([]uint32, 0, 2*n)
	f.safePools, f.defaultPools = block.NewBitmap(n), block.NewBitmap(n)
	f.marks, f.quarantineChanged = make([]poolMarks, n), block.NewBitmap(n)
	f.quarantined, f.hooked = block.NewBitmap(n), block.NewBitmap(n)
	f.fee, f.hookTag, f.tick = make([]uint32, n), make([]uint32, n), make([]int32, n)

	for i := range n {
		p := st.Pools.At(i)
		f.tvl[i] = st.Stats.At(i).TVLUsd
		f.sides = append(f.sides, p.Currency0, p.Currency1)
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
		f.marks[i] |= movedPool | tickedPool
		return
	}

	was := f.prev.State.Pools.At(i)
	if poolMoved(was, p) {
		f.marks[i] |= movedPool
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

func (f *columnBuilder) fillPositions() {
	n, open := f.st.Positions.Len(), f.st.OpenCount
	for _, c := range []*[]float64{&f.apr, &f.feeAPR, &f.roi, &f.pnl, &f.value, &f.pendingFees} {
		*c = make([]float64, 0, open)
		f.pause()
	}

	f.claims, f.mintedAt = make([]value.Claim, 0, open), make([]uint32, 0, open)
	f.pause()
	f.closedPnl = make([]float64, 0, n-min(open, n))
	f.closedAge = make([]uint32, 0, n-min(open, n))
	f.pause()

	for first := uint32(0); first < n; first += market.ChunkLen {
		f.fillChunk(first, min(first+market.ChunkLen, n))
		f.pause()
	}

	for _, b := range []*block.Bitmap{f.open, f.inRange, f.valued, f.defaultPositions} {
		b.Seal()
		f.pause()
	}
}

// fillChunk fills the rows of one chunk. Copy-on-write leaves a chunk that was
// not written at the same address.
func (f *columnBuilder) fillChunk(first, end uint32) {
	known := f.prev != nil && end <= f.prev.State.Positions.Len()
	if known && !f.someTurned && f.prev.State.Positions.At(first) == f.st.Positions.At(first) {
		f.fillShared(first, end)
		return
	}

	// The records of all rows are read ahead together.
	f.ranker.ReadAhead(first, value.EveryRow, value.EveryRow)
	for i := first; i < end; i++ {
		wasOpen := known && f.prev.columns.open.Has(i)
		f.fillPosition(i, known && !wasOpen)
		if f.defaultPools.Has(f.pool.rows[i]) {
			f.defaultPositions.Set(i)
		}
		if wasOpen {
			f.prevOpen++
		}
	}
}

// fillShared fills the rows of a chunk that prev's State shares, which is one word of
// each bitmap. Its closed rows are copied: of them only those are read whose pool has
// another tick. Its open rows keep their claim unless their pool moved, and all rows keep
// their pool and owner.
func (f *columnBuilder) fillShared(first, end uint32) {
	old, w := f.prev.columns, first/market.ChunkLen
	moved, ticked := f.markRows(first, end)

	rows := ^uint64(0) >> (market.ChunkLen - (end - first))
	open := old.open.Words()[w] & rows
	closed := rows &^ open
	from := first - f.prevOpen
	to := from + uint32(bits.OnesCount64(closed))
	f.closedPnl = append(f.closedPnl, old.closedPnl[from:to]...)
	f.closedAge = append(f.closedAge, old.closedAge[from:to]...)
	f.inRange.Words()[w] = old.inRange.Words()[w]&closed&^ticked | f.findInRange(first, closed&ticked)

	f.ranker.ReadAhead(first, value.Rows(open), value.Rows(moved))
	for rest := open; rest != 0; rest &= rest - 1 {
		n := uint32(bits.TrailingZeros64(rest))
		if moved>>n&1 != 0 {
			f.ranker.Rank(first+n, &f.metrics)
		} else {
			f.metrics.Claim = old.claims[f.prevOpen]
			f.ranker.Renew(first+n, &f.metrics)
		}
		f.fillOpen(first + n)
		f.prevOpen++
	}
}

// markRows marks the rows of a chunk by their pools: those whose pool moved or has another
// tick, and in defaultPositions those that pass the default filters. It has no branches,
// because which pool a row has cannot be predicted.
func (f *columnBuilder) markRows(first, end uint32) (moved, ticked uint64) {
	var standard uint64
	for n, pool := range f.pool.rows[first:end] {
		m := uint64(f.marks[pool])
		moved |= m & 1 << n
		ticked |= m >> 1 & 1 << n
		standard |= m >> 2 & 1 << n
	}
	f.defaultPositions.Words()[first/market.ChunkLen] = standard
	return moved, ticked
}

// findInRange returns those of some rows of a chunk whose range holds the tick of their
// pool. It does not branch on them, so that the cache misses of all rows overlap.
func (f *columnBuilder) findInRange(first uint32, rows uint64) (in uint64) {
	chunk := f.st.Positions.Chunk(first)
	for rest := rows; rest != 0; rest &= rest - 1 {
		n := uint32(bits.TrailingZeros64(rest))
		var bit uint64
		if rangeHolds(&chunk[n], f.tick[f.pool.rows[first+n]]) {
			bit = 1
		}
		in |= bit << n
	}
	return in
}

// keepClosed copies a closed row whose record p did not change. Only whether its
// range holds the price can differ.
func (f *columnBuilder) keepClosed(i uint32, p *market.Position) {
	old := f.prev.columns
	f.pool.set(i, p.Pool)
	f.owner.set(i, p.Owner)
	f.closedPnl = append(f.closedPnl, old.closedPnl[i-f.prevOpen])
	f.closedAge = append(f.closedAge, old.closedAge[i-f.prevOpen])

	if rangeHolds(p, f.tick[p.Pool]) {
		f.inRange.Set(i)
	}
}

// rangeHolds reports whether TickLower <= tick < TickUpper, by one comparison.
func rangeHolds(p *market.Position, tick int32) bool {
	return uint32(tick-p.TickLower) < uint32(p.TickUpper-p.TickLower)
}

// fillPosition fills row i from its records. wasClosed reports that the row is
// closed in prev.
func (f *columnBuilder) fillPosition(i uint32, wasClosed bool) {
	p := f.st.Positions.At(i)
	same := wasClosed && *p == *f.prev.State.Positions.At(i)
	if !p.IsOpen() && same && !f.quarantineChanged.Has(p.Pool) {
		f.keepClosed(i, p)
		return
	}

	f.ranker.Rank(i, &f.metrics)
	if p.IsOpen() {
		f.fillOpen(i)
		return
	}

	f.setShared(i)
	f.closedPnl = append(f.closedPnl, f.metrics.PnlUsd)
	f.closedAge = append(f.closedAge, uint32(ageKey(f.st, i)))
}

// fillOpen fills row i, which is open, from f.metrics.
func (f *columnBuilder) fillOpen(i uint32) {
	m := &f.metrics
	f.setShared(i)
	f.open.Set(i)
	f.claims = append(f.claims, m.Claim)
	f.mintedAt = append(f.mintedAt, f.st.Positions.At(i).MintedAt)

	f.apr = append(f.apr, m.APR)
	f.feeAPR = append(f.feeAPR, m.FeeAPR)
	f.roi = append(f.roi, m.ROI)
	f.pnl = append(f.pnl, m.PnlUsd)
	f.value = append(f.value, m.UnderlyingValueUsd)
	f.pendingFees = append(f.pendingFees, m.PendingFeesUsd)

	if market.Known(m.UnderlyingValueUsd) && m.UnderlyingValueUsd != 0 {
		f.valued.Set(i)
	}
}

// setShared fills the columns that open and closed rows both have.
func (f *columnBuilder) setShared(i uint32) {
	p := f.st.Positions.At(i)
	f.pool.set(i, p.Pool)
	f.owner.set(i, p.Owner)
	if f.metrics.InRange {
		f.inRange.Set(i)
	}
}
