package render

import (
	"bytes"
	"testing"

	"tidemark/bench/load"
	"tidemark/rankings/value"
)

// BenchmarkPositionPlain is the yardstick of BenchmarkPosition: the numbers of
// the same row by strconv, and the bytes between them by append.
func BenchmarkPositionPlain(b *testing.B) {
	st := testState()
	var m value.Metrics
	value.Position(st, 0, &m)
	row := NewShare(st, 0).AppendPosition(nil, st, st.Positions.At(0), &m, 1)
	numbers := load.NumbersOf(row)
	spelled := 0
	for i := range numbers {
		spelled += len(numbers[i].Append(nil))
	}

	gap := bytes.Repeat([]byte{'x'}, (len(row)-spelled)/len(numbers))
	dst := make([]byte, 0, 2*len(row))
	b.ReportAllocs()
	for b.Loop() {
		dst = dst[:0]
		for i := range numbers {
			dst = append(numbers[i].Append(dst), gap...)
		}
	}
}
