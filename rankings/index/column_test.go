package index

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/rankings/market"
)

// newSteady returns a column with these rows, which follows an empty one.
func newSteady(rows []uint32) *Column[uint32] { return nextSteady(new(Column[uint32]), rows) }

// nextSteady returns a column with these rows, which follows another one.
func nextSteady(prev *Column[uint32], rows []uint32) *Column[uint32] {
	s := Continue(prev, uint32(len(rows)))
	for row, x := range rows {
		s.Set(uint32(row), x)
	}
	return &s
}

func steadyValues(s *Column[uint32]) (rows []uint32) {
	for first := uint32(0); first < s.Len(); first += market.ChunkLen {
		rows = append(rows, s.Chunk(first, min(first+market.ChunkLen, s.Len()))...)
	}
	return rows
}

// Every generation of a column keeps its rows, whatever the later ones have, and also if
// two were made of one, and knows which it has otherwise than the one before.
func TestSteadyKeepsRows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	type generation struct {
		column *Column[uint32]
		want   []uint32
	}
	all := []generation{{new(Column[uint32]), nil}}

	for range 200 {
		from := &all[len(all)-1]
		if r.IntN(8) == 0 {
			from = &all[r.IntN(len(all))]
		}
		n := max(0, len(from.want)+r.IntN(3*BlockRows)-BlockRows)
		next, changed := make([]uint32, n), []uint32(nil)
		copy(next, from.want)
		for row := range next {
			if row >= len(from.want) || r.IntN(n) < 4 {
				next[row] = r.Uint32N(3)
			}
			if row < len(from.want) && next[row] != from.want[row] {
				changed = append(changed, uint32(row))
			}
		}

		s := nextSteady(from.column, next)
		if !slices.Equal(s.Changed, changed) {
			t.Fatalf("generation %d changed the rows %d; want %d", len(all), s.Changed, changed)
		}
		s.Seal()
		all = append(all, generation{s, next})
	}

	for i, g := range all {
		if got := steadyValues(g.column); !slices.Equal(got, g.want) {
			t.Fatalf("generation %d has %d; want %d", i, got, g.want)
		}
		for row, want := range g.want {
			if got := g.column.At(uint32(row)); got != want {
				t.Fatalf("generation %d has %d in row %d; want %d", i, got, row, want)
			}
		}
	}
}

// Generations share the blocks in which no row changes, and copy the others once.
func TestSteadySharesBlocks(t *testing.T) {
	one := newSteady(make([]uint32, 3*BlockRows-1))
	next := Continue(one, 3*BlockRows)
	next.Set(0, 0)
	next.Set(BlockRows, 5)
	copied := next.blocks[1]
	next.Set(BlockRows+1, 6)
	next.Set(3*BlockRows-1, 7)

	for i, same := range []bool{true, false, false} {
		if got := next.blocks[i] == one.blocks[i]; got != same {
			t.Errorf("block %d is shared: %t; want %t", i, got, same)
		}
	}
	if next.blocks[1] != copied {
		t.Error("a block was copied twice")
	}
}
