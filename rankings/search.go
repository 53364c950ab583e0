package rankings

import (
	"math"
	"slices"

	"tidemark/rankings/block"
)

// Search is one filter and one sort over fixed views: a question without its
// page. It is immutable, safe to share, and keeps its views in memory.
//
// A search may or may not know where its rows are. If Total is known, any page
// is a seek. If not, Walk reads from the front, and the search that it returns
// remembers the rows it read. Count finds the total up to a limit, and Select
// finds the rank of every row; both return a search that knows more.
type Search struct {
	runs  []run // of which all know their sums, or none
	front front
	// found are the rows of each run, ascending, of a search that was counted. Its runs
	// do not know their sums until a walk places the rows. nil of other searches.
	found [][]uint32
}

// SearchPositions prepares a question over views, one a chain; q.Chain and
// q.Page are not read. The search knows its total if the filters are the default
// ones or none, or if few rows can match, unless it ranks closed positions of a
// quarantined pool by value. A view without columns answers only the first two
// kinds; for others the error is ErrWarming.
func SearchPositions(views []*View, q *PositionQuestion) (*Search, error) {
	asked := *q
	s := &Search{}
	split := asked.hasClosedValues() && slices.ContainsFunc(views, (*View).hasQuarantined)
	for _, v := range views {
		if asked.Status != Inactive {
			s.addRun(v, openOrder(asked.Sort), asked.direction(openOrder(asked.Sort)))
		}
		if asked.Status != Active && asked.Sort > ByROI {
			s.addRun(v, closedOrder(asked.Sort), asked.direction(closedOrder(asked.Sort)))
		}
		if split {
			s.addRun(v, closedOrder(asked.Sort), idOnlyUnknown)
		}
	}

	for i := range s.runs {
		r := &s.runs[i]
		switch {
		case split && !r.view.Warm():
			return nil, ErrWarming
		case split:
			r.useFilter(asked.filter(r.view, r.id))
			r.splitQuarantined()
		case asked.isOpen():
			r.useAllRows()
		case asked.isDefault():
			r.useDefaultFilters(func(row uint32) bool {
				return isStandard(r.view.State, r.view.State.Positions.At(row).Pool)
			})
		case !r.view.Warm():
			return nil, ErrWarming
		default:
			r.useFilter(asked.filter(r.view, r.id))
		}
	}

	return s.countFew(), nil
}

// SearchPools prepares a question over views; see SearchPositions.
func SearchPools(views []*View, q *PoolQuestion) (*Search, error) {
	asked := *q
	s := &Search{}
	for _, v := range views {
		s.addRun(v, poolTVL+orderID(asked.Sort), forward)
	}

	for i := range s.runs {
		r := &s.runs[i]
		switch {
		case asked.isOpen():
			r.useAllRows()
		case asked.isDefault():
			r.useDefaultFilters(func(row uint32) bool { return !isRisky(r.view.State, row) })
		case !r.view.Warm():
			return nil, ErrWarming
		default:
			r.useFilter(asked.filter(r.view))
		}
	}

	return s, nil
}

// openOrder returns the order of open positions for a sort.
func openOrder(sort PositionSort) orderID {
	if sort == ByIDDescending {
		return openID
	}
	return openAPR + orderID(sort)
}

// closedOrder returns the order of closed positions for a sort. All of them have
// an underlying value of 0, so that sort leaves them in order of id.
func closedOrder(sort PositionSort) orderID {
	switch sort {
	case ByPnl:
		return closedPnl
	case ByAge:
		return closedAge
	}
	return closedID
}

// direction returns how the question reads an order.
func (q *PositionQuestion) direction(id orderID) direction {
	switch {
	case q.Sort == ByIDDescending:
		return backward
	case q.Sort == ByUnderlyingValue && id == closedID:
		return idOnly
	}
	return forward
}

func (s *Search) addRun(v *View, id orderID, how direction) {
	s.runs = append(s.runs, run{view: v, id: id, order: &v.orders[id], direction: how})
}

// useAllRows makes every row match.
func (r *run) useAllRows() { r.sums = r.order.Rows }

// useDefaultFilters makes the rows match that the default filters admit. Their
// counts are in the directory. A view without columns has no bitmap of them, and
// tests its records instead.
func (r *run) useDefaultFilters(records func(row uint32) bool) {
	r.sums, r.match = r.order.Pass, records
	if r.view.Warm() {
		r.bits = r.view.columns.passingByRank[r.id]
	}
}

// splitQuarantined separates the closed rows of quarantined pools, whose value is
// unknown, from the others, whose value is 0.
func (r *run) splitQuarantined() {
	if c := r.view.columns; r.direction >= idOnly {
		r.filter.addTest(func(row uint32) bool {
			return c.quarantined.Has(c.pool.At(row)) == (r.direction == idOnlyUnknown)
		})
	}
}

// useFilter makes the rows match that pass f; their number is not known.
func (r *run) useFilter(f *filter) { r.filter, r.match = f, f.match }

// fewRows is up to how many candidates a search counts its rows at once, which
// takes some 50 µs.
const fewRows = 4096

// countFew counts the rows at once if all filters have lists of candidates with
// at most fewRows rows in all.
func (s *Search) countFew() *Search {
	rows, listed := 0, false
	for i := range s.runs {
		if f := s.runs[i].filter; f != nil {
			if listed = f.listed; !listed {
				return s
			}
			rows += len(f.candidates)
		}
	}

	if !listed || rows > fewRows {
		return s
	}

	c := s.Count(fewRows)
	for !c.Step(fewRows) {
	}
	return c.Search()
}

// Total returns the number of rows, if it is known.
func (s *Search) Total() (n uint64, known bool) {
	if s.found != nil {
		for _, rows := range s.found {
			n += uint64(len(rows))
		}
		return n, true
	}

	for i := range s.runs {
		if s.runs[i].sums == nil {
			return 0, false
		}
		n += uint64(s.runs[i].total())
	}
	return n, true
}

// Unread returns how many rows must be tested to know the total.
func (s *Search) Unread() (rows int) {
	if s.found != nil {
		return 0
	}

	for i := range s.runs {
		switch r := &s.runs[i]; {
		case r.sums != nil:
		case r.filter.listed:
			rows += len(r.filter.candidates)
		default:
			rows += int(r.filter.n)
		}
	}
	return rows
}

// ranked reports whether all runs are ranked; see run.ranked.
func (s *Search) ranked() bool {
	for i := range s.runs {
		if !s.runs[i].ranked() {
			return false
		}
	}
	return true
}

// Walk starts to find the rows from offset on, at most limit of them.
func (s *Search) Walk(offset, limit uint64) *Walk {
	return &Walk{search: s, offset: offset, limit: limit}
}

// cursors returns a cursor at the front of each run.
func (s *Search) cursors() []cursor {
	cursors := make([]cursor, len(s.runs))
	for i := range s.runs {
		cursors[i] = cursor{
			run: &s.runs[i], runIndex: uint32(i), alone: len(s.runs) == 1, loadedLeaf: -1,
		}
		if s.runs[i].ranked() {
			cursors[i].batch = new(keyBatch)
		}
	}
	return cursors
}

// Page runs a whole Walk without a budget. It is cheap if Total is known.
func (s *Search) Page(leaves LeafReader, offset, limit uint64) (Page, error) {
	return s.PageAfter(leaves, nil, offset, limit)
}

// PageAfter is Page, and cheaper if another page of an equal search, over the same views,
// ended at the offset: it begins where that ended, without a seek.
func (s *Search) PageAfter(leaves LeafReader, end End, offset, limit uint64) (Page, error) {
	w := s.Walk(offset, limit)
	w.begin = end
	for {
		done, err := w.Step(leaves, math.MaxInt)
		if done || err != nil {
			return w.Page(), err
		}
	}
}

// sumBits returns the members of bits, a set by rank, before each leaf of an
// order, and their number as the last entry.
func sumBits(o *block.Order, bits *block.Bitmap) []uint32 {
	sums := make([]uint32, 0, len(o.Rows))
	for _, rows := range o.Rows {
		sums = append(sums, bits.Rank(rows))
	}
	return sums
}
