package market

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
	"weak"
)

func numbers(n int) (t Table[int]) {
	for i := range n {
		t.Append(i)
	}
	return t
}

// check compares the rows of a sequence, by At and by Chunk.
func check(t *testing.T, what string, f *Frozen[int], want ...int) {
	t.Helper()
	if int(f.Len()) != len(want) {
		t.Fatalf("%s: %d rows; want %d", what, f.Len(), len(want))
	}

	for i, w := range want {
		if got := *f.At(uint32(i)); got != w {
			t.Fatalf("%s: row %d is %d; want %d", what, i, got, w)
		}
		chunk := f.Chunk(uint32(i))
		if got := chunk[i%ChunkLen]; got != w || len(chunk) != min(ChunkLen, len(want)-i/ChunkLen*ChunkLen) {
			t.Fatalf("%s: row %d is %d in a chunk of %d", what, i, got, len(chunk))
		}
	}
}

func upTo(n int) (rows []int) {
	for i := range n {
		rows = append(rows, i)
	}
	return rows
}

// TestTableSnapshots: a frozen sequence never changes, whatever is written,
// appended or truncated afterwards.
func TestTableSnapshots(t *testing.T) {
	for _, n := range []int{1, ChunkLen - 1, ChunkLen, ChunkLen + 1, 3*ChunkLen + 5} {
		table := numbers(n)
		first := table.Freeze()
		last := uint32(n - 1)
		*table.Mut(last) = -1
		second := table.Freeze()
		table.Truncate(last)
		table.Append(-2)
		table.Append(-3)

		check(t, "first", &first, upTo(n)...)
		check(t, "second", &second, append(upTo(n-1), -1)...)
		check(t, "table", &table.Frozen, append(upTo(n-1), -2, -3)...)
	}
}

// TestTableShares: a table and its snapshot have one root until the table writes, and a
// snapshot without a write before it costs nothing.
func TestTableShares(t *testing.T) {
	table := numbers(3*ChunkLen + 1)
	frozen := table.Freeze()
	f := func(want bool) {
		t.Helper()
		if is := len(table.own.chunks) == 0 && &table.root[0] == &frozen.root[0]; is != want {
			t.Errorf("the table has the root of its snapshot alone: %t; want %t", is, want)
		}
	}

	f(true)
	if n := testing.AllocsPerRun(10, func() { table.Freeze() }); n != 0 {
		t.Errorf("a snapshot without a write is %v objects", n)
	}
	*table.Mut(1) = -1
	*table.Mut(2) = -2
	f(false)
	if n := len(table.own.chunks); n != 1 {
		t.Errorf("two rows of a chunk were written: %d chunks", n)
	}
	frozen = table.Freeze()
	f(true)
}

// TestWideRows: chunks of wide rows have fewer of them, so that a write copies less.
func TestWideRows(t *testing.T) {
	type wide struct {
		number int
		_      [wideRow]byte
	}
	type sparse struct {
		number int
		_      [sparseRow]byte
	}
	checkWide(t, 1<<wideBits, func(row *wide) *int { return &row.number })
	checkWide(t, 1<<sparseBits, func(row *sparse) *int { return &row.number })
}

func checkWide[T any](t *testing.T, rows uint32, number func(row *T) *int) {
	t.Helper()
	const n = 3*ChunkLen + 5
	frozen := Cold(n, func(first uint32, rows []T) {
		for i := range rows {
			*number(&rows[i]) = int(first) + i
		}
	})
	frozen.Warm(func() bool { return false })
	table := Thaw(frozen)
	*number(table.Mut(rows + 1)) = -1
	table.Truncate(n - rows)
	for i := n - rows; i < n; i++ {
		var row T
		*number(&row) = int(i)
		table.Append(row)
	}

	for i := range uint32(n) {
		was, is := frozen.At(i), table.At(i)
		if want := i/rows == 1 || i >= n-n%rows-rows; (was != is) != want {
			t.Errorf("row %d was copied: %t; want %t", i, was != is, want)
		}
		if want := int(i); *number(was) != want || i != rows+1 && *number(is) != want {
			t.Errorf("row %d was %d and is %d", i, *number(was), *number(is))
		}
	}
	if got := *number(table.At(rows + 1)); got != -1 {
		t.Errorf("the written row is %d", got)
	}
}

// TestTableRandomly writes, appends, truncates and freezes in any order, and compares all
// snapshots with copies of the rows.
func TestTableRandomly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var table Table[int]
		var rows []int
		var snapshots []Frozen[int]
		var copies [][]int

		for step := range 60 {
			switch n := len(rows); r.IntN(6) {
			case 0, 1:
				for range r.IntN(2 * ChunkLen) {
					table.Append(step)
					rows = append(rows, step)
				}
			case 2, 3:
				if n > 0 {
					i := r.IntN(n)
					*table.Mut(uint32(i)), rows[i] = -step, -step
				}
			case 4:
				n -= r.IntN(min(n, ChunkLen) + 1)
				table.Truncate(uint32(n))
				rows = slices.Clone(rows[:n])
			case 5:
				snapshots, copies = append(snapshots, table.Freeze()), append(copies, slices.Clone(rows))
				if r.IntN(3) == 0 {
					table = Thaw(snapshots[len(snapshots)-1])
				}
			}
			check(t, "table", &table.Frozen, rows...)
		}
		for i := range snapshots {
			check(t, "snapshot", &snapshots[i], copies[i]...)
		}
	}
}

// TestThaw: a table that continues a snapshot does not write to it, nor to the
// table that the snapshot is from.
func TestThaw(t *testing.T) {
	table := numbers(ChunkLen + 2)
	frozen := table.Freeze()
	*table.Mut(1) = -1
	newer := table.Freeze()

	thawed := Thaw(newer)
	*thawed.Mut(0) = -5
	*thawed.Mut(ChunkLen) = -6
	check(t, "frozen", &frozen, upTo(ChunkLen+2)...)
	want := upTo(ChunkLen + 2)
	want[1] = -1
	check(t, "newer", &newer, want...)
	want[0], want[ChunkLen] = -5, -6
	check(t, "thawed", &thawed.Frozen, want...)
}

// TestCold: a chunk is read when it is first used, and once; Warm reads the rest.
func TestCold(t *testing.T) {
	reads := 0
	cold := func(n uint32) Frozen[int] {
		reads = 0
		return Cold(n, func(first uint32, rows []int) {
			reads++
			for i := range rows {
				rows[i] = int(first) + i
			}
		})
	}

	f := cold(2*ChunkLen + 1)
	check(t, "cold", &f, upTo(2*ChunkLen+1)...)
	if reads != 3 {
		t.Errorf("3 chunks were read %d times", reads)
	}

	f = cold(2*ChunkLen + 1)
	f.At(ChunkLen)
	f.Warm(func() bool { return reads == 2 })
	if reads != 2 {
		t.Errorf("Warm read %d chunks after it was stopped", reads)
	}
	f.Warm(func() bool { return false })
	if reads != 3 {
		t.Errorf("%d chunks of 3 are warm", reads)
	}

	// A table over cold rows reads a chunk before it writes to it.
	table := Thaw(cold(ChunkLen))
	*table.Mut(3) = -1
	want := upTo(ChunkLen)
	want[3] = -1
	check(t, "thawed", &table.Frozen, want...)
}

// TestWarmObjects: chunks of small rows share objects, and those of larger rows do not,
// so that a chunk that was replaced is free.
func TestWarmObjects(t *testing.T) {
	const chunks = 3*smallTogether + 1
	if got := warmObjects[Address](chunks); got != 4 {
		t.Errorf("%d chunks of addresses are %v objects; want 4", chunks, got)
	}
	if got := warmObjects[[smallRow + 1]byte](chunks); got != chunks {
		t.Errorf("%d chunks of larger rows are %v objects", chunks, got)
	}
}

// warmObjects returns how many objects it takes to load so many chunks.
func warmObjects[T any](chunks uint32) float64 {
	load := func(warm bool) float64 {
		return testing.AllocsPerRun(5, func() {
			f := Cold(chunks*ChunkLen, func(_ uint32, rows []T) { bytesOf(&rows[0], 1)[0] = 1 })
			f.Warm(func() bool { return !warm })
		})
	}
	return load(true) - load(false)
}

// TestThawLetsGo: a table whose rows are all in memory keeps nothing of what they were
// read from; one that may still have to read does.
func TestThawLetsGo(t *testing.T) {
	f := func(rows uint32, kept bool) {
		t.Helper()
		source := &[ChunkLen]int{3: 7}
		watched := weak.Make(source)
		read := func(from *[ChunkLen]int) Fault[int] {
			return func(_ uint32, rows []int) { copy(rows, from[:]) }
		}
		cold := Cold(2*ChunkLen, read(source))
		for i := range rows {
			cold.At(i)
		}

		table := Thaw(cold)
		runtime.GC()
		if got := watched.Value() != nil; got != kept {
			t.Errorf("with %d rows of %d in memory the source is kept: %v; want %v", rows, 2*ChunkLen, got, kept)
		}
		if got := *table.At(3); got != 7 {
			t.Errorf("row 3 is %d; want 7", got)
		}
	}

	f(ChunkLen, true)
	f(2*ChunkLen, false)
}

func TestRowPastTheEnd(t *testing.T) {
	table := numbers(3)
	f := func(read func(i uint32) *int) {
		t.Helper()
		defer func() {
			if r := recover(); r != "BUG: row 3 of a table of 3 rows" {
				t.Errorf("got panic %v", r)
			}
		}()
		read(2)
		read(3)
	}

	f(table.At)
	f(table.Mut)
}

func TestParseHex(t *testing.T) {
	f := func(s string, ok bool) {
		t.Helper()
		a, err := ParseAddress(s)
		if (err == nil) != ok || ok && a.String() != strings.ToLower(s) {
			t.Errorf("%q: got %s, %v", s, a, err)
		}
	}

	digits := strings.Repeat("aB3f5", 8)
	f("0x"+digits, true)
	f("0X"+digits, false)
	f(digits, false)
	f("0x"+digits[1:], false)
	f("0x"+digits+"0", false)
	f("0x"+digits[1:]+"g", false)
	f("", false)
}

// TestSums: sums are those of the record, or of the overflow table if it has one.
func TestSums(t *testing.T) {
	var overflow Table[Sums]
	overflow.Append(Sums{Collected1: [4]uint64{0, 0, 1}})
	st := State{Overflow: overflow.Freeze()}
	p := Position{Overflow: NoIndex}
	p.Deposited0.Lo, p.Deposited1.Lo, p.Withdrawn0.Lo = 1, 2, 3
	p.Withdrawn1.Lo, p.Collected0.Lo, p.Collected1.Lo = 4, 5, 6

	want := Sums{
		Deposited0: [4]uint64{1}, Deposited1: [4]uint64{2}, Withdrawn0: [4]uint64{3},
		Withdrawn1: [4]uint64{4}, Collected0: [4]uint64{5}, Collected1: [4]uint64{6},
	}
	if got := st.Sums(&p); got != want {
		t.Errorf("got %v; want %v", got, want)
	}
	p.Overflow = 0
	if got := st.Sums(&p); got != *overflow.At(0) {
		t.Errorf("with an overflow record: got %v", got)
	}
}

// TestRecordSizes holds the records of which there are millions to their size: a
// chunk of positions just fills a size class of the allocator.
func TestRecordSizes(t *testing.T) {
	f := func(name string, got, want uintptr) {
		t.Helper()
		if got != want {
			t.Errorf("a %s has %d bytes; want %d", name, got, want)
		}
	}

	f("position", unsafe.Sizeof(Position{}), 288)
	f("offset of the claim of a position", unsafe.Offsetof(Position{}.TickLower), 32)
	f("end of the claim of a position", unsafe.Offsetof(Position{}.Deposited0), 32+96)
	f("row of an open position", unsafe.Offsetof(Position{}.ClosedAt), 4*64)
	f("tick", unsafe.Sizeof(Tick{}), 144)
	f("pool", unsafe.Sizeof(Pool{}), 4*64)
	f("hour bucket", unsafe.Sizeof(HourBucket{}), 104)
}
