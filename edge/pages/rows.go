package pages

import (
	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
	"tidemark/rankings/value"
)

// appendRow appends the rendered row of a pool or a position. A rank of 0 is null.
func (p *Pages) appendRow(dst []byte, pool bool, r *rankings.Row, m *value.Metrics) []byte {
	if pool {
		return render.AppendPool(dst, p.parts.poolRow(r.View, r.Index), r.Rank)
	}

	at := r.View.State.Positions.At(r.Index)
	return appendPositionRow(dst, r, at, p.parts.partsOf(r.View).share(at.Pool), m)
}

// appendPositionRow appends the rendered row of a position, which is at, with the parts that
// the rows of its pool share; nil: without.
func appendPositionRow(
	dst []byte, r *rankings.Row, at *market.Position, share *render.Share, m *value.Metrics,
) []byte {
	st := r.View.State
	if share == nil {
		value.Position(st, r.Index, m)
		return render.AppendPosition(dst, st, r.Index, m, r.Rank)
	}
	share.Measure(st, at, m)
	return share.AppendPosition(dst, st, at, m, r.Rank)
}

// appendPools appends the rows of a page of pools.
func (p *Pages) appendPools(dst []byte, rows []rankings.Row) []byte {
	for i := range rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		r := &rows[i]
		dst = render.AppendPool(dst, p.parts.poolRow(r.View, r.Index), r.Rank)
	}
	return dst
}

// appendPositions appends the rows of a page of positions.
func (p *Pages) appendPositions(dst []byte, page *rankings.Page, room *Buffer) []byte {
	ahead, m := p.parts.readAhead(page, room), &room.metrics
	for i := range ahead {
		if i > 0 {
			dst = append(dst, ',')
		}
		a := &ahead[i]
		dst = appendPositionRow(dst, &page.Rows[i], a.position, a.share, m)
	}

	clear(ahead) // so that a buffer which waits for its next page keeps no view alive
	return dst
}
