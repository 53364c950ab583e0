package rankings

import "tidemark/rankings/block"

// Selection finds where every row of a Search stands: a bitmap by rank for
// every run. It finds the rows in the columns, in sequence, and then reads the
// leaves once to see their ranks; it keeps nothing of either.
type Selection struct {
	search  *Search // what was asked
	result  *Search // the same, runs before run selected
	run     int
	scanner scanner
	found   []uint32
	rows    *block.Bitmap // the run's matching rows; nil: not all are found yet
	leaf    int           // of the run's order
	bits    *block.Bitmap // by rank
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

// Step goes on by about budget rows and reports whether the selection is
// complete. After an error the selection is of no more use.
func (s *Selection) Step(leaves LeafReader, budget int) (done bool, err error) {
	for s.run < len(s.search.runs) && budget > 0 {
		r := &s.result.runs[s.run]
		switch {
		case r.sums != nil:
			s.run++
		case s.bits == nil:
			s.find(r, &budget)
		case s.leaf < r.order.Leaves():
			if err := s.read(r, leaves, &budget); err != nil {
				return false, err
			}
		default:
			s.bits.Seal()
			r.bits, r.sums = s.bits, sumBits(r.order, s.bits)
			s.run, s.leaf, s.rows, s.bits = s.run+1, 0, nil, nil
		}
	}

	return s.run == len(s.search.runs), nil
}

// find goes on to find the matching rows of a run.
func (s *Selection) find(r *run, budget *int) {
	if s.rows == nil {
		s.rows = block.NewBitmap(r.filter.n)
	}
	const piece = 1 << 12 // rows kept at a time
	var ended bool
	s.found, ended = s.scanner.scan(r.filter, s.found[:0], piece, budget)
	for _, row := range s.found {
		s.rows.Set(row)
	}
	if ended {
		s.scanner, s.bits = scanner{}, block.NewBitmap(r.order.Len())
	}
}

// read marks the matching rows of one leaf.
func (s *Selection) read(r *run, leaves LeafReader, budget *int) error {
	c := cursor{run: r, loaded: -1}
	if err := c.load(leaves, s.leaf); err != nil {
		return err
	}

	*budget -= len(c.ids)
	rank, rows := r.order.Rows[s.leaf], c.rows()
	for i, id := range c.ids {
		if id >= rows {
			return c.damaged(id)
		}
		if s.rows.Has(id) {
			s.bits.Set(rank + uint32(i))
		}
	}

	s.leaf++
	return nil
}

// Search returns the search, which knows its Total and every row.
func (s *Selection) Search() *Search { return s.result }
