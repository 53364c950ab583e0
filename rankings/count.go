package rankings

import "slices"

// Count counts the rows of a Search up to a limit. It looks at columns only:
// at lists of positions where the filter has one, else at all rows, 64 at a
// time as far as sets decide. While the limit is not passed it remembers the
// rows, and in the end finds the leaf of each, so that the pages of a filter
// that admits few rows are seeks from then on.
type Count struct {
	search  *Search
	limit   uint64
	rows    uint64
	run     int
	scanner scanner    // of the run
	found   [][]uint32 // of each run
	placed  *Search    // the result in the making
	at      int        // its next run
	done    bool
	result  *Search
}

// Count starts to count the rows; it ends early beyond limit.
func (s *Search) Count(limit uint64) *Count {
	c := &Count{search: s, limit: limit, result: s, found: make([][]uint32, len(s.runs))}
	if total, known := s.Total(); known {
		c.rows, c.done = total, true
	}
	return c
}

// Rows returns the rows counted so far: at most limit + 1.
func (c *Count) Rows() uint64 { return min(c.rows, c.limit+1) }

// Search returns the search, which knows its Total when the complete count
// was not beyond the limit.
func (c *Count) Search() *Search { return c.result }

// Step goes on by about budget rows and reports whether the count is complete.
func (c *Count) Step(budget int) (done bool) {
	for !c.done && budget > 0 {
		switch {
		case c.rows > c.limit:
			c.done, c.found = true, nil
		case c.run == len(c.search.runs):
			c.place(&budget)
		default:
			c.scan(&budget)
		}
	}
	return c.done
}

// scan looks at rows of the current run until the budget is used up, the
// limit is passed or the run ends.
func (c *Count) scan(budget *int) {
	r := &c.search.runs[c.run]
	found, ended := c.found[c.run], true
	if r.sums != nil {
		c.rows += uint64(r.total())
	} else {
		before := len(found)
		most := c.limit + 1 - c.rows
		found, ended = c.scanner.scan(r.filter, found, most, budget)
		c.rows += uint64(len(found) - before)
		c.found[c.run] = found
	}

	if ended {
		c.scanner, c.run = scanner{}, c.run+1
	}
}

// place goes on to find the leaf of every row found. In the end the search
// knows how many stand before each.
func (c *Count) place(budget *int) {
	if c.placed == nil {
		c.placed = &Search{runs: slices.Clone(c.search.runs)}
	}

	if c.at == len(c.placed.runs) {
		c.done, c.result, c.found = true, c.placed, nil
		return
	}

	r, rows := &c.placed.runs[c.at], c.found[c.at]
	if c.search.runs[c.at].sums == nil {
		if r.sums == nil {
			r.sums = make([]uint32, r.order.Leaves()+1)
		}
		n := min(len(rows), *budget)
		for _, row := range rows[:n] {
			r.sums[r.leafOf(row)+1]++
		}
		*budget -= n
		if c.found[c.at] = rows[n:]; n < len(rows) {
			return
		}
		for i := range r.order.Leaves() {
			r.sums[i+1] += r.sums[i]
		}
	}

	c.at++
}
