package index

// Column is a column whose rows hardly ever change. It is in blocks, which generations share:
// a later one has its own of those in which it changes a row or adds one. Rows that were never
// set have any value.
type Column[T uint32 | uint64] struct {
	blocks []*[BlockRows]T
	n      uint32

	own []bool // by block: no other generation has it; only while rows are set

	// Changed are the rows, ascending, that the column before has otherwise, of the Had rows
	// that it has. Only while rows are set.
	Changed []uint32
	Had     uint32
}

// BlockRows is how many rows a block has. A refresh of a million positions changes some
// hundred rows anywhere, each of which costs a copy of 2 or 4 KiB; and the garbage collector
// passes every block in each of its cycles.
const BlockRows = 512

// Continue returns a column of n rows that begins with those of prev.
func Continue[T uint32 | uint64](prev *Column[T], n uint32) Column[T] {
	count := int((uint64(n) + BlockRows - 1) / BlockRows)
	s := Column[T]{blocks: make([]*[BlockRows]T, count), n: n, own: make([]bool, count), Had: prev.n}
	for i := copy(s.blocks, prev.blocks); i < count; i++ {
		s.blocks[i], s.own[i] = new([BlockRows]T), true
	}
	return s
}

// Len returns how many rows there are.
func (s *Column[T]) Len() uint32 { return s.n }

// Ptr returns where a row is, for a look ahead.
func (s *Column[T]) Ptr(row uint32) *T { return &s.blocks[row/BlockRows][row%BlockRows] }

// At returns a row.
func (s *Column[T]) At(row uint32) T { return s.blocks[row/BlockRows][row%BlockRows] }

// Chunk returns the rows of a chunk of the records, of which a block has several.
func (s *Column[T]) Chunk(first, end uint32) []T {
	from := first % BlockRows
	return s.blocks[first/BlockRows][from : from+end-first]
}

// Set changes a row, before anyone else has the generation. Rows must be set in ascending
// order.
func (s *Column[T]) Set(row uint32, to T) {
	i, at := row/BlockRows, row%BlockRows
	if s.blocks[i][at] == to {
		return
	}
	if row < s.Had {
		s.Changed = append(s.Changed, row)
	}

	if !s.own[i] {
		b := *s.blocks[i]
		s.blocks[i], s.own[i] = &b, true
	}
	s.blocks[i][at] = to
}

// Seal forgets what only the generation that sets the rows needs.
func (s *Column[T]) Seal() { s.own, s.Changed = nil, nil }
