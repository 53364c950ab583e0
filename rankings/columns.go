package rankings

import (
	"tidemark/rankings/block"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// columns is what a view keeps of every row, so that filters and searches read
// a few bytes of it and not its records. They hold no pointers and no order.
type columns struct {
	// By position.
	pool, owner []uint32
	open        *block.Bitmap // has liquidity
	inRange     *block.Bitmap
	valued      *block.Bitmap // open with a value that is known and not 0
	standard    *block.Bitmap // its pool passes the default filters

	// By place among the open positions, and among the closed.
	apr, feeAPR, roi, pnl, value []float64
	claims                       []value.Claim
	mintedAt                     []int64
	closedPnl                    []float64
	closedAge                    []uint32 // seconds

	// By pool.
	sides     []uint32 // both tokens of each
	tvl       []float64
	safe      *block.Bitmap // no token is risky
	standards *block.Bitmap // safe, with the default floor of TVL

	quarantined     *block.Bitmap
	someQuarantined bool

	passing [orderCount]*block.Bitmap // by rank: what the default filters admit

	pools   index    // by id, all of them
	owners  index    // by address
	byPool  postings // positions
	byOwner postings
	byToken postings // sides
	symbols symbols

	poolGrams, tokenGrams grams // of pool ids and of addresses
}

// filler computes the columns of a State. What the view before it has already
// computed from the same records is taken over.
type filler struct {
	*columns
	st        *market.State
	prev      *View         // nil, or with columns
	moved     *block.Bitmap // pools
	turned    *block.Bitmap // pools that were quarantined since prev, or no longer are
	prevPlace uint32        // open positions of prev before the current one
	ranker    *value.Ranker
	figures   value.Figures
	pause     func()
}

func fill(prev *View, st *market.State, pause func()) *columns {
	if prev != nil && prev.columns == nil {
		prev = nil
	}
	n := st.Positions.Len()
	f := &filler{st: st, prev: prev, pause: pause, ranker: value.NewRanker(st), columns: &columns{
		pool: make([]uint32, n), owner: make([]uint32, n),
		open: block.NewBitmap(n), inRange: block.NewBitmap(n),
		valued: block.NewBitmap(n), standard: block.NewBitmap(n),
	}}

	f.fillPools()
	f.fillPositions()
	f.fillLookups()
	return f.columns
}

// fillPools also marks the pools whose price or fee growth is not prev's: only
// there can a position have gone in or out of range, or hold something else.
func (f *filler) fillPools() {
	st := f.st
	n := st.Pools.Len()
	f.tvl, f.sides = make([]float64, n), make([]uint32, 0, 2*n)
	f.safe, f.standards = block.NewBitmap(n), block.NewBitmap(n)
	f.moved, f.turned, f.quarantined = block.NewBitmap(n), block.NewBitmap(n), block.NewBitmap(n)
	for i := range n {
		p := st.Pools.At(i)
		f.tvl[i] = st.Stats.At(i).TVLUsd
		f.sides = append(f.sides, p.Currency0, p.Currency1)
		if !isRisky(st, i) {
			f.safe.Set(i)
		}
		if p.Quarantined {
			f.quarantined.Set(i)
			f.someQuarantined = true
		}
		if isStandard(st, i) {
			f.standards.Set(i)
		}
		if f.prev == nil || i >= f.prev.State.Pools.Len() || movedOn(f.prev.State.Pools.At(i), p) {
			f.moved.Set(i)
		}
		if f.prev != nil && i < f.prev.State.Pools.Len() &&
			f.prev.State.Pools.At(i).Quarantined != p.Quarantined {
			f.turned.Set(i)
		}
		if i%market.ChunkLen == 0 {
			f.pause()
		}
	}

	f.safe.Seal()
	f.standards.Seal()
}

func movedOn(was, is *market.Pool) bool {
	return was != is && (was.Tick != is.Tick || was.SqrtPriceX96 != is.SqrtPriceX96 ||
		was.FeeGrowthGlobal0X128 != is.FeeGrowthGlobal0X128 ||
		was.FeeGrowthGlobal1X128 != is.FeeGrowthGlobal1X128)
}

func (f *filler) fillPositions() {
	n, open := f.st.Positions.Len(), f.st.OpenCount
	for _, c := range []*[]float64{&f.apr, &f.feeAPR, &f.roi, &f.pnl, &f.value} {
		*c = make([]float64, 0, open)
	}

	f.claims, f.mintedAt = make([]value.Claim, 0, open), make([]int64, 0, open)
	f.closedPnl = make([]float64, 0, n-min(open, n))
	f.closedAge = make([]uint32, 0, n-min(open, n))
	for first := uint32(0); first < n; first += market.ChunkLen {
		f.fillChunk(first, min(first+market.ChunkLen, n))
		f.pause()
	}

	for _, b := range []*block.Bitmap{f.open, f.inRange, f.valued, f.standard} {
		b.Seal()
	}
}

// fillChunk fills the rows of a chunk. If prev's State has the very same
// chunk, as copy-on-write leaves all that was not written, its closed rows are
// what they were, and its open ones hold what they held where the pool did not
// move.
func (f *filler) fillChunk(first, end uint32) {
	known := f.prev != nil && end <= f.prev.State.Positions.Len()
	same := known && f.prev.State.Positions.At(first) == f.st.Positions.At(first)
	var ranked value.Rows
	rows := f.st.Positions.Chunk(first)
	for n := range rows {
		ranked[n] = !same || f.moved.Has(rows[n].Pool)
	}

	f.ranker.ReadAhead(first, &ranked)
	for i := first; i < end; i++ {
		wasOpen := known && f.prev.columns.open.Has(i)
		switch {
		case same && !wasOpen && !f.turned.Has(rows[i-first].Pool):
			f.keepClosed(i)
		case !wasOpen, ranked[i-first]:
			f.fillPosition(i, known && !wasOpen)
		default:
			f.figures.Claim = f.prev.columns.claims[f.prevPlace]
			f.ranker.Renew(i, &f.figures)
			f.fillOpen(i)
		}
		if f.standards.Has(f.pool[i]) {
			f.standard.Set(i)
		}
		if wasOpen {
			f.prevPlace++
		}
	}
}

// keepClosed takes over a closed row whose record did not change.
func (f *filler) keepClosed(i uint32) {
	old := f.prev.columns
	f.pool[i], f.owner[i] = old.pool[i], old.owner[i]
	f.closedPnl = append(f.closedPnl, old.closedPnl[i-f.prevPlace])
	f.closedAge = append(f.closedAge, old.closedAge[i-f.prevPlace])
	if !f.moved.Has(f.pool[i]) {
		if old.inRange.Has(i) {
			f.inRange.Set(i)
		}
	} else if p := f.st.Positions.At(i); contains(p, f.st.Pools.At(p.Pool).Tick) {
		f.inRange.Set(i)
	}
}

func contains(p *market.Position, tick int32) bool {
	return p.TickLower <= tick && tick < p.TickUpper
}

// fillPosition fills row i from its records; wasClosed says that prev has it
// as a closed row.
func (f *filler) fillPosition(i uint32, wasClosed bool) {
	p := f.st.Positions.At(i)
	if !p.IsOpen() && wasClosed && !f.turned.Has(p.Pool) && *p == *f.prev.State.Positions.At(i) {
		f.keepClosed(i)
		return
	}

	f.ranker.Rank(i, &f.figures)
	if p.IsOpen() {
		f.fillOpen(i)
		return
	}
	f.place(i)
	f.closedPnl = append(f.closedPnl, f.figures.PnlUsd)
	f.closedAge = append(f.closedAge, uint32(ageKey(f.st, i)))
}

// fillOpen fills row i, which is open, from its figures.
func (f *filler) fillOpen(i uint32) {
	m := &f.figures
	f.place(i)
	f.open.Set(i)
	f.claims = append(f.claims, m.Claim)
	f.mintedAt = append(f.mintedAt, f.st.Positions.At(i).MintedAt)

	f.apr = append(f.apr, m.APR)
	f.feeAPR = append(f.feeAPR, m.FeeAPR)
	f.roi = append(f.roi, m.ROI)
	f.pnl = append(f.pnl, m.PnlUsd)
	f.value = append(f.value, m.UnderlyingValueUsd)

	if market.Known(m.UnderlyingValueUsd) && m.UnderlyingValueUsd != 0 {
		f.valued.Set(i)
	}
}

// place fills what an open and a closed row have alike.
func (f *filler) place(i uint32) {
	p := f.st.Positions.At(i)
	f.pool[i], f.owner[i] = p.Pool, p.Owner
	if f.figures.InRange {
		f.inRange.Set(i)
	}
}
