package rankings

import "tidemark/rankings/block"

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
