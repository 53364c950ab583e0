package rankings

import "math/bits"

// scanner finds the rows that pass a filter, in several calls. It reads the
// filter's candidates if there is a list, else all rows, 64 at a time where
// masks decide.
type scanner struct {
	next int // the next candidate, or the next word of 64 rows
}

// scan appends matching rows to found until there are about most new ones or the
// budget is used up. It reports whether it has read all rows.
func (s *scanner) scan(f *filter, found []uint32, most uint64, budget *int) ([]uint32, bool) {
	end := len(found) + int(min(most, 1<<40))
	if f.listed {
		return s.scanList(f, found, end, budget)
	}

	words := f.wordCount()
	for ; s.next < words && *budget > 0 && len(found) < end; s.next++ {
		word := f.maskWord(s.next)
		*budget -= 1 + bits.OnesCount64(word)

		if f.floor > 0 {
			found = s.scanFloor(f, found, word)
			continue
		}
		for ; word != 0; word &= word - 1 {
			row := uint32(s.next*64 + bits.TrailingZeros64(word))
			if f.groupAllowed(row) && f.passesTests(row) {
				found = append(found, row)
			}
		}
	}

	return found, s.next == words
}

// scanFloor is the inner loop of scan for a filter with a floor. Values are by
// place among open positions, which it counts from the start of the word.
func (s *scanner) scanFloor(f *filter, found []uint32, word uint64) []uint32 {
	if word == 0 {
		return found
	}

	// One Rank a word; within the word the open positions are counted.
	open, place := f.open.Words()[s.next], f.open.Rank(uint32(s.next*64))
	for ; word != 0; word &= word - 1 {
		below := bits.OnesCount64(open & (word&-word - 1))
		if !f.reachesFloor(place + uint32(below)) {
			continue
		}
		row := uint32(s.next*64 + bits.TrailingZeros64(word))
		if f.groupAllowed(row) && f.passesTests(row) {
			found = append(found, row)
		}
	}

	return found
}

// scanList is scan over the candidates.
func (s *scanner) scanList(f *filter, found []uint32, end int, budget *int) ([]uint32, bool) {
	for ; s.next < len(f.candidates) && *budget > 0 && len(found) < end; s.next++ {
		*budget--
		if row := f.candidates[s.next]; f.match(row) {
			found = append(found, row)
		}
	}
	return found, s.next == len(f.candidates)
}
