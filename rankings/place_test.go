package rankings_test

import (
	"slices"
	"testing"

	"tidemark/rankings"
)

// TestPlacing: a counted search places its rows when a page is asked for that is far from the
// front, in steps, and later walks do not do it again. The first page reads no more than it
// shows.
func TestPlacing(t *testing.T) {
	w := newTestWorld(t, 9000)
	c, all := countInRange(t, w, rankings.ByAge)
	const budget = 300
	rows := len(all)

	// f walks to a page in steps, and returns the search afterwards.
	f := func(s *rankings.Search, offset, leastSteps, mostSteps int, placed bool) *rankings.Search {
		t.Helper()
		walk, steps := s.Walk(uint64(offset), 3), 0
		for done := false; !done; steps++ {
			var err error
			if done, err = walk.Step(w.shelf, budget); err != nil {
				t.Fatal(err)
			}
		}

		want := all[offset : offset+3]
		if got := walk.Page(); !slices.Equal(got.Rows, want) || got.HasMore != (offset+3 < rows) {
			t.Fatalf("from row %d on: %+v; want %+v", offset, got, want)
		}
		if steps < leastSteps || steps > mostSteps || rankings.IsPlaced(walk.Search()) != placed {
			t.Errorf("from row %d on: %d steps, and rows are placed: %t; want %d to %d, %t",
				offset, steps, !placed, leastSteps, mostSteps, placed)
		}
		if total, known := walk.Search().Total(); !known || int(total) != rows {
			t.Errorf("from row %d on: the total is %d, %t; want %d", offset, total, known, rows)
		}
		return walk.Search()
	}
	counted := f(c.Search(), 0, 1, 1, false)
	placed := f(counted, rows-3, rows/budget, (rows+9000)/budget+2, true)
	f(placed, rows-4, 1, 1, true)
	f(placed, 0, 1, 1, true)

	few := counted.Walk(uint64(rows), 3)
	if done, err := few.Step(w.shelf, 1); !done || err != nil || few.Page().HasMore {
		t.Errorf("behind the last row: done %t, %v", done, err)
	}
}
