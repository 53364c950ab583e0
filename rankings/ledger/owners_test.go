package ledger

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"testing"

	"tidemark/rankings/market"
)

// all returns every row of the index by the address with which find finds it.
func (x *ownerLookup) all() map[market.Address]uint32 {
	rows := make(map[market.Address]uint32)
	for i := range x.rows.Len() {
		if row, ok := x.find(x.rows.At(i)); ok {
			rows[*x.rows.At(i)] = row
		}
	}
	return rows
}

// TestOwnerLookup compares the index with a map while rows come at the end and the newest
// go, as spans and their undos have it. Full runs of slots form and break up.
func TestOwnerLookup(t *testing.T) {
	const most = 300
	random := rand.New(rand.NewPCG(1, 2))
	owner := func(n int) (a market.Address) {
		binary.BigEndian.PutUint32(a[16:], uint32(n))
		return a
	}

	var table market.Table[market.Address]
	rows := new(market.Frozen[market.Address])
	x, want := newOwnerLookup(rows), map[market.Address]uint32{}
	for step := range 20_000 {
		if n := int(rows.Len()); n == 0 || n < most && random.IntN(5) > 1 {
			a := owner(step)
			want[a] = table.Append(a)
			*rows = table.Frozen
			x.add(uint32(n))
		} else {
			last := uint32(n - 1)
			delete(want, *rows.At(last))
			x.remove(last)
			table.Truncate(last)
			*rows = table.Frozen
		}

		if step%50 == 0 {
			if got := x.all(); !maps.Equal(got, want) {
				t.Fatalf("step %d: got %v; want %v", step, got, want)
			}
		}
		if unknown := owner(-1 - step); step%7 == 0 {
			if row, ok := x.find(&unknown); ok {
				t.Fatalf("step %d: an unknown address is row %d", step, row)
			}
		}
	}

	// An index over the same rows needs no more room than the one that grew.
	again := newOwnerLookup(rows)
	for i := range rows.Len() {
		again.add(i)
	}
	if got := again.all(); !maps.Equal(got, want) || len(again.slots) > len(x.slots) {
		t.Errorf("%d slots with %v; want at most %d with %v", len(again.slots), got, len(x.slots), want)
	}
	if int(x.used) != len(want) {
		t.Errorf("%d rows are counted; want %d", x.used, len(want))
	}
}

// BenchmarkOwnerLookup finds owners in turn, half of whom are not there.
func BenchmarkOwnerLookup(b *testing.B) {
	const n = 1 << 19
	var table market.Table[market.Address]
	addresses := make([]market.Address, 2*n)
	for i := range addresses {
		binary.BigEndian.PutUint64(addresses[i][4:], uint64(i)*0x9e3779b97f4a7c15)
		if i < n {
			table.Append(addresses[i])
		}
	}
	x := newOwnerLookup(&table.Frozen)
	for i := range uint32(n) {
		x.add(i)
	}
	asMap := make(map[market.Address]uint32, n)
	for i := range uint32(n) {
		asMap[addresses[i]] = i
	}

	found := 0
	b.Run("rows", func(b *testing.B) {
		for i := range b.N {
			if _, ok := x.find(&addresses[i*7919%(2*n)]); ok {
				found++
			}
		}
	})
	b.Run("map", func(b *testing.B) {
		for i := range b.N {
			if _, ok := asMap[addresses[i*7919%(2*n)]]; ok {
				found++
			}
		}
	})
	if found == 0 {
		b.Error("none was found")
	}
}
