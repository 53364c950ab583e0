package rankings

import (
	"math"

	"tidemark/rankings/block"
)

// filter is what the rows of one run must be. It can test a row, and give 64
// of them at once as far as sets say.
type filter struct {
	n     uint32 // rows of the table
	masks []mask
	// Unless nil, the group of a row must be a member of groups.
	groups *block.Bitmap
	group  []uint32
	// If above 0, the value of an open position must reach the floor.
	floor float64
	value []float64 // by place among the members of open
	open  *block.Bitmap

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

// only narrows the work to a list that has every row that can still match.
func (f *filter) only(rows []uint32) {
	if !f.listed || len(rows) < len(f.among) {
		f.listed, f.among = true, rows
	}
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

// match reports whether the row passes.
func (f *filter) match(row uint32) bool {
	for _, m := range f.masks {
		if m.set.Has(row) == m.outside {
			return false
		}
	}
	return f.grouped(row) && (f.floor <= 0 || f.worth(f.open.Rank(row))) && f.test(row)
}

// grouped reports whether the row's group is admitted.
func (f *filter) grouped(row uint32) bool { return f.groups == nil || f.groups.Has(f.group[row]) }

// worth reports whether the position at that place reaches the floor.
func (f *filter) worth(place uint32) bool { return f.value[place] >= f.floor }

// test applies the checks.
func (f *filter) test(row uint32) bool {
	for _, check := range f.checks {
		if !check(row) {
			return false
		}
	}
	return true
}

// IsFiltered reports whether the question has filters by which no view counts
// its rows beforehand, so that what was once found of them is worth keeping.
func (q *PositionQuestion) IsFiltered() bool {
	return !q.isDefault() && !q.isOpen() || q.hasClosedValues()
}

// hasClosedValues reports whether the question ranks closed positions by their
// value: 0, or unknown in a quarantined pool, of which no order keeps track.
func (q *PositionQuestion) hasClosedValues() bool {
	return q.Sort == ByUnderlyingValue && q.Status != Active
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

	if q.NoSuchID || q.MinValueUsd > 0 && id.ofClosed() {
		f.none()
		return f
	}

	f.floor, f.value, f.open = q.MinValueUsd, c.value, c.open
	q.filterPool(f, c)
	q.filterLists(f, v)
	return f
}

// none lets no row match.
func (f *filter) none() {
	f.only(nil)
	f.check(func(uint32) bool { return false })
}

// filterPool filters by what the pool of a position is. An unknown TVL, which
// is no number, is below every floor.
func (q *PositionQuestion) filterPool(f *filter, c *columns) {
	floor := q.MinPoolTVLUsd
	switch {
	case floor == DefaultMinPoolTVLUsd && !q.IncludeRisky:
		f.in(c.standard)
		return
	case floor > 0:
		f.groups = atLeast(c.tvl, floor)
		if !q.IncludeRisky {
			for w, safe := range c.safe.Words() {
				f.groups.Words()[w] &= safe
			}
		}
	case !q.IncludeRisky:
		f.groups = c.safe
	default:
		return
	}

	f.group = c.pool
	if rows, few := c.byPool.ofGroups(f.groups, fewOf(f.n)); few {
		f.only(rows)
	}
}

// atLeast returns the places of values that reach a floor, a nanosecond each:
// a word at a time, so that the outcome of no test has to be guessed.
func atLeast(values []float64, floor float64) *block.Bitmap {
	set := block.NewBitmap(uint32(len(values)))
	for w := range set.Words() {
		word := uint64(0)
		for i, value := range values[w*64 : min(w*64+64, len(values))] {
			bit := uint64(0)
			if value >= floor {
				bit = 1
			}
			word |= bit << (i & 63)
		}

		set.Words()[w] = word
	}
	return set
}

// fewOf is how many of n rows are worth to be listed: to look at each where it
// stands costs some ten times as much as in sequence, and lists have closed
// positions too.
func fewOf(n uint32) int { return int(n / 32) }

// filterLists filters by what has a list of its positions.
func (q *PositionQuestion) filterLists(f *filter, v *View) {
	c := v.columns
	if q.Owner != nil {
		if owner, found := v.owner(q.Owner); found {
			f.only(c.byOwner.of(owner))
			f.check(func(row uint32) bool { return c.owner[row] == owner })
		} else {
			f.none()
		}
	}

	if q.Pool != nil {
		if pool, found := v.Pool(*q.Pool); found {
			f.only(c.byPool.of(pool))
			f.check(func(row uint32) bool { return c.pool[row] == pool })
		} else {
			f.none()
		}
	}

	if q.ID != nil {
		if position, found := v.Position(*q.ID); found {
			f.only([]uint32{position})
			f.check(func(row uint32) bool { return row == position })
		} else {
			f.none()
		}
	}
}

// IsFiltered reports the same as that of PositionQuestion.
func (q *PoolQuestion) IsFiltered() bool { return !q.isDefault() && !q.isOpen() }

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
		f.in(atLeast(c.tvl, q.MinTVLUsd))
	}
	if q.Search != "" {
		f.searched(v, q.Search)
	}
	return f
}
