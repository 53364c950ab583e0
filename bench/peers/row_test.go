package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func TestRows(t *testing.T) {
	rows := []row{
		{chain: 1, flags: isOpen | isValued, value: 12.5, tvl: math.NaN(), scores: scores{1, -2, math.Inf(1)}},
		{chain: 43114, value: math.NaN(), tvl: 0},
	}
	bodies := []string{`,"positionId":"1"}`, ""}
	var file []byte
	for i := range rows {
		file = appendRow(file, &rows[i], []byte(bodies[i]))
	}
	in := newRowReader(bytes.NewReader(file))
	for i := range rows {
		if !in.next() {
			t.Fatalf("row %d is missing: %v", i, in.err)
		}
		if in.row.chain != rows[i].chain || in.row.flags != rows[i].flags || in.row.scores != rows[i].scores ||
			math.Float64bits(in.row.value) != math.Float64bits(rows[i].value) ||
			math.Float64bits(in.row.tvl) != math.Float64bits(rows[i].tvl) || string(in.body) != bodies[i] {
			t.Errorf("row %d is %+v, %q; want %+v, %q", i, in.row, in.body, rows[i], bodies[i])
		}
	}
	if in.next() || in.err != nil {
		t.Errorf("after the end: %v", in.err)
	}
	for cut := 1; cut < headBytes+len(bodies[0]); cut++ { // a file that was not written to its end
		in := newRowReader(bytes.NewReader(file[:cut]))
		if in.next() || in.err == nil {
			t.Fatalf("%d bytes were taken for a row", cut)
		}
	}
	long := appendRow(nil, &rows[0], make([]byte, maxRowBody+1))
	if in := newRowReader(bytes.NewReader(long)); in.next() || !strings.Contains(in.err.Error(), "cannot exceed") {
		t.Errorf("a long row is %v", in.err)
	}
}

// What is not known comes last, and 0 is 0.
func TestDescending(t *testing.T) {
	f := func(x, want float64) {
		t.Helper()
		if got := descending(x); math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("descending(%v) = %v; want %v", x, got, want)
		}
	}
	f(5, -5)
	f(-5, 5)
	f(0, 0)
	f(math.Copysign(0, -1), 0)
	f(math.NaN(), math.Inf(1))
}

func TestMarks(t *testing.T) {
	var sorted []place
	for i := range 2*markEvery + 1 {
		sorted = append(sorted, place{float64(i), uint32(i)})
	}
	m := markList(sorted)
	f := func(offset, row, skip uint64) {
		t.Helper()
		from, rest, ok := m.before(offset)
		if !ok || uint64(from.row) != row || rest != skip {
			t.Errorf("before(%d) = row %d, skip %d, %v; want %d, %d", offset, from.row, rest, ok, row, skip)
		}
	}
	f(0, 0, 0)
	f(markEvery-1, 0, markEvery-1)
	f(markEvery, markEvery, 0)
	f(2*markEvery, 2*markEvery, 0)
	if _, _, ok := m.before(2*markEvery + 1); ok {
		t.Error("there is a mark before the end")
	}
	if _, _, ok := markList(nil).before(0); ok {
		t.Error("an empty list has a mark")
	}
	// What a database keeps of them is what was made.
	l := list{sort: 5, chain: 1}
	back := map[list]*marks{}
	for _, r := range markRows(map[list]*marks{l: m}) {
		takeMark(back, byName([]uint32{1}), r)
	}
	if got := back[l]; got == nil || got.total != m.total || len(got.every) != 3 || got.every[2] != m.every[2] {
		t.Errorf("read again they are %+v; want %+v", got, m)
	}
}
