package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/rankings/block"
)

// checkGroups checks that the candidates of a few groups have all their rows, each once, and
// are refused where they are too many.
func checkGroups(p *Postings, col []uint32, groups uint32, r *rand.Rand) error {
	some := block.NewBitmap(groups)
	for range r.IntN(4) {
		some.Set(r.Uint32N(groups))
	}
	among, few := p.CandidatesOf(some, len(col))
	sorted := slices.Sorted(slices.Values(among))
	if !few || len(slices.Compact(slices.Clone(sorted))) != len(sorted) {
		return fmt.Errorf("of %d rows %v are candidates: %t", len(col), sorted, few)
	}

	rows := 0
	for row, g := range col {
		if _, ok := slices.BinarySearch(sorted, uint32(row)); some.Has(g) && !ok {
			return fmt.Errorf("row %d of group %d is no candidate", row, g)
		} else if some.Has(g) {
			rows++
		}
	}
	if _, few := p.CandidatesOf(some, rows-1); few && rows > 0 {
		return fmt.Errorf("%d rows are at most %d", rows, rows-1)
	}
	return nil
}

// TestMostCandidates asks for groups of 3, 2 and 1 rows: all that they have, or none if that
// is too many.
func TestMostCandidates(t *testing.T) {
	p := newPostings(newSteady([]uint32{0, 0, 1, 0, 1, 200}), 201, func() {})
	f := func(most, want int, groups ...uint32) {
		t.Helper()
		some := block.NewBitmap(201)
		for _, g := range groups {
			some.Set(g)
		}
		if rows, few := p.CandidatesOf(some, most); len(rows) != want || few != (want > 0) {
			t.Errorf("groups %v have %d candidates, at most %d: %t; want %d", groups, len(rows), most, few, want)
		}
	}

	f(3, 3, 0)
	f(2, 0, 0)
	f(5, 5, 0, 1)
	f(4, 0, 0, 1)
	f(3, 0, 0, 1)
	f(2, 0, 0, 1)
	f(6, 6, 0, 1, 200)
	f(5, 0, 0, 1, 200)
	f(3, 3, 1, 200)
	f(2, 0, 1, 200)
}

// TestPostings moves rows between groups and back, adds and removes rows, and
// compares the lists with the column.
func TestPostings(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	const groups = 40
	col := []uint32{}
	for range 3000 {
		col = append(col, r.Uint32N(groups-1))
	}

	var p Postings
	column, base := new(Column[uint32]), slices.Clone(col)
	for round := range 40 {
		column = nextSteady(column, col)
		p = p.Extend(column, groups, func() {})
		if len(p.recent) > postingsSlack {
			t.Fatalf("round %d: %d rows are recent; want %d at most", round, len(p.recent), postingsSlack)
		}
		for g := range uint32(groups) {
			rows := slices.Clone(p.Candidates(g))
			slices.Sort(rows)
			if len(slices.Compact(slices.Clone(rows))) != len(rows) {
				t.Fatalf("round %d: group %d has a row twice", round, g)
			}
			rows = slices.DeleteFunc(rows, func(row uint32) bool { return col[row] != g })
			want := []uint32{}
			for i, other := range col {
				if other == g {
					want = append(want, uint32(i))
				}
			}
			if !slices.Equal(rows, want) {
				t.Fatalf("round %d: group %d has rows %v; want %v", round, g, rows, want)
			}
			inTurn := []uint32{}
			for next := p.RowsOf(column, g); ; {
				row, ok := next.Next()
				if !ok {
					break
				}
				inTurn = append(inTurn, row)
			}
			if !slices.Equal(inTurn, want) {
				t.Fatalf("round %d: group %d has rows %v in turn; want %v", round, g, inTurn, want)
			}
		}
		if err := checkGroups(&p, col, groups, r); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}

		for range 200 {
			i := r.IntN(len(base))
			col[i] = []uint32{base[i], r.Uint32N(groups)}[r.IntN(2)]
			col = append(col, r.Uint32N(groups))
		}
		if round == 20 {
			col = col[:2500]
			base = base[:2500]
		}
	}
}
