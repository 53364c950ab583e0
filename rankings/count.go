package rankings

// Count counts the rows of a Search up to a limit. It reads columns only: the
// filter's list of candidates if it has one, else all rows, 64 at a time where
// bitmaps decide. It keeps the rows while they are within the limit. The search
// it returns then knows its total, and can seek its pages.
type Count struct {
	search  *Search
	limit   uint64
	rows    uint64
	run     int
	scanner scanner    // of the current run
	found   [][]uint32 // matching rows of each run
	done    bool
	result  *Search
}

// Count starts to count the rows. It stops once it has found more than limit.
func (s *Search) Count(limit uint64) *Count {
	c := &Count{search: s, limit: limit, result: s, found: make([][]uint32, len(s.runs))}
	if total, known := s.Total(); known {
		c.rows, c.done = total, true
	}
	return c
}

// Rows returns the number of rows counted so far, at most limit + 1.
func (c *Count) Rows() uint64 { return min(c.rows, c.limit+1) }

// Search returns the search. It knows its Total if the count is complete and
// within the limit.
func (c *Count) Search() *Search { return c.result }

// Step reads about budget rows and reports whether the count is complete.
func (c *Count) Step(budget int) (done bool) {
	for !c.done && budget > 0 {
		switch {
		case c.rows > c.limit:
			c.done, c.found = true, nil
		case c.run == len(c.search.runs):
			c.done, c.result, c.found = true, &Search{runs: c.search.runs, found: c.found}, nil
		default:
			c.scanRun(&budget)
		}
	}
	return c.done
}

// scanRun reads rows of the current run until the budget is used up, the limit
// is passed or the run ends.
func (c *Count) scanRun(budget *int) {
	r := &c.search.runs[c.run]
	before := len(c.found[c.run])
	found, ended := c.scanner.scan(r.filter, c.found[c.run], c.limit+1-c.rows, budget)
	c.rows += uint64(len(found) - before)
	c.found[c.run] = found

	if ended {
		c.scanner, c.run = scanner{}, c.run+1
	}
}
