package rankings

import (
	"tidemark/rankings/block"
	"tidemark/rankings/index"
)

// filter is the condition for the rows of one run. It can test a single row, and
// apply its masks to 64 rows at once.
type filter struct {
	n     uint32 // rows of the table
	masks []mask

	// Unless groups is nil, it must contain the group of a row.
	groups *block.Bitmap
	group  *index.Column[uint32]

	// If floor is above 0, the value of an open position must reach it.
	floor float64
	value []float64 // by place among the members of open
	open  *block.Bitmap

	tests []func(row uint32) bool

	// If listed, every row that can match is one of the candidates.
	listed     bool
	candidates []uint32
}

// mask is a set of rows, or the rows outside it.
type mask struct {
	set     *block.Bitmap
	outside bool
}

// require restricts the filter to members of set.
func (f *filter) require(set *block.Bitmap) { f.masks = append(f.masks, mask{set, false}) }

// exclude restricts the filter to rows outside set.
func (f *filter) exclude(set *block.Bitmap) { f.masks = append(f.masks, mask{set, true}) }

// addTest restricts the filter to rows that pass a test.
func (f *filter) addTest(test func(row uint32) bool) { f.tests = append(f.tests, test) }

// limitTo notes a list of candidates that includes every row that can match.
// The shortest list is used.
func (f *filter) limitTo(rows []uint32) {
	if !f.listed || len(rows) < len(f.candidates) {
		f.listed, f.candidates = true, rows
	}
}

// wordCount returns the number of words of 64 rows.
func (f *filter) wordCount() int { return int((uint64(f.n) + 63) / 64) }

// maskWord returns which of the 64 rows from 64*w on pass the masks, low bit
// first.
func (f *filter) maskWord(w int) uint64 {
	word := uint64(1)<<(f.n-uint32(w)*64) - 1 // from 64 rows on, 1<<n is 0 and the word is all ones
	for _, m := range f.masks {
		if bits := m.set.Words()[w]; m.outside {
			word &^= bits
		} else {
			word &= bits
		}
	}
	return word
}

// match reports whether a row passes.
func (f *filter) match(row uint32) bool {
	for _, m := range f.masks {
		if m.set.Has(row) == m.outside {
			return false
		}
	}

	return f.groupAllowed(row) && (f.floor <= 0 || f.reachesFloor(f.open.Rank(row))) &&
		f.passesTests(row)
}

// groupAllowed reports whether groups contains the row's group.
func (f *filter) groupAllowed(row uint32) bool {
	return f.groups == nil || f.groups.Has(f.group.At(row))
}

// reachesFloor reports whether the open position at a place reaches the floor.
func (f *filter) reachesFloor(place uint32) bool { return f.value[place] >= f.floor }

// passesTests reports whether a row passes every test.
func (f *filter) passesTests(row uint32) bool {
	for _, check := range f.tests {
		if !check(row) {
			return false
		}
	}
	return true
}

// IsFiltered reports whether no view counts the rows of the question in advance,
// so that a search that has found some of them is worth keeping.
func (q *PositionQuestion) IsFiltered() bool {
	return !q.isDefault() && !q.isOpen() || q.hasClosedValues()
}

// hasClosedValues reports whether the question ranks closed positions by their
// value. That is 0, or unknown in a quarantined pool, which no order tells apart.
func (q *PositionQuestion) hasClosedValues() bool {
	return q.Sort == ByUnderlyingValue && q.Status != Active
}

// isDefault reports whether all filters but status are the default ones.
func (q *PositionQuestion) isDefault() bool {
	return q.MinPoolTVLUsd == DefaultMinPoolTVLUsd && !q.IncludeRisky && !q.hasFilter()
}

// isOpen reports whether nothing but status is filtered.
func (q *PositionQuestion) isOpen() bool {
	return q.MinPoolTVLUsd <= 0 && q.IncludeRisky && !q.hasFilter()
}

// hasFilter reports whether a filter is set that the default question leaves out.
func (q *PositionQuestion) hasFilter() bool {
	return q.Range != AnyRange || q.Owner != nil || q.Pool != nil || q.ID != nil ||
		q.NoSuchID || q.MinValueUsd > 0 || q.Key.IsSet()
}

// filter returns the question's filter for an order of a warm view.
func (q *PositionQuestion) filter(v *View, id orderID) *filter {
	c := v.columns
	f := &filter{n: v.State.Positions.Len()}
	switch {
	case id.onlyValued():
		f.require(c.valued)
	case id.ofClosed():
		f.exclude(c.open)
	default:
		f.require(c.open)
	}

	switch q.Range {
	case InRange:
		f.require(c.inRange)
	case OutOfRange:
		f.exclude(c.inRange)
	}

	if q.NoSuchID || q.MinValueUsd > 0 && id.ofClosed() {
		f.rejectAll()
		return f
	}

	f.floor, f.value, f.open = q.MinValueUsd, c.value, c.open
	q.filterPool(f, v)
	q.filterLists(f, v)
	return f
}

// rejectAll makes the filter reject every row.
func (f *filter) rejectAll() {
	f.limitTo(nil)
	f.addTest(func(uint32) bool { return false })
}

// filterPool filters by the TVL, the risk and the key of a position's pool. An
// unknown TVL is NaN, so it is below every floor above 0.
func (q *PositionQuestion) filterPool(f *filter, v *View) {
	c := v.columns
	standard := q.MinPoolTVLUsd == DefaultMinPoolTVLUsd && !q.IncludeRisky
	if standard {
		f.require(c.defaultPositions)
	}

	var sets []*block.Bitmap // of pools
	if !standard && q.MinPoolTVLUsd > 0 {
		sets = append(sets, atLeast(c.tvl, q.MinPoolTVLUsd))
	}
	if !standard && !q.IncludeRisky {
		sets = append(sets, c.safePools)
	}
	if sets = append(sets, q.Key.pools(v)...); len(sets) == 0 {
		return
	}

	f.groups, f.group = intersect(sets), &c.pool
	if rows, few := c.byPool.CandidatesOf(f.groups, maxListed(f.n)); few {
		f.limitTo(rows)
	}
}

// intersect returns the common members of sets, of which there is at least one.
func intersect(sets []*block.Bitmap) *block.Bitmap {
	if len(sets) == 1 {
		return sets[0]
	}

	all := block.NewBitmap(sets[0].Len())
	copy(all.Words(), sets[0].Words())
	for _, set := range sets[1:] {
		for w, word := range set.Words() {
			all.Words()[w] &= word
		}
	}
	return all
}

// atLeast returns the indexes of values that reach a floor, at about 1 ns a
// value: words are built without branches, so no comparison is mispredicted.
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

// maxListed is up to how many candidates of n rows a list is worth it. Reading a
// row out of sequence costs about ten times as much as in sequence, and lists
// include closed positions.
func maxListed(n uint32) int { return int(n / 32) }

// filterLists filters by owner, pool and id, which have lists of positions.
func (q *PositionQuestion) filterLists(f *filter, v *View) {
	c := v.columns
	if q.Owner != nil {
		if owner, found := v.owner(q.Owner); found {
			f.limitTo(c.byOwner.Candidates(owner))
			f.addTest(func(row uint32) bool { return c.owner.At(row) == owner })
		} else {
			f.rejectAll()
		}
	}

	if q.Pool != nil {
		if pool, found := v.Pool(*q.Pool); found {
			f.limitTo(c.byPool.Candidates(pool))
			f.addTest(func(row uint32) bool { return c.pool.At(row) == pool })
		} else {
			f.rejectAll()
		}
	}

	if q.ID != nil {
		if position, found := v.Position(*q.ID); found {
			f.limitTo([]uint32{position})
			f.addTest(func(row uint32) bool { return row == position })
		} else {
			f.rejectAll()
		}
	}
}
