package rankings

import (
	"math/bits"

	"tidemark/rankings/ahead"
	"tidemark/rankings/market"
)

// poolMarks are what every row of a pool asks of it.
type poolMarks uint8

const (
	movedPool    poolMarks = 1 << iota // another price or fee growth than in prev
	tickedPool                         // another tick than in prev
	standardPool                       // it passes the default filters
	pricedPool                         // another price of a token than in prev
	crossedPool                        // its price may have crossed a tick since prev, or did
)

// rowMarks are the poolMarks of the rows of a chunk, the first one by the lowest bit.
type rowMarks struct{ moved, ticked, priced, crossed uint64 }

// unsureOf returns the rows that may have entered or left their range: the ends of a closed
// one are no ticks any more, so that nothing is marked as crossed.
func (m *rowMarks) unsureOf(open uint64) uint64 { return m.ticked & (m.crossed | ^open) }

// markRows marks the rows of a chunk by their pools, and in defaultPositions those that
// pass the default filters. It has no branches, because which pool a row has cannot be
// predicted, and takes the marks of eight rows at a time.
func (f *columnBuilder) markRows(first, end uint32) (r rowMarks) {
	var standard uint64
	rows := f.pool.Chunk(first, end)
	for n := 0; n < len(rows); n += 8 {
		m := f.marksOf(rows[n:])
		r.moved |= gatherBits(m) << n
		r.ticked |= gatherBits(m>>1) << n
		standard |= gatherBits(m>>2) << n
		r.priced |= gatherBits(m>>3) << n
		r.crossed |= gatherBits(m>>4) << n
	}
	f.defaultPositions.Words()[first/market.ChunkLen] = standard
	return r
}

// marksOf returns the marks of the first eight rows, or of all if there are fewer: those of
// the first one in the lowest byte.
func (f *columnBuilder) marksOf(pools []uint32) (eight uint64) {
	if len(pools) < 8 {
		for n, pool := range pools {
			eight |= uint64(f.marks[pool]) << (8 * n)
		}
		return eight
	}
	m, p := f.marks, (*[8]uint32)(pools)
	return uint64(m[p[0]]) | uint64(m[p[1]])<<8 | uint64(m[p[2]])<<16 | uint64(m[p[3]])<<24 |
		uint64(m[p[4]])<<32 | uint64(m[p[5]])<<40 | uint64(m[p[6]])<<48 | uint64(m[p[7]])<<56
}

// gatherBits returns the lowest bits of eight bytes. Multiplied, the bit of byte n goes to bit
// 56 + n, and no two others to one place.
func gatherBits(bytes uint64) uint64 {
	return bytes & 0x0101010101010101 * 0x0102040810204080 >> 56
}

// nextChunk is the chunk behind the current one, which was asked for, and its marks.
type nextChunk struct {
	first uint32
	marks rowMarks
}

// askNext asks for what will be read of the next chunk's positions and of the prices of their
// pools, if it continues prev's as this one does and none of them was written, which may be of
// another pool than is known: most of it is there when its turn comes. Of a million positions
// that all moved it saves about a tenth of a refresh, and where all prices did a twelfth of the
// columns' time.
func (f *columnBuilder) askNext(first uint32) {
	end := min(first+market.ChunkLen, f.st.Positions.Len())
	if first >= end || !f.isShared(first, end) || !f.continues(first, end) {
		return
	}

	m, w := f.markRows(first, end), first/market.ChunkLen
	f.next = nextChunk{first, m}
	open := f.open.Words()[w]

	pools := f.pool.Chunk(first, end)
	for rest := open & (m.moved | m.priced); rest != 0; rest &= rest - 1 {
		f.ranker.AskPrices(pools[bits.TrailingZeros64(rest)])
	}

	in := f.prev.columns.inRange.Words()[w] & open & m.moved
	ends := in
	if f.told == nil {
		ends |= m.unsureOf(open)
	}
	if ends == 0 {
		return
	}

	chunk := f.st.Positions.Chunk(first)
	for rest := ends; rest != 0; rest &= rest - 1 {
		ahead.Line(&chunk[bits.TrailingZeros64(rest)].TickLower)
	}
	for rest := in; rest != 0; rest &= rest - 1 {
		ahead.Line(&chunk[bits.TrailingZeros64(rest)].FeeGrowthInside1LastX128[3])
	}
}

// takeMarks returns markRows of a chunk. Of one that was asked for they are known.
func (f *columnBuilder) takeMarks(first, end uint32) rowMarks {
	if first > 0 && f.next.first == first {
		return f.next.marks
	}
	return f.markRows(first, end)
}

// rangesOf returns the rows in range of a chunk that continues prev's; of those that were
// written it may not know.
func (f *columnBuilder) rangesOf(first uint32, open uint64, m *rowMarks) uint64 {
	w := first / market.ChunkLen
	old := f.prev.columns.inRange.Words()[w]
	if f.told == nil {
		unsure := m.unsureOf(open)
		return old&^unsure | f.findInRange(first, unsure)
	}
	return old ^ f.told.turned.next(w)
}

// crossedOf returns those of some rows of a chunk of which a price crossed an end since prev,
// and keeps them for those who follow. They are in crossed pools. Those that were written are
// among them: another node may have the same chunk as before, if what was written was undone.
func (f *columnBuilder) crossedOf(first uint32, rows uint64) (crossed uint64) {
	w := first / market.ChunkLen
	if f.told != nil {
		return f.told.crossed.next(w)
	}
	if crossed = f.endsCrossed(first, rows); crossed != 0 {
		f.crossedRows = append(f.crossedRows, rowWord{w, crossed})
	}
	return crossed
}

// endsCrossed is crossedOf of rows of which nothing is told.
func (f *columnBuilder) endsCrossed(first uint32, rows uint64) (crossed uint64) {
	if f.ticksUnknown || rows == 0 {
		return rows
	}
	chunk, marked := f.st.Positions.Chunk(first), f.crossedTicks.Words()
	for rest := rows; rest != 0; rest &= rest - 1 {
		n := bits.TrailingZeros64(rest)
		lower, upper := chunk[n].LowerSlot, chunk[n].UpperSlot
		end := marked[lower/64]>>(lower%64) | marked[upper/64]>>(upper%64)
		crossed |= end & 1 << n
	}
	return crossed
}

// findInRange returns those of some rows of a chunk whose range holds the tick of their
// pool. It does not branch on them, so that the cache misses of all rows overlap.
func (f *columnBuilder) findInRange(first uint32, rows uint64) (in uint64) {
	chunk := f.st.Positions.Chunk(first)
	for rest := rows; rest != 0; rest &= rest - 1 {
		n := uint32(bits.TrailingZeros64(rest))
		var bit uint64
		if rangeHolds(&chunk[n], f.tick[f.pool.At(first+n)]) {
			bit = 1
		}
		in |= bit << n
	}
	return in
}

// rangeHolds reports whether TickLower <= tick < TickUpper, by one comparison.
func rangeHolds(p *market.Position, tick int32) bool {
	return uint32(tick-p.TickLower) < uint32(p.TickUpper-p.TickLower)
}
