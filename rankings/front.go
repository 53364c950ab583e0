package rankings

// front is the first rows of a search in their merged order, as a walk has
// passed them, and its cursors behind them. It never changes: a walk that goes
// on from there makes a longer one.
type front struct {
	rows    []place
	cursors []cursor // nil: nothing is passed
}

// place is a row of one of the search's runs.
type place struct{ row, run uint32 }

// nearLeaves is how many leaves a walk reads rather than seeks over, some 10 µs
// each, so that the front grows by them and no later walk has to.
const nearLeaves = 32

// isNear reports whether the front ends only a few leaves before cursors.
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

// goOn makes the walk begin where the front of its search ends.
func (w *Walk) goOn() {
	f := &w.search.front
	w.fromFront, w.rows = true, f.rows[:len(f.rows):len(f.rows)]
	w.cursors = w.search.cursors()
	copy(w.cursors, f.cursors)
	w.done = w.reached()
}

// reached reports whether the rows passed have the page and one more.
func (w *Walk) reached() bool { return uint64(len(w.rows)) > w.offset+w.limit }

// Search returns the search, which also knows the rows that the walk passed
// from the first one on, 8 bytes each: a walk to a page among them reads
// nothing.
func (w *Walk) Search() *Search {
	if len(w.rows) <= len(w.search.front.rows) {
		return w.search
	}
	for i := range w.cursors {
		w.cursors[i].ids, w.cursors[i].loaded = nil, -1
	}
	return &Search{runs: w.search.runs, front: front{w.rows, w.cursors}}
}
