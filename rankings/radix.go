package rankings

import (
	"math"
	"math/bits"
	"slices"
)

// sorter orders places by their keys, equal keys by place. It sorts words of
// the 32 bits that tell the keys apart best and the place, so that a pass moves
// eight bytes a row, and then the few runs in which those bits do not decide:
// for USD and percentages, values within a millionth of each other.
//
// Cost: about 20 ns a row at a million rows.
type sorter struct {
	words, spare []uint64
	pause        func()
}

const (
	digitBits = 11
	digits    = 3 // that cover the upper half
)

// sort returns the places, which ascend, in the lower halves of the words, in
// order. The result is good until the next call.
func (s *sorter) sort(keys []uint64, places []uint32) []uint64 {
	least, greatest, sorted, last := uint64(math.MaxUint64), uint64(0), true, uint64(0)
	inStretches(len(places), s.pause, func(from, to int) {
		for _, place := range places[from:to] {
			key := keys[place]
			least, greatest = min(least, key), max(greatest, key)
			sorted = sorted && last <= key
			last = key
		}
	})

	shift := max(bits.Len64(greatest-least)-32, 0)
	s.words = slices.Grow(s.words[:0], len(places))[:len(places)]
	s.spare = slices.Grow(s.spare[:0], len(places))[:len(places)]
	inStretches(len(places), s.pause, func(from, to int) {
		for i := from; i < to; i++ {
			s.words[i] = (keys[places[i]]-least)>>shift<<32 | uint64(places[i])
		}
	})
	if sorted {
		return s.words
	}

	for d := range digits {
		s.pass(32 + d*digitBits)
	}

	if shift > 0 {
		s.settle(keys)
	}
	return s.words
}

// pass orders the words by one digit and leaves their order else as it is.
func (s *sorter) pass(shift int) {
	const mask = 1<<digitBits - 1
	var starts [1 << digitBits]uint32
	inStretches(len(s.words), s.pause, func(from, to int) {
		for _, w := range s.words[from:to] {
			starts[w>>shift&mask]++
		}
	})

	sum := uint32(0)
	for d, n := range starts {
		if int(n) == len(s.words) {
			return // all words have the same digit
		}
		starts[d], sum = sum, sum+n
	}

	inStretches(len(s.words), s.pause, func(from, to int) {
		for _, w := range s.words[from:to] {
			d := w >> shift & mask
			s.spare[starts[d]] = w
			starts[d]++
		}
	})
	s.words, s.spare = s.spare, s.words
}

// settle orders the runs of words with the same upper half by their keys.
func (s *sorter) settle(keys []uint64) {
	for i := 0; i < len(s.words); {
		end, sorted := i+1, true
		for ; end < len(s.words) && s.words[end]>>32 == s.words[i]>>32; end++ {
			sorted = sorted && keys[uint32(s.words[end-1])] <= keys[uint32(s.words[end])]
		}
		if !sorted {
			sortRun(s.words[i:end], keys)
		}
		i = end
	}
	s.pause()
}

func sortRun(run, keys []uint64) {
	slices.SortStableFunc(run, func(a, b uint64) int {
		x, y := keys[uint32(a)], keys[uint32(b)]
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}
