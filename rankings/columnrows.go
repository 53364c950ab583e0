package rankings

import (
	"math"
	"math/bits"

	"tidemark/rankings/block"
	"tidemark/rankings/index"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

func (f *columnBuilder) fillPositions() {
	f.findOpen()
	open := f.open.Count()
	for _, c := range []*[]float64{&f.roi, &f.feePercent, &f.pnl, &f.value, &f.pendingFees} {
		*c = make([]float64, open)
		f.pause()
	}

	n := f.st.Positions.Len()
	for first := uint32(0); first < n; first += market.ChunkLen {
		end := min(first+market.ChunkLen, n)
		if f.continues(first, end) {
			f.fillContinued(first, end)
		} else {
			f.fillWritten(first, end)
			f.pause()
		}
		if first%index.StrideColdRows == 0 {
			f.pause()
		}
	}

	for _, b := range []*block.Bitmap{f.inRange, f.valued, f.defaultPositions} {
		b.Seal()
		f.pause()
	}
}

// isShared reports whether prev has the rows of a chunk too. Copy-on-write leaves a chunk
// that was not written at the same address.
func (f *columnBuilder) isShared(first, end uint32) bool {
	return f.prev != nil && end <= f.prev.State.Positions.Len() &&
		f.prev.State.Positions.At(first) == f.st.Positions.At(first)
}

// continues reports whether prev has the rows of a chunk too, and the same ones open, in
// pools of which none entered or left quarantine.
func (f *columnBuilder) continues(first, end uint32) bool {
	w := first / market.ChunkLen
	return f.prev != nil && end <= f.prev.State.Positions.Len() && !f.someTurned &&
		f.prev.columns.open.Words()[w] == f.open.Words()[w]
}

// findWritten returns the rows of a chunk that are other ones than in prev, which has them.
func (f *columnBuilder) findWritten(first, end uint32) (written uint64) {
	if f.isShared(first, end) {
		return 0
	}
	was, is := f.prev.State.Positions.Chunk(first), f.st.Positions.Chunk(first)
	for n := range is {
		if was[n] != is[n] {
			written |= 1 << n
		}
	}
	return written
}

// findOpen finds the open positions: which they are in prev is known of all that it shares.
func (f *columnBuilder) findOpen() {
	n, words := f.st.Positions.Len(), f.open.Words()
	var old []uint64
	if f.prev != nil {
		old = f.prev.columns.open.Words()
	}

	for first := uint32(0); first < n; first += market.ChunkLen {
		w, end := int(first/market.ChunkLen), min(first+market.ChunkLen, n)
		if f.isShared(first, end) {
			words[w] = old[w] & (^uint64(0) >> (market.ChunkLen - (end - first)))
		} else {
			words[w] = openRows(f.st.Positions.Chunk(first))
			f.pause()
		}
	}

	f.open.Seal()
	f.takeKept()
}

// takeKept takes what prev keeps of its open rows.
func (f *columnBuilder) takeKept() {
	if f.prev == nil {
		f.kept = newKeptRows(f.open)
		f.pause()
		return
	}

	f.kept, f.prev.columns.kept, f.prev.columns.crossedRows = f.prev.columns.kept, keptRows{}, nil
	f.openIDs.by, f.prev.columns.openIDs.by = f.prev.columns.openIDs.by, openIDs{}.by
	f.openIDs.changed = make([]uint64, len(f.open.Words()))
	f.closedIDs.by, f.prev.columns.closedIDs.by = f.prev.columns.closedIDs.by, [2][]uint32{}
	if !f.kept.resize(f.open.Words()) {
		f.kept = f.kept.moved(f.open, f.pause)
	}
	f.pause()
}

// openRows marks the open rows of a chunk, the first one by the lowest bit.
func openRows(chunk []market.Position) (open uint64) {
	for n := range chunk {
		if chunk[n].IsOpen() {
			open |= 1 << n
		}
	}
	return open
}

// fillContinued fills the rows of a chunk that continues prev's, which is one word of each
// bitmap: those that were written from their records. Of the other closed rows those are read
// whose pool has another tick, and of the open ones those whose claim is another one because
// their pool moved. Of the rest only those whose prices moved have other figures, which follow
// from what is kept of them.
func (f *columnBuilder) fillContinued(first, end uint32) {
	old, w := f.prev.columns, first/market.ChunkLen
	written := f.findWritten(first, end)
	f.setSteady(first, written)
	m := f.takeMarks(first, end)
	f.askNext(end)
	open := f.open.Words()[w]
	in := f.rangesOf(first, open, &m)
	if written != 0 { // to find the chunk is a cache miss
		in = in&^written | f.findInRange(first, written)
	}
	f.inRange.Words()[w] = in

	n := uint32(bits.OnesCount64(open))
	kept := f.kept.of(w, int(n))
	moved := m.moved & (in | f.crossedOf(first, open&m.moved&m.crossed&^in)) &^ written
	f.ranker.Reclaim(first, f.pool.Chunk(first, end), moved, open, kept)

	todo := open & (moved | m.priced) &^ written
	if todo != open {
		f.copyOpen(n)
	}
	f.openIDs.changed[w] = todo | written
	f.valued.Words()[w] = old.valued.Words()[w]&open&^(todo|written) | f.renew(first, todo, open, kept)
	f.fillRows(first, written, open, kept)
	f.place, f.prevOpen = f.place+n, f.prevOpen+n
}

// setSteady sets what hardly ever changes of some rows of a chunk.
func (f *columnBuilder) setSteady(first uint32, rows uint64) {
	for rest := rows; rest != 0; rest &= rest - 1 {
		i := first + uint32(bits.TrailingZeros64(rest))
		p := f.st.Positions.At(i)
		f.pool.Set(i, p.Pool)
		f.owner.Set(i, p.Owner)
	}
}

// fillRows fills the figures of some rows of a chunk from their records, which it reads ahead
// together.
func (f *columnBuilder) fillRows(first uint32, rows, open uint64, kept []value.Kept) {
	if rows == 0 {
		return
	}
	f.ranker.ReadAhead(first, rows)

	for rest := rows; rest != 0; rest &= rest - 1 {
		row, i := rest&-rest, first+uint32(bits.TrailingZeros64(rest))
		before := uint32(bits.OnesCount64(open & (row - 1)))
		if open&row != 0 {
			f.fillOpen(i, f.place+before, &kept[before])
		} else {
			f.fillClosed(i)
		}
	}
}

// renew sets the results of some open rows of a chunk and returns which are valued.
func (f *columnBuilder) renew(first uint32, todo, open uint64, kept []value.Kept) (valued uint64) {
	from, to := f.place, f.place+uint32(len(kept))
	roi, feePercent, pnl := f.roi[from:to], f.feePercent[from:to], f.pnl[from:to]
	usd, pendingFees := f.value[from:to], f.pendingFees[from:to]

	var r value.Results
	pools := f.pool.Chunk(first, min(first+market.ChunkLen, f.pool.Len()))
	for rest := todo; rest != 0; rest &= rest - 1 {
		n := uint32(bits.TrailingZeros64(rest))
		at := bits.OnesCount64(open & (rest&-rest - 1))
		f.ranker.Renew(first+n, pools[n], &kept[at], &r)
		roi[at], feePercent[at], pnl[at] = r.ROI, r.FeePercent, r.PnlUsd
		usd[at], pendingFees[at] = r.UnderlyingValueUsd, r.PendingFeesUsd
		if isValued(r.UnderlyingValueUsd) {
			valued |= rest & -rest
		}
	}
	return valued
}

// isValued reports whether a value is known and not 0.
func isValued(usd float64) bool { return market.Known(usd) && usd != 0 }

// copyOpen copies the figures of so many open rows from prev.
func (f *columnBuilder) copyOpen(n uint32) {
	old, from, to := f.prev.columns, f.prevOpen, f.place
	copy(f.roi[to:to+n], old.roi[from:from+n])
	copy(f.feePercent[to:to+n], old.feePercent[from:from+n])
	copy(f.pnl[to:to+n], old.pnl[from:from+n])
	copy(f.value[to:to+n], old.value[from:from+n])
	copy(f.pendingFees[to:to+n], old.pendingFees[from:from+n])
}

// fillWritten fills the rows of a chunk from their records, which it reads ahead together.
func (f *columnBuilder) fillWritten(first, end uint32) {
	before, w := uint32(0), first/market.ChunkLen
	if f.prev != nil {
		before = f.prev.State.Positions.Len()
		f.openIDs.changed[w] = market.AllRows
	}
	f.chunkKept = f.kept.of(w, bits.OnesCount64(f.open.Words()[w]))
	f.ranker.ReadAhead(first, market.AllRows)

	for i := first; i < end; i++ {
		wasOpen := i < before && f.prev.columns.open.Has(i)
		f.fillPosition(i, i < before && !wasOpen)
		if f.defaultPools.Has(f.pool.At(i)) {
			f.defaultPositions.Set(i)
		}
		if wasOpen {
			f.prevOpen++
		}
	}
}

// fillPosition fills row i from its records. wasClosed reports that the row is
// closed in prev.
func (f *columnBuilder) fillPosition(i uint32, wasClosed bool) {
	p := f.st.Positions.At(i)
	f.pool.Set(i, p.Pool)
	f.owner.Set(i, p.Owner)
	if rangeHolds(p, f.tick[p.Pool]) {
		f.inRange.Set(i)
	}

	if p.IsOpen() {
		f.fillOpen(i, f.place, &f.chunkKept[0])
		f.chunkKept = f.chunkKept[1:]
		f.place++
		if wasClosed {
			f.closedIDs.changed = append(f.closedIDs.changed, i)
		}
		return
	}

	// A closed row whose record did not change has the figures of before.
	if wasClosed && !f.quarantineChanged.Has(p.Pool) && *p == *f.prev.State.Positions.At(i) {
		return
	}
	f.fillClosed(i)
}

// fillOpen fills the columns of the open row i at a place, and what is kept of it.
func (f *columnBuilder) fillOpen(i, at uint32, kept *value.Kept) {
	f.ranker.Rank(i, &f.metrics)
	f.ranker.Keep(kept)
	f.age.Set(i, f.st.Positions.At(i).MintedAt)
	f.closedPnl.Set(i, 0)
	f.setFigures(at, i)
}

// fillClosed fills the columns of the closed row i.
func (f *columnBuilder) fillClosed(i uint32) {
	f.ranker.Rank(i, &f.metrics)
	f.closedPnl.Set(i, math.Float64bits(f.metrics.PnlUsd))
	f.age.Set(i, uint32(ageKey(f.st, i)))
	if f.prev != nil {
		f.closedIDs.changed = append(f.closedIDs.changed, i)
	}
}

// setFigures sets the columns of the open row i at a place from f.metrics.
func (f *columnBuilder) setFigures(at, i uint32) {
	m := &f.metrics
	f.roi[at] = m.ROI
	f.feePercent[at] = m.FeePercent
	f.pnl[at] = m.PnlUsd
	f.value[at] = m.UnderlyingValueUsd
	f.pendingFees[at] = m.PendingFeesUsd
	if isValued(m.UnderlyingValueUsd) {
		f.valued.Set(i)
	}
}
