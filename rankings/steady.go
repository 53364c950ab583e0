package rankings

import "slices"

// steady is a column whose rows hardly ever change. Generations share its memory: a later
// one adds rows after those of an earlier one, and has a copy once it changes one of them.
type steady struct {
	rows  []uint32
	taken *uint32 // rows of the memory that any generation has
	own   uint32  // the first row that no generation before has

	// changed are the rows, ascending, that prev has otherwise, of the had rows that it has.
	changed []uint32
	had     uint32
}

// continueSteady returns a column of n rows that begins with those of prev. New rows are 0.
func continueSteady(prev *steady, n uint32) steady {
	had := uint32(len(prev.rows))
	s := steady{rows: prev.rows, taken: prev.taken, own: had, had: had}
	if had == 0 || n < had || *s.taken != had { // there is none, or another one has the rows after it
		s = steady{rows: make([]uint32, min(n, had), n), taken: new(uint32), had: had}
		copy(s.rows, prev.rows)
	}

	s.rows = append(s.rows, make([]uint32, n-uint32(len(s.rows)))...)
	*s.taken = n
	return s
}

// set changes a row, before anyone else has the generation. Rows must be set in ascending
// order.
func (s *steady) set(row, to uint32) {
	if s.rows[row] == to {
		return
	}
	if row < s.had {
		s.changed = append(s.changed, row)
	}
	if row < s.own {
		n := uint32(len(s.rows))
		s.rows, s.taken, s.own = slices.Clone(s.rows), &n, 0
	}
	s.rows[row] = to
}
