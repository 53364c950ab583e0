package index

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
)

// IDs finds rows by an id that is not their index: it is the first rows of a
// table, sorted by id. The few rows after them are compared one by one, so that
// not every new row needs a new index.
type IDs []uint32

// IDSlack is how many rows may be missing from an index; comparing them all
// takes one or two microseconds.
const IDSlack = 1024

// Extend returns an index of the first n rows, from which up to slack may be
// missing, given prev. same reports whether the rows of prev are unchanged. An id has
// eight bytes and more.
func (prev IDs) Extend(
	n, slack uint32, same bool, id func(row uint32) []byte, pause func(),
) IDs {
	if uint32(len(prev)) > n || !same {
		prev = nil
	}
	covered := uint32(len(prev))
	if n-covered <= slack {
		return prev
	}

	compare := func(a, b uint32) int { return bytes.Compare(id(a), id(b)) }
	return mergeIndexes(prev, sortByID(covered, n, id, compare, pause), InTurns(compare, pause))
}

// sortByID returns the rows from..n by id. It sorts by the first bytes of the ids, which
// are hashes, and compares the rest where those are the same. Comparing whole ids reads
// two records of a million for each comparison, and takes three times as long.
func sortByID(
	from, n uint32, id func(row uint32) []byte, compare func(a, b uint32) int, pause func(),
) IDs {
	keys, places := make([]uint64, n-from), make([]uint32, n-from)
	InStrides(len(keys), pause, func(first, end int) {
		for i := first; i < end; i++ {
			keys[i], places[i] = binary.BigEndian.Uint64(id(from+uint32(i))), uint32(i)
		}
	})

	s := Sorter{Pause: pause}
	sorted := make(IDs, len(keys))
	for i, w := range s.SortPlaces(keys, places) {
		sorted[i] = from + uint32(w)
	}
	pause()

	for first, end := 0, 0; first < len(sorted); first = end {
		for end++; end < len(sorted) && keys[sorted[end]-from] == keys[sorted[first]-from]; end++ {
		}
		if end > first+1 {
			slices.SortFunc(sorted[first:end], compare)
		}
		if first%StrideRows == 0 {
			pause()
		}
	}
	return sorted
}

// mergeIndexes merges two sorted indexes.
func mergeIndexes(a, b IDs, compare func(a, b uint32) int) IDs {
	if len(a) == 0 {
		return b
	}
	out := make(IDs, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compare(a[0], b[0]) < 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// Find returns the row below n for which compare returns 0.
func (x IDs) Find(n uint32, compare func(row uint32) int) (uint32, bool) {
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
