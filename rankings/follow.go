package rankings

import (
	"fmt"
	"math/bits"
	"slices"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// Follow returns the view of a generation that another node built from st. prev is the
// view of an earlier generation of the chain, or nil. The orders are those of the
// directory and of its leaves: Follow fills columns and sorts nothing. told are the hints
// of that node; without them it takes longer. Follow refuses a directory, a leaf or hints
// that do not fit st. pause is called as BuildPaced does.
func Follow(prev *View, st *market.State, gen uint64, directory []byte, leaves LeafReader,
	told []byte, pause func(),
) (*View, error) {
	v, err := Open(st, gen, directory)
	if err != nil {
		return nil, err
	}
	if prev != nil {
		v.keepPinned(prev)
	}

	h, err := v.readHints(told)
	if err != nil {
		return nil, fmt.Errorf("cannot follow generation %d of chain %d: %w", gen, st.Chain, err)
	}
	v.columns = buildColumns(prev, st, h, pause)
	if err := h.checkColumns(v.columns); err != nil {
		return nil, fmt.Errorf("cannot follow generation %d of chain %d: %w", gen, st.Chain, err)
	}

	v.columns.forgetChanged()
	v.columns.closedIDs, v.columns.openIDs = closedIDs{}, openIDs{} // which are not made here
	v.columns.poolOrders = poolOrders{}
	if prev != nil && prev.columns == nil {
		prev = nil
	}
	for id := range orderCount {
		f := newPassFinder(prev, v, id, h)
		if err := f.markLeaves(leaves, h, pause); err != nil {
			return nil, fmt.Errorf("cannot follow generation %d of chain %d: order %d: %w",
				gen, st.Chain, id, err)
		}
		v.columns.passingByRank[id] = f.passing
	}
	return v, nil
}

// passFinder finds, by rank, the rows of an order that the default filters admit. A
// leaf that prev has too is not read again, unless they admit other rows of it. Hints tell
// them of such leaves, and of those that the generation wrote.
type passFinder struct {
	view     *View
	id       orderID
	order    *block.Order
	standard *block.Bitmap // rows that the default filters admit
	bound    uint32        // of row numbers
	passing  *block.Bitmap // the result

	from   *block.Bitmap     // the result of the view before
	kept   map[uint64]uint32 // leaves of that view, by number: the rank of their first row
	turned []bool            // by leaf: it has a row that they admit now and did not before, or the reverse; nil: none
}

func newPassFinder(prev, v *View, id orderID, told *hints) *passFinder {
	f := &passFinder{view: v, id: id, order: &v.orders[id]}
	f.standard, f.bound = v.columns.standard(id), v.State.Positions.Len()
	if id.ofPools() {
		f.bound = v.State.Pools.Len()
	}
	f.passing = block.NewBitmap(f.order.Len())
	if prev == nil || !told.follows(prev) && !f.findTurned(prev.columns.standard(id)) {
		return f
	}
	f.from, f.kept = prev.columns.passingByRank[id], prev.leafRanks(id)
	return f
}

// standard returns the rows of an order that the default filters admit.
func (c *columns) standard(id orderID) *block.Bitmap {
	if id.ofPools() {
		return c.safePools
	}
	return c.defaultPositions
}

// findTurned finds the leaves with rows that are in one of two bitmaps and not in the
// other. To find the leaf of a row takes about a tenth of reading a leaf, so it reports
// false where reading them all is faster.
func (f *passFinder) findTurned(was *block.Bitmap) bool {
	const rowsPerLeaf = 8
	f.turned = make([]bool, f.order.Leaves())
	left := rowsPerLeaf * len(f.turned)

	old, n := was.Words(), min(was.Len(), f.standard.Len())
	for w, word := range f.standard.Words()[:min(len(old), len(f.standard.Words()))] {
		for rest := word ^ old[w]; rest != 0; rest &= rest - 1 {
			row := uint32(w*64 + bits.TrailingZeros64(rest))
			if row >= n || !f.canHave(row) {
				continue
			}
			if left--; left < 0 {
				return false
			}
			if i := f.id.leafOf(f.view, f.order, f.view.sortKey(f.id, row), row); i >= 0 {
				f.turned[i] = true
			}
		}
	}
	return true
}

// canHave reports whether a row has a key in the order.
func (f *passFinder) canHave(row uint32) bool {
	return f.id.ofPools() || f.view.columns.open.Has(row) != f.id.ofClosed()
}

func (f *passFinder) markLeaves(leaves LeafReader, told *hints, pause func()) error {
	for i, number := range f.order.Numbers {
		first, end := f.order.Rows[i], f.order.Rows[i+1]
		at, kept := f.kept[number]
		turned := told != nil && told.nextTurned()
		var passing *block.Bitmap // nil: nothing is told of the leaf
		var from uint32
		if turned || told != nil && block.LeafGeneration(number) == f.view.Generation {
			passing, from = told.nextPassing(end - first)
		}

		switch {
		case passing != nil && !turned:
			f.passing.CopyRange(first, passing, from, end-first)
		case turned && kept && f.turned == nil:
			f.copyLeaf(at, first, end)
			f.passing.XorRange(first, passing, from, end-first)
		case kept && (f.turned == nil || !f.turned[i]):
			f.copyLeaf(at, first, end)
		default:
			if err := f.readLeaf(leaves, i); err != nil {
				return err
			}
		}
		pause()
	}

	f.passing.Seal()
	for i := range f.order.Numbers {
		first, end := f.order.Rows[i], f.order.Rows[i+1]
		got, want := f.passing.Rank(end)-f.passing.Rank(first), f.order.Pass[i+1]-f.order.Pass[i]
		if got != want {
			return fmt.Errorf("the default filters admit %d rows of leaf %d; the directory says %d",
				got, i, want)
		}
	}
	return nil
}

// copyLeaf marks the rows of a leaf as they were at another rank.
func (f *passFinder) copyLeaf(at, first, end uint32) {
	f.passing.CopyRange(first, f.from, at, end-first)
}

// readLeaf marks the rows of the i-th leaf from its ids.
func (f *passFinder) readLeaf(leaves LeafReader, i int) error {
	first, end := f.order.Rows[i], f.order.Rows[i+1]
	ids, err := leaves.Leaf(f.view.State.Chain, f.order.Numbers[i])
	if err != nil {
		return err
	}
	if len(ids) != int(end-first) {
		return fmt.Errorf("leaf %d has %d rows; the directory has %d", i, len(ids), end-first)
	}
	if ids[0] != f.order.First[i] {
		return fmt.Errorf("leaf %d begins with row %d; the directory has %d", i, ids[0], f.order.First[i])
	}

	if top := slices.Max(ids); top >= f.bound {
		return fmt.Errorf("leaf %d has row %d; the table has %d rows", i, top, f.bound)
	}
	f.passing.SetWhere(first, ids, f.standard)
	return nil
}
