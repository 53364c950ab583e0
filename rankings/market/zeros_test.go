package market

import (
	"testing"
	"unsafe"
)

// TestZeroChunks: chunks of zeros take no memory, however they are loaded, and a table that
// writes to one leaves all others as they are.
func TestZeroChunks(t *testing.T) {
	const n, written = 6*ChunkLen + 3, 2*ChunkLen + 1
	cold := func() Frozen[int] {
		return Cold(n, func(first uint32, rows []int) {
			if first == written&^chunkMask {
				rows[written&chunkMask] = 7
			}
		})
	}

	frozen, other := cold(), cold()
	frozen.At(0)
	frozen.Warm(func() bool { return false })
	for i := uint32(0); i < n; i += ChunkLen {
		shared := frozen.At(i) == zeroChunk[int]()
		if want := i != written&^chunkMask; shared != want {
			t.Errorf("the chunk of row %d is the one of zeros: %t; want %t", i, shared, want)
		}
	}

	table := Thaw(frozen)
	*table.Mut(1) = -1
	table.Append(n)
	want := make([]int, n)
	want[written] = 7
	check(t, "frozen", &frozen, want...)
	check(t, "other", &other, want...)
	want[1] = -1
	check(t, "table", &table.Frozen, append(want, n)...)
	if zeros != [len(zeros)]uint64{} {
		t.Error("the chunk of zeros was written to")
	}
}

// TestLargeRows: rows of which a chunk is larger than that of zeros are loaded too.
func TestLargeRows(t *testing.T) {
	type large [unsafe.Sizeof(zeros)]byte
	frozen := Cold(2, func(uint32, []large) {})
	if frozen.At(1) == zeroChunk[large]() || *frozen.At(1) != (large{}) {
		t.Error("a large row is not what was loaded")
	}
}
