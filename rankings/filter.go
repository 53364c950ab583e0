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

// rejectAll makes the filter reject every row.
func (f *filter) rejectAll() {
	f.limitTo(nil)
	f.addTest(func(uint32) bool { return false })
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

// equalTo returns the indexes of the values that equal one, as atLeast does.
func equalTo(values []uint32, one uint32) *block.Bitmap {
	set := block.NewBitmap(uint32(len(values)))
	for w := range set.Words() {
		word := uint64(0)
		for i, value := range values[w*64 : min(w*64+64, len(values))] {
			bit := uint64(0)
			if value == one {
				bit = 1
			}
			word |= bit << (i & 63)
		}

		set.Words()[w] = word
	}
	return set
}
