package rankings

import (
	"bytes"
	"cmp"
	"sort"

	"tidemark/rankings/block"
)

// run is one order of one chain as a search reads it: maybe backwards, maybe
// only the rows that pass a filter. A search merges one run or two a chain.
type run struct {
	view    *View
	id      orderID
	order   *block.Order
	reading reading
	filter  *filter               // over a warm view; nil when bits or sums came with it
	match   func(row uint32) bool // nil: every row
	// sums says how many matching rows stand before each leaf, the last entry
	// before the end; nil when that is not known. bits says by rank which
	// rows they are; nil when that is not known, or every row matches.
	sums []uint32
	bits *block.Bitmap
}

// reading is how the keys of a run follow from those of its order.
type reading uint8

const (
	forward      reading = iota
	backward             // last row first; no two rows have one key
	level                // by id only: the sort value of every row is 0
	levelUnknown         // by id only: the sort value of every row is unknown
)

// mark is a place in the total order of all rows: by key, chain, and id.
type mark struct {
	key  uint64
	view *View
	row  uint32
}

func (r *run) compare(a, b *mark) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	if a.view != b.view {
		return cmp.Compare(a.view.State.Chain, b.view.State.Chain)
	}
	return r.id.compareRows(a.view, a.row, b.row)
}

// compareRows compares two rows by id. Positions stand in that order.
func (o orderID) compareRows(v *View, a, b uint32) int {
	if o.ofPools() {
		return bytes.Compare(v.State.Pools.At(a).ID[:], v.State.Pools.At(b).ID[:])
	}
	return cmp.Compare(a, b)
}

// mark returns the place of a row.
func (r *run) mark(row uint32) mark {
	if r.reading >= level {
		return mark{r.read(0), r.view, row}
	}
	return mark{r.read(r.view.key(r.id, row)), r.view, row}
}

// read turns a key of the order into one of the run.
func (r *run) read(key uint64) uint64 {
	switch r.reading {
	case backward:
		return ^key
	case level:
		return descending(0)
	case levelUnknown:
		return unknownKey
	}
	return key
}

// Leaves are counted as the run reads them: the n-th of a backward run is the
// n-th from the end of its order.

// leaf returns the place in the order of the run's n-th leaf.
func (r *run) leaf(n int) int {
	if r.reading == backward {
		return r.order.Leaves() - 1 - n
	}
	return n
}

// before returns how many matching rows stand before the n-th leaf.
func (r *run) before(n int) uint32 {
	if r.reading == backward {
		return r.total() - r.sums[len(r.sums)-1-n]
	}
	return r.sums[n]
}

// total returns how many rows match.
func (r *run) total() uint32 { return r.sums[len(r.sums)-1] }

// fence returns a mark at or above every row before the n-th leaf and at or
// below every row from it on; n is neither the first leaf nor the end.
func (r *run) fence(n int) mark {
	if r.reading == backward {
		n-- // the last row that was read, which comes first in its leaf
	}
	at := r.leaf(n)
	return mark{r.read(r.order.Keys[at]), r.view, r.order.First[at]}
}

// reach returns the last leaf, after from, before which at most d more rows
// stand than before from, or from+1 if there is none.
func (r *run) reach(from int, d uint64) int {
	bound := uint64(r.before(from)) + d
	n := sort.Search(r.order.Leaves()-from, func(i int) bool {
		return uint64(r.before(from+1+i)) > bound
	})
	return from + max(n, 1)
}

// leafOf returns the place in the order of the leaf that has a row.
func (r *run) leafOf(row uint32) int {
	key := r.view.key(r.id, row)
	return sort.Search(r.order.Leaves()-1, func(i int) bool {
		fence := r.order.Keys[i+1]
		return fence > key ||
			fence == key && r.id.compareRows(r.view, r.order.First[i+1], row) > 0
	})
}

// ranked reports whether the rank of the k-th matching row is known.
func (r *run) ranked() bool { return r.bits != nil || r.match == nil }

// rank returns the rank in the order of the k-th matching row as it is read.
func (r *run) rank(k uint32) uint32 {
	if r.reading == backward {
		k = r.total() - 1 - k
	}
	if r.bits != nil {
		return r.bits.Select(k)
	}
	return k
}
