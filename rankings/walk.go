package rankings

// Page is one page of rows of the views of one Search.
type Page struct {
	Rows    []Row
	HasMore bool // one more row follows the page
	End     End
}

// End is where a page ends: how many matching rows of each run of its search stand before
// that. It is nil if no row follows, or if the search would not find the next page by it.
type End []uint32

// Row is one row of a page: the index of a position or pool in View.State.
type Row struct {
	View  *View
	Index uint32
	Rank  uint64 // from 1, over all chains
}

// Walk finds one page of a Search in steps with a budget. It merges the runs up
// to one row past the page. It starts at the page's first row, if the search
// knows enough to seek there, and otherwise where earlier walks stopped.
type Walk struct {
	search        *Search
	cursors       []cursor
	offset, limit uint64
	begin         End      // where another page ended; nil: the offset is sought
	skip          uint64   // rows still to be skipped
	placing       *placing // nil unless the rows are being placed
	begun, done   bool
	fromFront     bool     // it started at the search's front
	rows          []runRow // if fromFront: all rows up to here
	page          Page     // otherwise
}

// Step tests about budget rows and reports whether the page is complete. The
// walk cannot be used after an error.
func (w *Walk) Step(leaves LeafReader, budget int) (done bool, err error) {
	if !w.begun {
		if !w.placeRows(&budget) {
			return false, nil
		}
		w.begun = true
		if err := w.seekOffset(leaves); err != nil {
			return false, err
		}
	}

	for !w.done {
		first, err := w.firstCursor(leaves, &budget)
		if err != nil || first == nil && !w.done {
			return false, err
		}
		if first != nil {
			w.takeRow(first)
		}
	}

	return true, nil
}

// placeRows places the rows of a counted search, if that is worth it, and reports whether
// it is done with that. The walk then goes on over the search that knows their places.
func (w *Walk) placeRows(budget *int) (done bool) {
	if w.placing == nil {
		total, _ := w.search.Total()
		if s := w.search; s.found == nil || w.offset >= total || !s.isWorthPlacing(w.offset+w.limit+1) {
			return true
		}
		w.placing = w.search.place()
	}

	if !w.placing.step(budget) {
		return false
	}
	w.search, w.placing = w.placing.placed, nil
	return true
}

// seekOffset moves the cursors as near to the offset as they get without testing
// rows.
func (w *Walk) seekOffset(leaves LeafReader) error {
	total, known := w.search.Total()
	switch {
	case known && w.offset >= total:
		w.done = true
		return nil
	case !known || w.search.found != nil:
		w.resumeFront()
		return nil
	}

	w.cursors = w.search.cursors()
	ranked := w.search.ranked()
	if ranked && w.search.endsAt(w.begin, w.offset) {
		for i, row := range w.begin {
			w.cursors[i].nextMatch = row
		}
		w.openPage(total)
		return nil
	}

	// First over whole leaves, which takes the directories only.
	w.skip = seekLeaves(w.cursors, w.offset)
	for i := range w.cursors {
		c := &w.cursors[i]
		c.nextMatch = c.run.rowsBefore(c.leaf)
	}

	// Near the front it is cheaper to continue there, and to keep the rows.
	if !ranked && w.search.front.isNear(w.cursors) {
		w.resumeFront()
		return nil
	}

	w.openPage(total)
	if !ranked {
		return nil // the rest of skip is read row by row
	}

	rest := w.skip
	w.skip = 0
	return seekRow(w.cursors, leaves, rest)
}

// openPage makes room for the rows of the page.
func (w *Walk) openPage(total uint64) {
	w.page.Rows = make([]Row, 0, min(w.limit, total-w.offset))
}

// firstCursor returns the cursor with the next row of the merged order. It
// returns nil when the budget is used up, and when no row is left, which ends
// the walk.
func (w *Walk) firstCursor(leaves LeafReader, budget *int) (*cursor, error) {
	var first *cursor
	for i := range w.cursors {
		c := &w.cursors[i]
		if !c.hasHead {
			if err := c.readNext(leaves, budget); err != nil {
				return nil, err
			}
			if !c.hasHead && !c.atEnd {
				return nil, nil
			}
		}
		if c.hasHead && (first == nil || c.run.compare(&c.head, &first.head) < 0) {
			first = c
		}
	}

	w.done = first == nil
	return first, nil
}

// takeRow consumes the row of a cursor: it skips it, adds it to the page, or
// notes that a row follows the page.
func (w *Walk) takeRow(c *cursor) {
	switch rows := uint64(len(w.page.Rows)); {
	case w.fromFront:
		w.rows = append(w.rows, runRow{c.head.row, c.runIndex})
		w.done = w.pageComplete()
	case w.skip > 0:
		w.skip--
	case rows == w.limit:
		w.page.HasMore, w.done = true, true
		return // the row is the next page's
	default:
		w.page.Rows = append(w.page.Rows, Row{c.head.view, c.head.row, w.offset + rows + 1})
	}

	c.hasHead = false
}

// Page returns the page, after Step has reported that it is complete.
func (w *Walk) Page() Page {
	if !w.fromFront {
		page := w.page
		page.End = w.end()
		return page
	}

	n := uint64(len(w.rows))
	from, to := min(w.offset, n), min(w.offset+w.limit, n)
	page := Page{Rows: make([]Row, 0, to-from), HasMore: w.pageComplete()}
	for i, p := range w.rows[from:to] {
		row := Row{w.search.runs[p.run].view, p.row, w.offset + uint64(i) + 1}
		page.Rows = append(page.Rows, row)
	}
	return page
}

// end returns where the page ends, for a search of which that is enough to go on.
func (w *Walk) end() End {
	if !w.page.HasMore || !w.search.ranked() {
		return nil
	}

	end := make(End, len(w.cursors))
	for i := range w.cursors {
		c := &w.cursors[i]
		if end[i] = c.nextMatch; c.hasHead {
			end[i]-- // it was read to be compared
		}
	}
	return end
}

// endsAt reports whether end can be that of so many rows of the search.
func (s *Search) endsAt(end End, rows uint64) bool {
	if len(end) != len(s.runs) {
		return false
	}

	sum := uint64(0)
	for i, n := range end {
		if n > s.runs[i].total() {
			return false
		}
		sum += uint64(n)
	}
	return sum == rows
}
