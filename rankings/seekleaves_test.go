package rankings

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// TestSeekLeaves compares what is skipped of random runs, some without rows, with the rows in
// their merged order: only rows that are to be skipped, and all of them but less than what
// the next leaves have.
func TestSeekLeaves(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		runs, merged := randomRuns(dice)
		skip := dice.Uint64N(uint64(len(merged)))
		cursors := (&Search{runs: runs}).cursors()
		left := seekLeaves(cursors, skip)

		skipped, next := uint64(0), uint64(0)
		for i := range cursors {
			c := &cursors[i]
			before := c.run.rowsBefore(c.leaf)
			skipped += uint64(before)
			next += uint64(c.run.rowsBefore(min(c.leaf+1, c.run.order.Leaves())) - before)
			if first := rowsOf(c.run.view, merged[:skip]); before > first {
				t.Fatalf("of the first %d, %d are of run %d; %d are skipped", skip, first, i, before)
			}
		}
		if left != skip-skipped || left >= next {
			t.Fatalf("of %d to skip, %d are and %d are left; the next leaves have %d", skip, skipped, left, next)
		}
	}
}

// rowsOf counts the rows of a view.
func rowsOf(v *View, rows []orderKey) (n uint32) {
	for i := range rows {
		if rows[i].view == v {
			n++
		}
	}
	return n
}

// randomRuns returns one to four runs in a random direction, with equal keys unless it is
// backward, and their rows in merged order.
func randomRuns(dice *rand.Rand) (runs []run, merged []orderKey) {
	way := direction(dice.IntN(2))
	for chain := range 1 + dice.IntN(4) {
		v := &View{State: &market.State{Chain: market.ChainID(chain)}}
		order, key := block.NewOrder(0), dice.Uint64N(50)
		r := run{view: v, direction: way}
		for row := uint32(0); dice.IntN(8) > 0 || chain == 0 && row == 0; {
			rows := 1 + dice.IntN(5)
			for i := range rows {
				if way == backward || dice.IntN(3) == 0 {
					key += 1 + dice.Uint64N(5)
				}
				if i == 0 {
					order.Add(key, row, 0, 0, rows, rows)
				}
				merged = append(merged, orderKey{r.runKey(key), v, row})
				row++
			}
		}
		r.order, r.sums = &order, order.Rows
		runs = append(runs, r)
	}

	slices.SortFunc(merged, func(a, b orderKey) int { return runs[0].compare(&a, &b) })
	return runs, merged
}
