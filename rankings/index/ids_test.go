package index

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

func TestIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	ids := []int{}
	// Many ids begin with the same eight bytes.
	bytes := func(row uint32) []byte {
		b := binary.BigEndian.AppendUint64(nil, uint64(ids[row]>>20))
		return binary.BigEndian.AppendUint64(b, uint64(ids[row]))
	}
	var x IDs
	for range 30 {
		for range r.IntN(40) {
			ids = append(ids, r.IntN(1<<25))
		}
		x = x.Extend(uint32(len(ids)), 50, true, bytes, func() {})
		if len(ids)-len(x) > 50 {
			t.Fatalf("%d of %d rows in the index", len(x), len(ids))
		}
		for row, id := range ids {
			got, found := x.Find(uint32(len(ids)), func(other uint32) int { return ids[other] - id })
			if !found || got != uint32(row) {
				t.Fatalf("%d is row %d, %v; want %d", id, got, found, row)
			}
		}
		if _, found := x.Find(uint32(len(ids)), func(row uint32) int { return ids[row] + 1 }); found {
			t.Fatal("found what is not there")
		}
	}

	if x = x.Extend(10, 50, true, bytes, func() {}); len(x) != 0 {
		t.Fatal("an index of rows that are gone")
	}
}
