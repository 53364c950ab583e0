package rankings

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"

	"tidemark/rankings/market"
)

// index finds rows by an id that is not their index: it is the first rows of a
// table, sorted by id. The few rows after them are compared one by one, so that
// not every new row needs a new index.
type index []uint32

// indexSlack is how many rows may be missing from an index; comparing them all
// takes one or two microseconds.
const indexSlack = 1024

// extend returns an index of the first n rows, from which up to slack may be
// missing, given prev. same reports whether the rows of prev are unchanged. An id has
// eight bytes and more.
func (prev index) extend(
	n, slack uint32, same bool, id func(row uint32) []byte, pause func(),
) index {
	if uint32(len(prev)) > n || !same {
		prev = nil
	}
	covered := uint32(len(prev))
	if n-covered <= slack {
		return prev
	}

	compare := func(a, b uint32) int { return bytes.Compare(id(a), id(b)) }
	return mergeIndexes(prev, sortByID(covered, n, id, compare, pause), inTurns(compare, pause))
}

// sortByID returns the rows from..n by id. It sorts by the first bytes of the ids, which
// are hashes, and compares the rest where those are the same. Comparing whole ids reads
// two records of a million for each comparison, and takes three times as long.
func sortByID(
	from, n uint32, id func(row uint32) []byte, compare func(a, b uint32) int, pause func(),
) index {
	keys, places := make([]uint64, n-from), make([]uint32, n-from)
	inStrides(len(keys), pause, func(first, end int) {
		for i := first; i < end; i++ {
			keys[i], places[i] = binary.BigEndian.Uint64(id(from+uint32(i))), uint32(i)
		}
	})

	s := sorter{pause: pause}
	sorted := make(index, len(keys))
	for i, w := range s.sortPlaces(keys, places) {
		sorted[i] = from + uint32(w)
	}
	pause()

	for first, end := 0, 0; first < len(sorted); first = end {
		for end++; end < len(sorted) && keys[sorted[end]-from] == keys[sorted[first]-from]; end++ {
		}
		if end > first+1 {
			slices.SortFunc(sorted[first:end], compare)
		}
		if first%strideRows == 0 {
			pause()
		}
	}
	return sorted
}

// mergeIndexes merges two sorted indexes.
func mergeIndexes(a, b index, compare func(a, b uint32) int) index {
	if len(a) == 0 {
		return b
	}
	out := make(index, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compare(a[0], b[0]) < 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// find returns the row below n for which compare returns 0.
func (x index) find(n uint32, compare func(row uint32) int) (uint32, bool) {
	if i, found := sort.Find(len(x), func(i int) int { return -compare(x[i]) }); found {
		return x[i], true
	}
	for row := uint32(len(x)); row < n; row++ {
		if compare(row) == 0 {
			return row, true
		}
	}
	return 0, false
}

// sameRows reports whether the first n rows of two snapshots of a table are
// equal. Chunks that the snapshots share are not compared.
func sameRows[T any](
	a, b *market.Frozen[T], n uint32, equal func(a, b *T) bool, pause func(),
) bool {
	if n > a.Len() || n > b.Len() {
		return false
	}

	for first := uint32(0); first < n; first += market.ChunkLen {
		if a.At(first) == b.At(first) {
			continue
		}
		pause()
		for i := first; i < min(first+market.ChunkLen, n); i++ {
			if !equal(a.At(i), b.At(i)) {
				return false
			}
		}
	}

	return true
}

// Position returns the index of the position with that id. Ids ascend, and nearly every one
// was minted, so that the search begins where the id stands if none is missing: two or three
// records are read instead of twenty.
func (v *View) Position(id uint64) (uint32, bool) {
	positions := &v.State.Positions
	n := int(positions.Len())
	if n == 0 {
		return 0, false
	}

	idAt := func(i int) uint64 { return positions.At(uint32(i)).ID }
	i := searchNear(n, nearest(n, idAt(0), idAt(n-1), id), func(i int) bool { return idAt(i) >= id })
	return uint32(i), i < n && idAt(i) == id
}

// nearest returns where of n ascending numbers one stands if they are evenly spread from
// the first to the last.
func nearest(n int, first, last, at uint64) int {
	if at <= first {
		return 0
	}
	if at >= last {
		return n - 1
	}
	return int(float64(n-1) * (float64(at-first) / float64(last-first)))
}

// searchNear is sort.Search for a place that is near a guess below n: it looks at places
// twice as far from it each time, and then between the last two.
func searchNear(n, guess int, reached func(i int) bool) int {
	low, high := guess+1, n // the place is in low..high

	if reached(guess) {
		low, high = 0, guess
		for far := 1; far <= high; far *= 2 {
			if !reached(high - far) {
				low = high - far + 1
				break
			}
			high -= far
		}
	} else {
		for far := 1; low+far < n; far *= 2 {
			if reached(low + far) {
				high = low + far
				break
			}
			low += far + 1
		}
	}

	return low + sort.Search(high-low, func(i int) bool { return reached(low + i) })
}

// Pool returns the index of the pool with that id. A view without columns
// compares every pool.
func (v *View) Pool(id market.PoolID) (uint32, bool) {
	var x index
	if v.columns != nil {
		x = v.columns.pools
	}
	return x.find(v.State.Pools.Len(), func(row uint32) int {
		return bytes.Compare(v.State.Pools.At(row).ID[:], id[:])
	})
}

// owner returns the index of an owner. The view must be warm.
func (v *View) owner(a *market.Address) (uint32, bool) {
	return v.columns.owners.find(v.State.Owners.Len(), func(row uint32) int {
		return bytes.Compare(v.State.Owners.At(row)[:], a[:])
	})
}

// fillLookups fills the indexes, postings and grams, starting from prev's.
func (f *columnBuilder) fillLookups() {
	st := f.st
	old, before := new(columns), st
	if f.prev != nil {
		old, before = f.prev.columns, f.prev.State
	}

	// A reorg can give the index of a pool, owner or token to another one.
	samePools := sameRows(&before.Pools, &st.Pools, uint32(len(old.pools)),
		func(a, b *market.Pool) bool { return a.ID == b.ID }, f.pause)
	f.columns.pools = old.pools.extend(st.Pools.Len(), 0, samePools, poolIDs(st), f.pause)
	f.pause()

	sameOwners := sameRows(&before.Owners, &st.Owners, uint32(len(old.owners)),
		func(a, b *market.Address) bool { return *a == *b }, f.pause)
	owner := func(row uint32) []byte { return st.Owners.At(row)[:] }
	f.owners = old.owners.extend(st.Owners.Len(), indexSlack, sameOwners, owner, f.pause)
	f.pause()
	f.byPool = old.byPool.extend(&f.pool, st.Pools.Len(), f.pause)
	f.byOwner = old.byOwner.extend(&f.owner, st.Owners.Len(), f.pause)
	f.byToken = old.byToken.extend(&f.sides, st.Tokens.Len(), f.pause)
	f.symbols = old.symbols.extend(before, st, f.pause)
	f.pause()
	f.poolGrams = old.poolGrams.extend(st.Pools.Len(), samePools, poolIDs(st), f.pause)

	sameTokens := sameRows(&before.Tokens, &st.Tokens, old.tokenGrams.rows,
		func(a, b *market.Token) bool { return a.Address == b.Address }, f.pause)
	f.tokenGrams = old.tokenGrams.extend(st.Tokens.Len(), sameTokens, addresses(st), f.pause)
	f.tokens = old.tokens.extend(st.Tokens.Len(), 0, sameTokens, addresses(st), f.pause)
}
