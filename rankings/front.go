package rankings

// front is the first rows of a search in merged order, as far as a walk has read
// them, and cursors that stand after them. It is immutable: a walk that continues
// there makes a longer one.
type front struct {
	rows    []runRow
	cursors []cursor // nil: no row was read
}

// runRow is a row of one of the search's runs.
type runRow struct{ row, run uint32 }

// nearLeaves is how many leaves, some 10 µs each, a walk reads to make the front
// longer instead of seeking over them: later walks then need not read them.
const nearLeaves = 32

// isNear reports whether at most nearLeaves stand between the front and cursors.
func (f *front) isNear(cursors []cursor) bool {
	leaves := 0
	for i := range cursors {
		leaves += cursors[i].leaf
		if f.cursors != nil {
			leaves -= f.cursors[i].leaf
		}
	}
	return leaves <= nearLeaves
}

// resumeFront makes the walk begin where the front of its search ends.
func (w *Walk) resumeFront() {
	f := &w.search.front
	w.fromFront, w.rows = true, f.rows[:len(f.rows):len(f.rows)]
	w.cursors = w.search.cursors()
	for i := range f.cursors {
		batch := w.cursors[i].batch // the walk's own
		w.cursors[i] = f.cursors[i]
		w.cursors[i].batch = batch
	}
	w.done = w.pageComplete()
}

// pageComplete reports whether the rows include the page and one more.
func (w *Walk) pageComplete() bool { return uint64(len(w.rows)) > w.offset+w.limit }

// Search returns the search with the walk's rows as its front, 8 bytes a row, if
// the walk started at the front and made it longer. A walk to a page within the
// front reads nothing.
func (w *Walk) Search() *Search {
	if len(w.rows) <= len(w.search.front.rows) {
		return w.search
	}

	// The cursors must not keep leaves in memory.
	for i := range w.cursors {
		w.cursors[i].ids, w.cursors[i].loadedLeaf, w.cursors[i].batch = nil, -1, nil
	}
	return &Search{runs: w.search.runs, front: front{w.rows, w.cursors}, found: w.search.found}
}
