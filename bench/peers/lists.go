package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"

	"tidemark/rankings"
	"tidemark/rankings/market"
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
func (l list) name() string {
	kind := "default"
	if l.every {
		kind = "every"
	}
	return fmt.Sprintf("%s:%d:%s", kind, l.chain, l.sort)
}

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

// columns are all rows without their bodies.
type columns struct {
	chains []uint32 // that there are
	rows   []row
}

// readColumns reads a file that export wrote.
func readColumns(path string) (*columns, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read rows: %w", err)
	}
	defer file.Close()
	c := new(columns)
	in := newRowReader(file)
	for in.next() {
		c.rows = append(c.rows, in.row)
		if n := len(c.chains); n == 0 || c.chains[n-1] != in.row.chain {
			c.chains = append(c.chains, in.row.chain)
		}
	}
	return c, in.err
}

// place is a row in an order.
type place struct {
	score float64
	row   uint32
}

// sorted returns the rows of a list in their order.
func (c *columns) sorted(l list) []place {
	need := l.needs()
	var places []place
	for i := range c.rows {
		r := &c.rows[i]
		if r.flags.has(need) && (l.chain == 0 || l.chain == r.chain) {
			places = append(places, place{r.scores[l.sort], uint32(i)})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.score != b.score {
			return cmp.Compare(a.score, b.score)
		}
		return cmp.Compare(a.row, b.row)
	})
	return places
}

// descending is the score of a value where the greatest comes first.
func descending(x float64) float64 {
	if !market.Known(x) {
		return math.Inf(1)
	}
	return 0 - x // never -0
}
