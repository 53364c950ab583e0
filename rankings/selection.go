package rankings

import "tidemark/rankings/block"

// Selection finds the rank of every row of a Search: for each run it first finds
// the matching rows in the columns, then reads the leaves once and makes a
// bitmap by rank. The bitmaps are all that it keeps.
type Selection struct {
	search   *Search // what was asked
	result   *Search // the same search; runs before run have their bitmaps
	run      int
	scanner  scanner
	found    []uint32
	rows     *block.Bitmap // the run's matching rows; nil before the first is found
	nextLeaf int           // of the run's order
	bits     *block.Bitmap // matching rows by rank; nil until all of rows are found
}

// Select starts to find every row.
func (s *Search) Select() *Selection {
	sel := &Selection{search: s, result: s}
	if _, known := s.Total(); known {
		sel.run = len(s.runs)
	} else {
		sel.result = &Search{runs: append([]run(nil), s.runs...)}
	}
	return sel
}

// Step reads about budget rows and reports whether the selection is complete.
// The selection cannot be used after an error.
func (s *Selection) Step(leaves LeafReader, budget int) (done bool, err error) {
	for s.run < len(s.search.runs) && budget > 0 {
		r := &s.result.runs[s.run]
		switch {
		case s.bits == nil:
			s.findRows(r, &budget)
		case s.nextLeaf < r.order.Leaves():
			if err := s.markLeaf(r, leaves, &budget); err != nil {
				return false, err
			}
		default:
			s.bits.Seal()
			r.bits, r.sums = s.bits, sumBits(r.order, s.bits)
			s.run, s.nextLeaf, s.rows, s.bits = s.run+1, 0, nil, nil
		}
	}

	return s.run == len(s.search.runs), nil
}

// findRows continues to find the matching rows of a run.
func (s *Selection) findRows(r *run, budget *int) {
	if s.rows == nil {
		s.rows = block.NewBitmap(r.filter.n)
	}

	const piece = 1 << 12 // rows that found holds at a time
	var ended bool
	s.found, ended = s.scanner.scan(r.filter, s.found[:0], piece, budget)
	for _, row := range s.found {
		s.rows.Set(row)
	}

	if ended {
		s.scanner, s.bits = scanner{}, block.NewBitmap(r.order.Len())
	}
}

// markLeaf marks the matching rows of one leaf.
func (s *Selection) markLeaf(r *run, leaves LeafReader, budget *int) error {
	c := cursor{run: r, loadedLeaf: -1}
	if err := c.loadLeaf(leaves, s.nextLeaf); err != nil {
		return err
	}

	*budget -= len(c.ids)
	rank, rows := r.order.Rows[s.nextLeaf], c.tableRows()
	for i, id := range c.ids {
		if id >= rows {
			return c.rowError(id)
		}
		if s.rows.Has(id) {
			s.bits.Set(rank + uint32(i))
		}
	}

	s.nextLeaf++
	return nil
}

// Search returns the search. Once the selection is complete, it knows its Total
// and the rank of every row.
func (s *Selection) Search() *Search { return s.result }
