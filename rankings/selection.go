package rankings

import "tidemark/rankings/block"

// Selection finds where every row of a Search stands: a bitmap by rank for
// every run, made by reading its leaves once. It keeps nothing of the leaves.
type Selection struct {
	search *Search // what was asked
	result *Search // the same, runs before run selected
	run    int
	leaf   int // of the run's order
	bits   *block.Bitmap
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
		if s.bits == nil {
			s.bits = block.NewBitmap(r.order.Len())
		}
		if s.leaf == r.order.Leaves() {
			s.bits.Seal()
			r.bits, r.sums = s.bits, sumBits(r.order, s.bits)
			s.run, s.leaf, s.bits = s.run+1, 0, nil
			continue
		}
		if err := s.read(r, leaves, &budget); err != nil {
			return false, err
		}
		s.leaf++
	}
	return s.run == len(s.search.runs), nil
}

// read marks the matching rows of one leaf.
func (s *Selection) read(r *run, leaves LeafReader, budget *int) error {
	c := cursor{run: r, loaded: -1}
	if err := c.load(leaves, s.leaf); err != nil {
		return err
	}
	*budget -= len(c.ids)
	rank := r.order.Rows[s.leaf]
	for i, id := range c.ids {
		if id >= c.rows() {
			return c.damaged(id)
		}
		if r.match == nil || r.match(id) {
			s.bits.Set(rank + uint32(i))
		}
	}
	return nil
}

// Search returns the search, which knows its Total and every row.
func (s *Selection) Search() *Search { return s.result }

// Size returns the bytes that the finished selection holds beside its views.
func (s *Selection) Size() int {
	n := 0
	for i := range s.result.runs {
		n += 4 * len(s.result.runs[i].sums)
		if b := s.result.runs[i].bits; b != nil {
			n += b.Size()
		}
	}
	return n
}
