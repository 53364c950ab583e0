package rankings

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/rankings/market"
)

// newSteady returns a column with these rows, which follows an empty one.
func newSteady(rows []uint32) *steady[uint32] { return nextSteady(new(steady[uint32]), rows) }

// nextSteady returns a column with these rows, which follows another one.
func nextSteady(prev *steady[uint32], rows []uint32) *steady[uint32] {
	s := continueSteady(prev, uint32(len(rows)))
	for row, x := range rows {
		s.set(uint32(row), x)
	}
	return &s
}

func steadyValues(s *steady[uint32]) (rows []uint32) {
	for first := uint32(0); first < s.len(); first += market.ChunkLen {
		rows = append(rows, s.chunk(first, min(first+market.ChunkLen, s.len()))...)
	}
	return rows
}

// Every generation of a column keeps its rows, whatever the later ones have, and also if
// two were made of one, and knows which it has otherwise than the one before.
func TestSteadyKeepsRows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	type generation struct {
		column *steady[uint32]
		want   []uint32
	}
	all := []generation{{new(steady[uint32]), nil}}

	for range 200 {
		from := &all[len(all)-1]
		if r.IntN(8) == 0 {
			from = &all[r.IntN(len(all))]
		}
		n := max(0, len(from.want)+r.IntN(3*steadyRows)-steadyRows)
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
		if !slices.Equal(s.changed, changed) {
			t.Fatalf("generation %d changed the rows %d; want %d", len(all), s.changed, changed)
		}
		s.seal()
		all = append(all, generation{s, next})
	}

	for i, g := range all {
		if got := steadyValues(g.column); !slices.Equal(got, g.want) {
			t.Fatalf("generation %d has %d; want %d", i, got, g.want)
		}
		for row, want := range g.want {
			if got := g.column.at(uint32(row)); got != want {
				t.Fatalf("generation %d has %d in row %d; want %d", i, got, row, want)
			}
		}
	}
}

// Generations share the blocks in which no row changes, and copy the others once.
func TestSteadySharesBlocks(t *testing.T) {
	one := newSteady(make([]uint32, 3*steadyRows-1))
	next := continueSteady(one, 3*steadyRows)
	next.set(0, 0)
	next.set(steadyRows, 5)
	copied := next.blocks[1]
	next.set(steadyRows+1, 6)
	next.set(3*steadyRows-1, 7)

	for i, same := range []bool{true, false, false} {
		if got := next.blocks[i] == one.blocks[i]; got != same {
			t.Errorf("block %d is shared: %t; want %t", i, got, same)
		}
	}
	if next.blocks[1] != copied {
		t.Error("a block was copied twice")
	}
}
