package ledger

import "math/bits"

// freeSlots is the set of free records of a table. The lowest is used first, so
// the record of a new tick or bucket depends on the tables alone: a ledger that
// was reverted or restarted uses the same records as one that was not.
type freeSlots struct {
	words []uint64
	low   int // all words below are 0
}

// add adds record i.
func (s *freeSlots) add(i uint32) {
	w := int(i >> 6)
	for len(s.words) <= w {
		s.words = append(s.words, 0)
	}
	s.words[w] |= 1 << (i & 63)
	s.low = min(s.low, w)
}

// remove removes record i, if it is in the set.
func (s *freeSlots) remove(i uint32) {
	if w := int(i >> 6); w < len(s.words) {
		s.words[w] &^= 1 << (i & 63)
	}
}

// take removes and returns the lowest record.
func (s *freeSlots) take() (i uint32, ok bool) {
	for ; s.low < len(s.words); s.low++ {
		if word := s.words[s.low]; word != 0 {
			s.words[s.low] &= word - 1
			return uint32(s.low<<6 + bits.TrailingZeros64(word)), true
		}
	}
	return 0, false
}
