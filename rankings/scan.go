package rankings

import "math/bits"

// scanner goes through the rows of a filter, in pieces: through its list if it
// has one, else through all rows, 64 at a time as far as sets decide.
type scanner struct {
	at int // the next of the list, or the next 64 rows
}

// scan appends matching rows to found until there are about most new ones or
// the budget is used up, and reports whether it has seen all.
func (s *scanner) scan(f *filter, found []uint32, most uint64, budget *int) ([]uint32, bool) {
	end := len(found) + int(min(most, 1<<40))
	if f.listed {
		return s.scanList(f, found, end, budget)
	}

	words := f.words()
	for ; s.at < words && *budget > 0 && len(found) < end; s.at++ {
		word := f.word(s.at)
		*budget -= 1 + bits.OnesCount64(word)
		if f.floor > 0 {
			found = s.scanWorth(f, found, word)
			continue
		}
		for ; word != 0; word &= word - 1 {
			row := uint32(s.at*64 + bits.TrailingZeros64(word))
			if f.grouped(row) && f.test(row) {
				found = append(found, row)
			}
		}
	}

	return found, s.at == words
}

// scanWorth is the inside of scan where there is a floor: the places of open
// positions are counted along.
func (s *scanner) scanWorth(f *filter, found []uint32, word uint64) []uint32 {
	if word == 0 {
		return found
	}

	open, place := f.open.Words()[s.at], f.open.Rank(uint32(s.at*64))
	for ; word != 0; word &= word - 1 {
		below := bits.OnesCount64(open & (word&-word - 1))
		if !f.worth(place + uint32(below)) {
			continue
		}
		row := uint32(s.at*64 + bits.TrailingZeros64(word))
		if f.grouped(row) && f.test(row) {
			found = append(found, row)
		}
	}

	return found
}

func (s *scanner) scanList(f *filter, found []uint32, end int, budget *int) ([]uint32, bool) {
	for ; s.at < len(f.among) && *budget > 0 && len(found) < end; s.at++ {
		*budget--
		if row := f.among[s.at]; f.match(row) {
			found = append(found, row)
		}
	}
	return found, s.at == len(f.among)
}
