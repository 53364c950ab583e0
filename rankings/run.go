package rankings

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"tidemark/rankings/block"
)

// run is one order of one chain as a search reads it: in a direction, and with
// only the rows that pass a filter. A search merges one to three runs a chain.
type run struct {
	view      *View
	id        orderID
	order     *block.Order
	direction direction
	filter    *filter               // nil when sums came with the view
	match     func(row uint32) bool // nil: every row matches

	// sums are the matching rows before each leaf, and the total as the last
	// entry; nil while they are not known.
	sums []uint32
	// bits are the matching rows by rank; nil while they are not known, or when
	// every row matches.
	bits *block.Bitmap
}

// direction is how a run reads its order.
type direction uint8

const (
	forward       direction = iota
	backward                // last row first; needs an order without equal keys
	idOnly                  // an order by id, with the sort value 0 for every row
	idOnlyUnknown           // an order by id, with an unknown sort value for every row
)

// orderKey places a row in the order of all rows: by key, then chain, then id.
type orderKey struct {
	key  uint64
	view *View
	row  uint32
}

// compare compares two rows of the merged order, of this chain or of another.
func (r *run) compare(a, b *orderKey) int {
	if a.key != b.key {
		return cmp.Compare(a.key, b.key)
	}
	if a.view != b.view {
		return cmp.Compare(a.view.State.Chain, b.view.State.Chain)
	}
	return r.id.compareRows(a.view, a.row, b.row)
}

// compareRows compares two rows of a view by id. Positions are stored by id.
func (o orderID) compareRows(v *View, a, b uint32) int {
	if o.ofPools() {
		return bytes.Compare(v.State.Pools.At(a).ID[:], v.State.Pools.At(b).ID[:])
	}
	return cmp.Compare(a, b)
}

// orderKey returns the order key of a row.
func (r *run) orderKey(row uint32) orderKey {
	if r.direction >= idOnly {
		return orderKey{r.runKey(0), r.view, row}
	}
	return orderKey{r.runKey(r.view.sortKey(r.id, row)), r.view, row}
}

// runKey maps a key of the order to one that ascends as the run reads.
func (r *run) runKey(key uint64) uint64 {
	switch r.direction {
	case backward:
		return ^key
	case idOnly:
		return descending(0)
	case idOnlyUnknown:
		return unknownKey
	}
	return key
}

// The methods below count leaves as the run reads them: the n-th leaf of a
// backward run is the n-th from the end of its order.

// leafIndex returns the index in the order of the run's n-th leaf.
func (r *run) leafIndex(n int) int {
	if r.direction == backward {
		return r.order.Leaves() - 1 - n
	}
	return n
}

// rowsBefore returns the number of matching rows before the n-th leaf.
func (r *run) rowsBefore(n int) uint32 {
	if r.direction == backward {
		return r.total() - r.sums[len(r.sums)-1-n]
	}
	return r.sums[n]
}

// total returns the number of matching rows.
func (r *run) total() uint32 { return r.sums[len(r.sums)-1] }

// fence returns an order key that is not below any row before the n-th leaf and
// not above any row from it on. n is neither 0 nor the number of leaves.
func (r *run) fence(n int) orderKey {
	if r.direction == backward {
		n-- // read backwards, the leaf before ends with its first row
	}
	at := r.leafIndex(n)
	return orderKey{r.runKey(r.order.Keys[at]), r.view, r.order.First[at]}
}

// lastLeafWithin returns the last leaf after from with at most d matching rows
// between the two, or from+1 if there is none.
func (r *run) lastLeafWithin(from int, d uint64) int {
	bound := uint64(r.rowsBefore(from)) + d
	n := sort.Search(r.order.Leaves()-from, func(i int) bool {
		return uint64(r.rowsBefore(from+1+i)) > bound
	})
	return from + max(n, 1)
}

// leafOf returns the index in the order of the leaf that holds a row.
func (r *run) leafOf(row uint32) int {
	return max(r.id.leafOf(r.view, r.order, r.view.sortKey(r.id, row), row), 0)
}

// leafOf returns the index of the leaf in whose range a row with a key is, -1 if it is
// before the first one. o is this order of v.
func (id orderID) leafOf(v *View, o *block.Order, key uint64, row uint32) int {
	return sort.Search(o.Leaves(), func(i int) bool {
		if at := o.Keys[i]; at != key {
			return at > key
		}
		return id.compareRows(v, o.First[i], row) > 0
	}) - 1
}

// ranked reports whether rank can be called.
func (r *run) ranked() bool { return r.bits != nil || r.match == nil }

// rank returns the rank, in the order, of the run's k-th matching row.
func (r *run) rank(k uint32) uint32 {
	if r.direction == backward {
		k = r.total() - 1 - k
	}
	if r.bits != nil {
		return r.bits.Select(k)
	}
	return k
}

// ranks sets dst to the ranks, in the order, of the run's matching rows from the k-th on.
func (r *run) ranks(dst []uint32, k uint32) {
	if r.direction == backward {
		k = r.total() - k - uint32(len(dst))
		defer slices.Reverse(dst)
	}

	if r.bits != nil {
		r.bits.SelectRange(dst, k)
		return
	}
	for i := range dst {
		dst[i] = k + uint32(i)
	}
}
