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

// Search is one filter and one sort over fixed views: what a question asks,
// less its page. It is immutable and holds its views.
//
// A search knows more or less of where its rows are. Total says whether it
// knows how many there are; then any page is a seek. If not, the first pages
// can be walked to, a Count finds the number up to a cap, and a Selection
// finds everything.
type Search struct{}

// SearchPositions prepares a question over the views, one a chain, of which
// the caller has left out what is unavailable. It fails with ErrWarming.
func SearchPositions(views []*View, q *PositionQuestion) (*Search, error) { return &Search{}, nil }

// SearchPools prepares a question over the views, as SearchPositions.
func SearchPools(views []*View, q *PoolQuestion) (*Search, error) { return &Search{}, nil }

// Total returns how many rows there are, if that is known.
func (s *Search) Total() (n uint64, known bool) { return 0, false }

// Walk starts on the way to the rows from offset on, at most limit of them.
func (s *Search) Walk(offset, limit uint64) *Walk { return &Walk{} }

// Page walks the whole way at once: a seek when Total is known.
func (s *Search) Page(leaves LeafReader, offset, limit uint64) (Page, error) { return Page{}, nil }

// Count starts to count the rows; it ends early beyond limit.
func (s *Search) Count(limit uint64) *Count { return &Count{} }

// Select starts to find every row.
func (s *Search) Select() *Selection { return &Selection{} }

// Walk finds one page of a Search, as far at a time as it is given budget.
type Walk struct{}

// Step goes on by about budget rows and reports whether the page is complete.
// After an error the walk is of no more use.
func (w *Walk) Step(leaves LeafReader, budget int) (done bool, err error) { return true, nil }

// Page returns the page, once Step has reported it complete.
func (w *Walk) Page() Page { return Page{} }

// Count counts the rows of a Search up to a limit.
type Count struct{}

// Step goes on by about budget rows and reports whether the count is complete.
func (c *Count) Step(budget int) (done bool) { return true }

// Rows returns the rows counted so far: at most limit + 1.
func (c *Count) Rows() uint64 { return 0 }

// Search returns the search, which knows its Total when the complete count
// was not beyond the limit.
func (c *Count) Search() *Search { return nil }

// Selection finds where every row of a Search stands.
type Selection struct{}

// Step goes on by about budget rows and reports whether the selection is
// complete. After an error the selection is of no more use.
func (s *Selection) Step(leaves LeafReader, budget int) (done bool, err error) { return true, nil }

// Search returns the search, which knows its Total and every row.
func (s *Selection) Search() *Search { return nil }

// Size returns the bytes that the finished selection holds beside its views.
func (s *Selection) Size() int { return 0 }
