package rankings

import "slices"

// placing finds the leaf of every row of a counted search, so that pages are seeks. That can
// take as long as the count, and most filters are never asked for a later page: it is left to
// the first walk that would take longer without it. Walks of several requests may do the same
// work at once; each has a search of its own afterwards.
type placing struct {
	found  [][]uint32 // rows of each run that have no place yet
	placed *Search    // under construction
	run    int        // of placed, the next one
}

// isWorthPlacing reports whether it takes longer to walk from the front up to a row than to
// place all rows. To place a row costs about as much as to test one.
func (s *Search) isWorthPlacing(rows uint64) bool {
	all, matching := uint64(0), uint64(0)
	for i := range s.runs {
		all += uint64(s.runs[i].order.Len())
		matching += uint64(len(s.found[i]))
	}

	const most = 1 << 28 // so that the product with the rows of all runs does not overflow
	return min(rows, most)*all > matching*matching
}

// place starts to place the rows of a counted search.
func (s *Search) place() *placing {
	return &placing{found: slices.Clone(s.found), placed: &Search{runs: slices.Clone(s.runs)}}
}

// step counts the rows by leaf, as far as the budget goes, and reports whether all runs
// are done.
func (p *placing) step(budget *int) (done bool) {
	for ; p.run < len(p.placed.runs); p.run++ {
		r, rows := &p.placed.runs[p.run], p.found[p.run]
		if r.sums == nil {
			r.sums = make([]uint32, r.order.Leaves()+1)
		}
		n := min(len(rows), *budget)
		for _, row := range rows[:n] {
			r.sums[r.leafOf(row)+1]++
		}
		*budget -= n

		if p.found[p.run] = rows[n:]; n < len(rows) {
			return false
		}

		// From rows in each leaf to rows before each leaf.
		for i := range r.order.Leaves() {
			r.sums[i+1] += r.sums[i]
		}
	}
	return true
}
