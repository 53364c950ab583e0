package rankings

// steady is a column whose rows hardly ever change. It is in blocks, which generations share:
// a later one has its own of those in which it changes a row or adds one. Rows that were never
// set have any value.
type steady[T uint32 | uint64] struct {
	blocks []*[steadyRows]T
	n      uint32

	own []bool // by block: no other generation has it; only while rows are set

	// changed are the rows, ascending, that prev has otherwise, of the had rows that it has.
	changed []uint32
	had     uint32
}

// steadyRows is how many rows a block has. A refresh of a million positions changes some
// hundred rows anywhere, each of which costs a copy of 2 or 4 KiB; and the garbage collector
// passes every block in each of its cycles.
const steadyRows = 512

// continueSteady returns a column of n rows that begins with those of prev.
func continueSteady[T uint32 | uint64](prev *steady[T], n uint32) steady[T] {
	count := int((uint64(n) + steadyRows - 1) / steadyRows)
	s := steady[T]{blocks: make([]*[steadyRows]T, count), n: n, own: make([]bool, count), had: prev.n}
	for i := copy(s.blocks, prev.blocks); i < count; i++ {
		s.blocks[i], s.own[i] = new([steadyRows]T), true
	}
	return s
}

func (s *steady[T]) len() uint32 { return s.n }

func (s *steady[T]) ptr(row uint32) *T { return &s.blocks[row/steadyRows][row%steadyRows] }

func (s *steady[T]) at(row uint32) T { return s.blocks[row/steadyRows][row%steadyRows] }

// chunk returns the rows of a chunk of the records, of which a block has several.
func (s *steady[T]) chunk(first, end uint32) []T {
	from := first % steadyRows
	return s.blocks[first/steadyRows][from : from+end-first]
}

// set changes a row, before anyone else has the generation. Rows must be set in ascending
// order.
func (s *steady[T]) set(row uint32, to T) {
	i, at := row/steadyRows, row%steadyRows
	if s.blocks[i][at] == to {
		return
	}
	if row < s.had {
		s.changed = append(s.changed, row)
	}

	if !s.own[i] {
		b := *s.blocks[i]
		s.blocks[i], s.own[i] = &b, true
	}
	s.blocks[i][at] = to
}

// seal forgets what only the generation that sets the rows needs.
func (s *steady[T]) seal() { s.own, s.changed = nil, nil }
