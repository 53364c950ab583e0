package rankings

// Page is a page of rows, found in fixed views.
type Page struct {
	Rows    []Row
	HasMore bool // one more row follows the page
}

// Row is one row of a page: a position or a pool by its index in the State of
// its view.
type Row struct {
	View  *View
	Index uint32
	Rank  uint64 // from 1, over all chains
}

// Walk finds one page of a Search, as far at a time as it is given budget. It
// merges the runs from the page's first row on, which it seeks if the search
// knows enough, else from where the walks before it got, until one row past
// the page.
type Walk struct {
	search        *Search
	cursors       []cursor
	offset, limit uint64
	skip          uint64 // rows still to pass over
	begun, done   bool
	fromFront     bool
	rows          []place // if from the front: all up to here
	page          Page    // else
}

// Step goes on by about budget rows and reports whether the page is complete.
// After an error the walk is of no more use.
func (w *Walk) Step(leaves LeafReader, budget int) (done bool, err error) {
	if !w.begun {
		w.begun = true
		if err := w.begin(leaves); err != nil {
			return false, err
		}
	}

	for !w.done {
		first, err := w.first(leaves, &budget)
		if err != nil || first == nil && !w.done {
			return false, err
		}
		if first != nil {
			w.take(first)
		}
	}

	return true, nil
}

// begin seeks as far as the search's knowledge goes.
func (w *Walk) begin(leaves LeafReader) error {
	total, known := w.search.Total()
	switch {
	case !known:
		w.goOn()
		return nil
	case w.offset >= total:
		w.done = true
		return nil
	}

	w.cursors = w.search.cursors()
	w.skip = seek(w.cursors, w.offset)
	for i := range w.cursors {
		c := &w.cursors[i]
		c.next = c.run.before(c.leaf)
	}

	ranked := w.search.ranked()
	if !ranked && w.search.front.isNear(w.cursors) {
		w.goOn()
		return nil
	}

	w.page.Rows = make([]Row, 0, min(w.limit, total-w.offset))
	if !ranked {
		return nil
	}
	rest := w.skip
	w.skip = 0
	return probe(w.cursors, leaves, rest)
}

// first returns the cursor with the next row of the merged order, or nil when
// the budget is used up, or when there is none and the walk is done.
func (w *Walk) first(leaves LeafReader, budget *int) (*cursor, error) {
	var first *cursor
	for i := range w.cursors {
		c := &w.cursors[i]
		if !c.full && !c.end {
			if err := c.fill(leaves, budget); err != nil {
				return nil, err
			}
			if !c.full && !c.end {
				return nil, nil
			}
		}
		if c.full && (first == nil || c.run.compare(&c.head, &first.head) < 0) {
			first = c
		}
	}

	w.done = first == nil
	return first, nil
}

// take takes the row of a cursor: keeps it or passes over it, adds it to the
// page, or learns from it that there is more.
func (w *Walk) take(c *cursor) {
	switch rows := uint64(len(w.page.Rows)); {
	case w.fromFront:
		w.rows = append(w.rows, place{c.head.row, c.which})
		w.done = w.reached()
	case w.skip > 0:
		w.skip--
	case rows == w.limit:
		w.page.HasMore, w.done = true, true
	default:
		w.page.Rows = append(w.page.Rows, Row{c.head.view, c.head.row, w.offset + rows + 1})
	}
	c.full = false
}

// Page returns the page, once Step has reported it complete.
func (w *Walk) Page() Page {
	if !w.fromFront {
		return w.page
	}
	n := uint64(len(w.rows))
	from, to := min(w.offset, n), min(w.offset+w.limit, n)
	page := Page{Rows: make([]Row, 0, to-from), HasMore: w.reached()}
	for i, p := range w.rows[from:to] {
		row := Row{w.search.runs[p.run].view, p.row, w.offset + uint64(i) + 1}
		page.Rows = append(page.Rows, row)
	}
	return page
}
