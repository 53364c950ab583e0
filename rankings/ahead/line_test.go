package ahead_test

import (
	"testing"

	"tidemark/rankings/ahead"
)

// Asking for memory changes nothing, whatever is asked for.
func TestLine(t *testing.T) {
	ahead.Line[int](nil)
	rows := [...]uint64{1, 2, 3}
	for i := range rows {
		ahead.Line(&rows[i])
	}
	if rows != [...]uint64{1, 2, 3} {
		t.Errorf("the rows are %d", rows)
	}
}

// BenchmarkLine walks rows that are in no cache, in an order that no processor foresees: with
// and without asking for each some rows before it is read.
func BenchmarkLine(b *testing.B) {
	const count, distance = 1 << 20, 16
	rows := make([][8]uint64, count)
	order := make([]uint32, count+distance)
	for i := range order {
		order[i] = uint32(i) * 2654435761 % count
	}

	f := func(name string, ask bool) {
		b.Run(name, func(b *testing.B) {
			sum, at := uint64(0), 0
			for b.Loop() {
				if at++; at == count {
					at = 0
				}
				if ask {
					ahead.Line(&rows[order[at+distance]])
				}
				for range 8 { // work that needs the row
					sum = (sum ^ rows[order[at]][0]) * 0x9e3779b97f4a7c15
				}
			}
			if sum == 1 {
				b.Fatal("a sum of nothing but zeros is 0")
			}
		})
	}

	f("not asked for", false)
	f("asked for", true)
}
