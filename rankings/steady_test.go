package rankings

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Every generation of a column keeps its rows, whatever the later ones have, and also if
// two were made of one, and knows which it has otherwise than the one before.
func TestSteadyKeepsRows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	type generation struct {
		column steady
		want   []uint32
	}
	all := []generation{{}}

	for range 400 {
		from := &all[len(all)-1]
		if r.IntN(8) == 0 {
			from = &all[r.IntN(len(all))]
		}
		n := max(0, len(from.want)+r.IntN(20)-5)
		next := generation{continueSteady(&from.column, uint32(n)), make([]uint32, n)}
		copy(next.want, from.want)
		for row := range n {
			if row >= len(from.want) || r.IntN(4*n) == 0 {
				next.want[row] = r.Uint32N(3)
				next.column.set(uint32(row), next.want[row])
			}
		}
		if want := changedRows(from.want, next.want, func() {}); !slices.Equal(next.column.changed, want) {
			t.Fatalf("generation %d changed the rows %d; want %d", len(all), next.column.changed, want)
		}
		all = append(all, next)
	}

	for i := range all {
		if g := &all[i]; !slices.Equal(g.column.rows, g.want) {
			t.Fatalf("generation %d has %d; want %d", i, g.column.rows, g.want)
		}
	}
}

// Generations share memory until a row changes.
func TestSteadySharesMemory(t *testing.T) {
	one := continueSteady(&steady{}, 100)
	grown := continueSteady(&one, 101)
	f := func(name string, next steady, same bool) {
		t.Helper()
		if got := &next.rows[0] == &grown.rows[0]; got != same {
			t.Errorf("%s: the memory is shared: %t; want %t", name, got, same)
		}
	}

	added := continueSteady(&grown, 103)
	f("rows are added", added, true)
	added.set(102, 5)
	added.set(101, 5)
	added.set(3, 0)
	f("new rows are set, and an old one to what it is", added, true)
	f("another one has the rows after it", continueSteady(&grown, 103), false)
	next := continueSteady(&added, 103)
	f("nothing is added", next, true)
	next.set(100, 9)
	f("an old row changes", next, false)
	f("a row is taken back", continueSteady(&added, 102), false)
}
