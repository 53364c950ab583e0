package pages

import (
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// rowAhead is a row of a page that was read ahead.
type rowAhead struct {
	position *market.Position
	parts    *parts        // of its view; nil: there are none
	share    *render.Share // of its pool; nil without parts
}

// readAhead reads what rendering the positions of a page needs, all of a kind at a time,
// and returns what it found; the rows are valid until the next call. Nearly all of a row's
// cost is waiting for memory: with 20 rows one after the other the processor waits for each
// in turn, and here for all of them together.
func (c chainParts) readAhead(page *rankings.Page, room *Buffer) []rowAhead {
	rows, sum := room.rows[:0], uint64(0)
	var view *rankings.View
	var of *parts
	for i := range page.Rows {
		if v := page.Rows[i].View; v != view {
			view, of = v, c.partsOf(v)
		}
		p := view.State.Positions.At(page.Rows[i].Index)
		sum += readPosition(p)
		rows = append(rows, rowAhead{position: p, parts: of})
	}

	for i := range rows {
		st, p := page.Rows[i].View.State, rows[i].position
		sum += uint64(st.Owners.At(p.Owner)[0]) + rows[i].parts.readShare(p.Pool)
		if p.IsOpen() {
			sum += readPool(st.Pools.At(p.Pool))
			sum += readTick(st.Ticks.At(p.LowerSlot)) + readTick(st.Ticks.At(p.UpperSlot))
		}
	}

	for i := range rows {
		r := &rows[i]
		if r.share = r.parts.share(r.position.Pool); r.share != nil {
			sum += r.share.ReadAhead()
		} else {
			sum += readTokens(page.Rows[i].View.State, r.position.Pool)
		}
	}

	room.rows, room.read = rows, room.read+sum
	return rows
}

// readPosition, readPool and readTick read every cache line of what a row reads of a
// record. Every other position begins in the middle of a line.
func readPosition(p *market.Position) uint64 {
	sum := p.ID + uint64(p.MintedAt) + p.FeeGrowthInside1LastX128[2] + p.Withdrawn0.Lo +
		uint64(p.Overflow)
	if p.Closed {
		sum += uint64(p.ClosedAt)
	}
	return sum
}

func readPool(p *market.Pool) uint64 {
	return uint64(p.Currency0) + p.FeeGrowthGlobal0X128[2] + p.FeeGrowthGlobal1X128[3]
}

func readTick(t *market.Tick) uint64 {
	return t.SqrtPriceX96[0] + t.FeeGrowthOutside1X128[0] + uint64(t.SecondsOutside)
}

// readTokens reads of a pool's tokens and their prices what a row needs without a share.
func readTokens(st *market.State, pool uint32) (sum uint64) {
	p := st.Pools.At(pool)
	for _, token := range [...]uint32{p.Currency0, p.Currency1} {
		sum += uint64(st.Tokens.At(token).Decimals) + uint64(st.Prices.At(token).OnlyPool)
	}
	return sum
}
