package ledger

import "math/bits"

// slots is the set of free records of a table. The lowest is used first, so the
// record of a new tick or bucket depends on the tables alone: a ledger that was
// reverted or restarted chooses the same ones as a ledger that never was.
type slots struct {
	words []uint64
	low   int // no word below is set
}

// put frees record i.
func (s *slots) put(i uint32) {
	w := int(i >> 6)
	for len(s.words) <= w {
		s.words = append(s.words, 0)
	}
	s.words[w] |= 1 << (i & 63)
	s.low = min(s.low, w)
}

// drop takes record i out of the set, if it is in it.
func (s *slots) drop(i uint32) {
	if w := int(i >> 6); w < len(s.words) {
		s.words[w] &^= 1 << (i & 63)
	}
}

// take takes the lowest record out of the set.
func (s *slots) take() (i uint32, ok bool) {
	for ; s.low < len(s.words); s.low++ {
		if word := s.words[s.low]; word != 0 {
			s.words[s.low] &= word - 1
			return uint32(s.low<<6 + bits.TrailingZeros64(word)), true
		}
	}
	return 0, false
}
