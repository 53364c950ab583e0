package main

import (
	"cmp"
	"fmt"
	"slices"

	"tidemark/rankings"
)

// list is a ranking that is asked for without a filter of its own: an order of
// one chain or of all, of the rows that the default filters admit or of every
// one. A peer keeps one of each.
type list struct {
	every bool   // of all rows; else of those that the default filters admit
	chain uint32 // 0: all chains
	sort  rankings.PositionSort
}

// listOf returns the list that answers a question; false when it has a filter
// that is not kept.
func listOf(q *rankings.PositionQuestion) (list, bool) {
	l := list{chain: uint32(q.Chain), sort: q.Sort}
	narrow := q.Range != rankings.AnyRange || q.Owner != nil || q.Pool != nil || q.ID != nil ||
		q.NoSuchID || q.MinValueUsd > 0

	switch {
	case narrow:
		return l, false
	case q.Status == rankings.Active && q.MinPoolTVLUsd == rankings.DefaultMinPoolTVLUsd && !q.IncludeRisky:
		return l, true
	case q.Status == rankings.AnyStatus && q.MinPoolTVLUsd <= 0 && q.IncludeRisky && q.Chain == 0 &&
		!leavesOut(q.Sort):
		l.every = true
		return l, true
	}
	return l, false
}

// leavesOut reports whether an order has only positions with a value.
func leavesOut(s rankings.PositionSort) bool { return s <= rankings.ByROI }

// needs are the flags of the list's rows.
func (l list) needs() flags {
	switch {
	case l.every:
		return 0
	case leavesOut(l.sort):
		return isStandard | isValued
	}
	return isStandard | isOpen
}

// name tells lists apart.
func (l list) name() string { return fmt.Sprintf("%v:%d:%s", l.every, l.chain, l.sort) }

// lists returns all that are kept of some chains.
func lists(chains []uint32) (all []list) {
	for sort := range rankings.PositionSort(sortCount) {
		for _, chain := range append([]uint32{0}, chains...) {
			all = append(all, list{chain: chain, sort: sort})
		}
		if !leavesOut(sort) {
			all = append(all, list{every: true, sort: sort})
		}
	}
	return all
}

// place is a row in an order.
type place struct {
	score float64
	row   uint32
}

// sorted returns the rows of a list in their order.
func (c *corpus) sorted(l list) []place {
	need := l.needs()
	var places []place
	for i := range c.rows {
		r := &c.rows[i]
		if r.flags.has(need) && (l.chain == 0 || l.chain == r.chain) {
			places = append(places, place{r.scores[l.sort], uint32(i)})
		}
	}

	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.row, b.row))
	})
	return places
}

// marks make the n-th row of a list found without walking to it, in a database
// whose indexes do not count: every markEvery-th row of the list, so that a
// page begins at most so many behind one that is known. The total stands beside
// them: a count cache. Both are made anew with every refresh.
type marks struct {
	total uint64
	every []place
}

// markEvery is ten pages: a few microseconds to walk, and a mark takes 16
// bytes of memory for 200 rows.
const markEvery = 200

func markList(sorted []place) *marks {
	m := &marks{total: uint64(len(sorted))}
	for i := 0; i < len(sorted); i += markEvery {
		m.every = append(m.every, sorted[i])
	}
	return m
}

// before returns the last mark at or before an offset into the list, and how
// many rows lie between; false when the offset is at or behind the end.
func (m *marks) before(offset uint64) (from place, skip uint64, ok bool) {
	if m == nil || offset >= m.total {
		return place{}, 0, false
	}
	return m.every[offset/markEvery], offset % markEvery, true
}
