package accounts

import "sync/atomic"

// slab is a growing sequence of elements with one writer and any number of readers.
// Elements have numbers, from 0 on, and are neither moved nor removed. A number takes
// half of a pointer, and the garbage collector does not follow it: in each of its cycles
// it passes every pointer that it finds.
type slab[T any] struct {
	pieces atomic.Pointer[[]*[pieceLen]T]
	count  atomic.Uint32
}

// pieceLen is how many elements are one object. A piece of keys takes more than 32 KiB, so
// that it begins with a page, and each of its keys with a cache line.
const pieceLen = 256

// at returns an element.
func (s *slab[T]) at(number uint32) *T {
	return &(*s.pieces.Load())[number/pieceLen][number%pieceLen]
}

// next returns the element that add will add, for the writer to fill. An add follows.
func (s *slab[T]) next() *T {
	n := s.count.Load()
	if n%pieceLen == 0 {
		s.grow()
	}
	return s.at(n)
}

// grow adds a piece. Readers do not look beyond the length that they loaded.
func (s *slab[T]) grow() {
	var pieces []*[pieceLen]T
	if p := s.pieces.Load(); p != nil {
		pieces = *p
	}
	pieces = append(pieces, new([pieceLen]T))
	s.pieces.Store(&pieces)
}

// add shows readers the element that next returned, and returns its number.
func (s *slab[T]) add() (number uint32) { return s.count.Add(1) - 1 }
