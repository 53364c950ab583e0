package rankings

import (
	"math"
	"slices"

	"tidemark/rankings/block"
)

// Search is one filter and one sort over fixed views: what a question asks,
// less its page. It is immutable, may be shared, and holds its views.
//
// A search knows more or less of where its rows are. Total says whether it
// knows how many there are; then any page is a seek. If not, the first pages
// can be walked to, and a Walk knows the search with what it passed; a Count
// finds the number up to a limit, and a Selection finds everything.
type Search struct {
	runs  []run
	front front
}

// SearchPositions prepares a question over views, one a chain, of which the
// caller has left out what is unavailable. It knows its total when the filters
// are the default ones, or none, or leave few rows to look at, and no pool of
// the closed positions that it ranks by value is quarantined. A view without
// columns answers only the first two kinds, else ErrWarming.
func SearchPositions(views []*View, q *PositionQuestion) (*Search, error) {
	asked := *q
	s := &Search{}
	split := asked.hasClosedValues() && slices.ContainsFunc(views, (*View).hasQuarantined)
	for _, v := range views {
		if asked.Status != Inactive {
			s.add(v, openOrder(asked.Sort), asked.reading(openOrder(asked.Sort)))
		}
		if asked.Status != Active && asked.Sort > ByROI {
			s.add(v, closedOrder(asked.Sort), asked.reading(closedOrder(asked.Sort)))
		}
		if split {
			s.add(v, closedOrder(asked.Sort), levelUnknown)
		}
	}

	for i := range s.runs {
		r := &s.runs[i]
		switch {
		case split && !r.view.Warm():
			return nil, ErrWarming
		case split:
			r.admit(asked.filter(r.view, r.id))
			r.splitQuarantined()
		case asked.isOpen():
			r.admitAll()
		case asked.isDefault():
			r.admitDefault(func(row uint32) bool {
				return isStandard(r.view.State, r.view.State.Positions.At(row).Pool)
			})
		case !r.view.Warm():
			return nil, ErrWarming
		default:
			r.admit(asked.filter(r.view, r.id))
		}
	}

	return s.countFew(), nil
}

// SearchPools prepares a question over views, as SearchPositions.
func SearchPools(views []*View, q *PoolQuestion) (*Search, error) {
	asked := *q
	s := &Search{}
	for _, v := range views {
		s.add(v, poolTVL+orderID(asked.Sort), forward)
	}

	for i := range s.runs {
		r := &s.runs[i]
		switch {
		case asked.isOpen():
			r.admitAll()
		case asked.isDefault():
			r.admitDefault(func(row uint32) bool { return !isRisky(r.view.State, row) })
		case !r.view.Warm():
			return nil, ErrWarming
		default:
			r.admit(asked.filter(r.view))
		}
	}

	return s, nil
}

func openOrder(sort PositionSort) orderID {
	if sort == ByIDDescending {
		return openID
	}
	return openAPR + orderID(sort)
}

// closedOrder returns the order of closed positions. They are worth nothing
// any more, so that by underlying value they stand by id.
func closedOrder(sort PositionSort) orderID {
	switch sort {
	case ByPnl:
		return closedPnl
	case ByAge:
		return closedAge
	}
	return closedID
}

// reading returns how the sort reads an order.
func (q *PositionQuestion) reading(id orderID) reading {
	switch {
	case q.Sort == ByIDDescending:
		return backward
	case q.Sort == ByUnderlyingValue && id == closedID:
		return level
	}
	return forward
}

func (s *Search) add(v *View, id orderID, how reading) {
	s.runs = append(s.runs, run{view: v, id: id, order: &v.orders[id], reading: how})
}

// admitAll lets every row match.
func (r *run) admitAll() { r.sums = r.order.Rows }

// admitDefault lets the rows match that the default filters admit. A view
// without columns counts them by its directory and asks the records.
func (r *run) admitDefault(records func(row uint32) bool) {
	r.sums, r.match = r.order.Pass, records
	if r.view.Warm() {
		r.bits = r.view.columns.passing[r.id]
	}
}

// splitQuarantined parts the closed rows of quarantined pools, whose value is
// unknown, from the others, whose value is 0.
func (r *run) splitQuarantined() {
	if c := r.view.columns; r.reading >= level {
		r.filter.check(func(row uint32) bool {
			return c.quarantined.Has(c.pool[row]) == (r.reading == levelUnknown)
		})
	}
}

// admit lets the rows match that pass a filter. How many is not known.
func (r *run) admit(f *filter) { r.filter, r.match = f, f.match }

// fewRows is how many rows a question may have to look at for its count to be
// made at once: some 50 µs.
const fewRows = 4096

// countFew counts what is listed and short.
func (s *Search) countFew() *Search {
	rows, listed := 0, false
	for i := range s.runs {
		if f := s.runs[i].filter; f != nil {
			if listed = f.listed; !listed {
				return s
			}
			rows += len(f.among)
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

// Total returns how many rows there are, if that is known.
func (s *Search) Total() (n uint64, known bool) {
	for i := range s.runs {
		if s.runs[i].sums == nil {
			return 0, false
		}
		n += uint64(s.runs[i].total())
	}
	return n, true
}

// ranked reports whether the rank of every matching row is known.
func (s *Search) ranked() bool {
	for i := range s.runs {
		if !s.runs[i].ranked() {
			return false
		}
	}
	return true
}

// Walk starts on the way to the rows from offset on, at most limit of them.
func (s *Search) Walk(offset, limit uint64) *Walk {
	return &Walk{search: s, offset: offset, limit: limit}
}

// cursors returns one for each run, at its front.
func (s *Search) cursors() []cursor {
	cursors := make([]cursor, len(s.runs))
	for i := range s.runs {
		cursors[i] = cursor{run: &s.runs[i], which: uint32(i), loaded: -1}
	}
	return cursors
}

// Page walks the whole way at once: a seek when Total is known.
func (s *Search) Page(leaves LeafReader, offset, limit uint64) (Page, error) {
	w := s.Walk(offset, limit)
	for {
		done, err := w.Step(leaves, math.MaxInt)
		if done || err != nil {
			return w.Page(), err
		}
	}
}

// sumBits returns how many of bits stand before each leaf of an order.
func sumBits(o *block.Order, bits *block.Bitmap) []uint32 {
	sums := make([]uint32, 0, len(o.Rows))
	for _, rows := range o.Rows {
		sums = append(sums, bits.Rank(rows))
	}
	return sums
}
