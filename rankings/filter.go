package rankings

import (
	"math"

	"tidemark/rankings/block"
)

// filter is what the rows of one run must be. It can test a row, and give 64
// of them at once as far as sets say.
type filter struct {
	n      uint32 // rows of the table
	masks  []mask
	checks []func(row uint32) bool
	// If listed, every row that can match is among these.
	listed bool
	among  []uint32
}

// mask is a set of rows, or the rows outside it.
type mask struct {
	set     *block.Bitmap
	outside bool
}

// in narrows the filter to the members of set.
func (f *filter) in(set *block.Bitmap) { f.masks = append(f.masks, mask{set, false}) }

// notIn narrows the filter to rows outside set.
func (f *filter) notIn(set *block.Bitmap) { f.masks = append(f.masks, mask{set, true}) }

// check narrows the filter by a test.
func (f *filter) check(test func(row uint32) bool) { f.checks = append(f.checks, test) }

// only narrows the filter by a test that no row outside the list can pass.
func (f *filter) only(rows []uint32, test func(row uint32) bool) {
	if !f.listed || len(rows) < len(f.among) {
		f.listed, f.among = true, rows
	}
	f.check(test)
}

// words returns how many times 64 rows there are.
func (f *filter) words() int { return int((uint64(f.n) + 63) / 64) }

// word returns the rows from 64*w on that the masks admit, low bit first.
func (f *filter) word(w int) uint64 {
	word := uint64(math.MaxUint64)
	if rest := f.n - uint32(w)*64; rest < 64 {
		word = 1<<rest - 1
	}
	for _, m := range f.masks {
		if bits := m.set.Words()[w]; m.outside {
			word &^= bits
		} else {
			word &= bits
		}
	}
	return word
}

// test applies the checks.
func (f *filter) test(row uint32) bool {
	for _, check := range f.checks {
		if !check(row) {
			return false
		}
	}
	return true
}

// match reports whether the row passes.
func (f *filter) match(row uint32) bool {
	for _, m := range f.masks {
		if m.set.Has(row) == m.outside {
			return false
		}
	}
	return f.test(row)
}

// isDefault reports whether the filters, status aside, are the default ones.
func (q *PositionQuestion) isDefault() bool {
	return q.MinPoolTVLUsd == DefaultMinPoolTVLUsd && !q.IncludeRisky && !q.narrows()
}

// isOpen reports whether nothing, status aside, is filtered.
func (q *PositionQuestion) isOpen() bool {
	return q.MinPoolTVLUsd <= 0 && q.IncludeRisky && !q.narrows()
}

// narrows reports whether a filter is set that the default does not have.
func (q *PositionQuestion) narrows() bool {
	return q.Range != AnyRange || q.Owner != nil || q.Pool != nil || q.ID != nil ||
		q.NoSuchID || q.MinValueUsd > 0
}

// filter returns the question's filter over a warm view, for an order.
func (q *PositionQuestion) filter(v *View, id orderID) *filter {
	c := v.columns
	f := &filter{n: v.State.Positions.Len()}
	switch {
	case id.onlyValued():
		f.in(c.valued)
	case id.ofClosed():
		f.notIn(c.open)
	default:
		f.in(c.open)
	}
	switch q.Range {
	case InRange:
		f.in(c.inRange)
	case OutOfRange:
		f.notIn(c.inRange)
	}
	q.checkPool(f, c)
	if q.MinValueUsd > 0 {
		f.check(func(row uint32) bool { return c.value[row] >= q.MinValueUsd })
	}
	q.lists(f, v)
	return f
}

// checkPool filters by what the pool of a position is. An unknown TVL, which
// is no number, is below every floor.
func (q *PositionQuestion) checkPool(f *filter, c *columns) {
	floor := q.MinPoolTVLUsd
	switch {
	case floor == DefaultMinPoolTVLUsd && !q.IncludeRisky:
		f.in(c.standard)
	case floor > 0 && !q.IncludeRisky:
		f.check(func(row uint32) bool { return c.tvl[c.pool[row]] >= floor && c.safe.Has(c.pool[row]) })
	case floor > 0:
		f.check(func(row uint32) bool { return c.tvl[c.pool[row]] >= floor })
	case !q.IncludeRisky:
		f.check(func(row uint32) bool { return c.safe.Has(c.pool[row]) })
	}
}

// lists filters by what has a list of its positions. What the view does not
// know has an empty one.
func (q *PositionQuestion) lists(f *filter, v *View) {
	c := v.columns
	if q.Owner != nil {
		var rows []uint32
		owner, found := v.owner(q.Owner)
		if found {
			rows = c.byOwner.of(owner)
		}
		f.only(rows, func(row uint32) bool { return found && c.owner[row] == owner })
	}
	if q.Pool != nil {
		var rows []uint32
		pool, found := v.Pool(*q.Pool)
		if found {
			rows = c.byPool.of(pool)
		}
		f.only(rows, func(row uint32) bool { return found && c.pool[row] == pool })
	}
	if q.ID != nil {
		var rows []uint32
		position, found := v.Position(*q.ID)
		if found {
			rows = []uint32{position}
		}
		f.only(rows, func(row uint32) bool { return found && row == position })
	}
	if q.NoSuchID {
		f.only(nil, func(uint32) bool { return false })
	}
}

// isDefault reports whether the filters are the default ones.
func (q *PoolQuestion) isDefault() bool {
	return q.MinTVLUsd <= 0 && q.Search == "" && !q.IncludeRisky
}

// isOpen reports whether nothing is filtered.
func (q *PoolQuestion) isOpen() bool {
	return q.MinTVLUsd <= 0 && q.Search == "" && q.IncludeRisky
}

// filter returns the question's filter over a warm view.
func (q *PoolQuestion) filter(v *View) *filter {
	c := v.columns
	f := &filter{n: v.State.Pools.Len()}
	if !q.IncludeRisky && q.Search == "" {
		f.in(c.safe)
	}
	if q.MinTVLUsd > 0 {
		f.check(func(row uint32) bool { return c.tvl[row] >= q.MinTVLUsd })
	}
	if q.Search != "" {
		f.check(newFinder(v, q.Search).finds)
	}
	return f
}
