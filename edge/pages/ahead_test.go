package pages

import (
	"testing"

	"tidemark/edge/render"
	"tidemark/rankings"
	"tidemark/rankings/market"
)

// TestRowsReadAhead checks that a page which is read ahead has the rows that are rendered one
// by one: of the newest view, of one before it, which has no parts, and of a position that
// never had liquidity, and so has no ticks.
func TestRowsReadAhead(t *testing.T) {
	older, _ := rankings.Build(nil, crowd(4, 1), 7)
	st := crowd(5, 1)
	positions := market.Thaw(st.Positions)
	p := positions.Mut(2)
	p.LiquidityOrUsd.Lo, p.LowerSlot, p.UpperSlot = 0, market.NoIndex, market.NoIndex
	st.Positions = positions.Freeze()
	newer, _ := rankings.Build(older, st, 8)

	pages := &Pages{parts: newChainParts([]render.Chain{{ID: 1}})}
	room := new(Buffer)
	pages.parts.partsOf(newer)
	for _, v := range []*rankings.View{newer, older, newer} {
		page := rankings.Page{}
		var want []byte
		for i := range v.State.Positions.Len() {
			page.Rows = append(page.Rows, rankings.Row{View: v, Index: i, Rank: uint64(i) + 1})
			if i > 0 {
				want = append(want, ',')
			}
			want = pages.appendRow(want, false, &page.Rows[i], &room.metrics)
		}

		if got := pages.appendPositions(nil, &page, room); string(got) != string(want) {
			t.Errorf("generation %d: got %s; want %s", v.Generation, got, want)
		}
		for i := range room.rows {
			if room.rows[i] != (rowAhead{}) {
				t.Errorf("generation %d: the buffer keeps row %d", v.Generation, i)
			}
		}
	}
}
