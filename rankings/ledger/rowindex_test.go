package ledger

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"testing"

	"tidemark/rankings/market"
)

// newOwners returns an index as that of the owners.
func newOwners(rows *market.Frozen[market.Address]) *rowIndex[market.Address] {
	return newRowIndex(rows, func(a *market.Address) []byte { return a[:] })
}

// all returns every row of the index by the key with which find finds it.
func (x *rowIndex[T]) all() map[string]uint32 {
	rows := make(map[string]uint32)
	for i := range x.rows.Len() {
		if row, ok := x.find(x.key(i)); ok {
			rows[string(x.key(i))] = row
		}
	}
	return rows
}

// tokenAt and poolAt return the rows of a token and of a pool that the ledger has.
func (l *Ledger) tokenAt(a market.Address) uint32 {
	row, _ := l.tokenOf.find(a[:])
	return row
}

func (l *Ledger) poolAt(id market.PoolID) uint32 {
	row, _ := l.poolOf.find(id[:])
	return row
}

// TestRowsOfOneSlot: owners whose searches begin in the same slot are found behind each other, up
// to a table's end and from its beginning on, until it is as full as it may be.
func TestRowsOfOneSlot(t *testing.T) {
	for _, slot := range []int{0, 3, minSlots - 1} {
		var table market.Table[market.Address]
		rows := new(market.Frozen[market.Address])
		x := newOwners(rows)
		for n := uint32(1); !isCrowded(table.Len()+1, minSlots); n++ {
			var a market.Address
			binary.BigEndian.PutUint32(a[16:], n)
			hash := x.hash(a[:])
			if x.table(hash) != &x.tables[7] || int(hash/indexTables)&(minSlots-1) != slot {
				continue
			}
			row := table.Append(a)
			*rows = table.Frozen
			x.add(row)
		}
		if len(x.tables[7].slots) != minSlots || rows.Len() < 5 {
			t.Fatalf("%d owners take %d slots", rows.Len(), len(x.tables[7].slots))
		}

		for left := rows.Len(); left > 0; left-- {
			for i := range rows.Len() {
				if row, ok := x.find(rows.At(i)[:]); ok != (i < left) || ok && row != i {
					t.Errorf("of %d owners from slot %d on number %d is found: %t, row %d", left, slot, i, ok, row)
				}
			}
			x.remove(left - 1)
		}
	}
}

// TestRowIndex compares the index with a map while rows come at the end and the newest
// go, as spans and their undos have it. Most are of two tables, so that full runs of slots
// form and break up.
func TestRowIndex(t *testing.T) {
	const most = 300
	random := rand.New(rand.NewPCG(1, 2))
	var table market.Table[market.Address]
	rows := new(market.Frozen[market.Address])
	x, want := newOwners(rows), map[string]uint32{}
	owner := func(n int) (a market.Address) {
		binary.BigEndian.PutUint32(a[16:], uint32(n))
		for n%10 > 0 && x.hash(a[:])%indexTables > 1 {
			a[0], a[1] = byte(random.Uint32()), byte(random.Uint32())
		}
		return a
	}

	for step := range 20_000 {
		if n := int(rows.Len()); n == 0 || n < most && random.IntN(5) > 1 {
			a := owner(step)
			want[string(a[:])] = table.Append(a)
			*rows = table.Frozen
			x.add(uint32(n))
		} else {
			last := uint32(n - 1)
			delete(want, string(rows.At(last)[:]))
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
			if row, ok := x.find(unknown[:]); ok {
				t.Fatalf("step %d: an unknown address is row %d", step, row)
			}
		}
	}

	again := newOwners(rows)
	for i := range rows.Len() {
		again.add(i)
	}
	if got := again.all(); !maps.Equal(got, want) {
		t.Errorf("an index over the same rows has %v; want %v", got, want)
	}
	used := 0
	for i := range x.tables {
		used += int(x.tables[i].used)
	}
	if used != len(want) {
		t.Errorf("%d rows are counted; want %d", used, len(want))
	}
}

// TestRowIndexRemovesAny removes rows in any order, and adds them again: those behind
// them in a run of slots are found all the same.
func TestRowIndexRemovesAny(t *testing.T) {
	const n = 200
	random := rand.New(rand.NewPCG(3, 4))
	var table market.Table[market.Address]
	x := newOwners(&table.Frozen)
	for row := range uint32(n) {
		var a market.Address
		for a == (market.Address{}) || x.hash(a[:])%indexTables != 5 { // one table
			binary.BigEndian.PutUint64(a[12:], random.Uint64())
		}
		table.Append(a)
		x.add(row)
	}

	there := make([]bool, n)
	for row := range there {
		there[row] = true
	}
	for step := range 5_000 {
		row := random.Uint32N(n)
		if there[row] = !there[row]; there[row] {
			x.add(row)
		} else {
			x.remove(row)
		}
		for row := range uint32(n) {
			if got, ok := x.find(table.At(row)[:]); ok != there[row] || ok && got != row {
				t.Fatalf("step %d: row %d is found as %d, %t; want %t", step, row, got, ok, there[row])
			}
		}
	}
}

// An index that is made for rows has room for them: hardly a table doubles while they come.
func TestRowIndexHasRoom(t *testing.T) {
	const n = 200_000
	var table market.Table[market.Address]
	for i := range uint32(n) {
		var a market.Address
		binary.BigEndian.PutUint32(a[16:], i)
		table.Append(a)
	}

	x := newOwners(&table.Frozen)
	size := len(x.tables[0].slots)
	for i := range uint32(n) {
		x.add(i)
	}
	for i := range x.tables {
		if got := len(x.tables[i].slots); got != size {
			t.Errorf("table %d has %d slots; want %d as in the beginning, for %d rows in all", i, got, size, n)
		}
	}
}

// BenchmarkRowIndex finds owners in turn, half of whom are not there.
func BenchmarkRowIndex(b *testing.B) {
	const n = 1 << 19
	var table market.Table[market.Address]
	addresses := make([]market.Address, 2*n)
	for i := range addresses {
		binary.BigEndian.PutUint64(addresses[i][4:], uint64(i)*0x9e3779b97f4a7c15)
		if i < n {
			table.Append(addresses[i])
		}
	}
	x := newOwners(&table.Frozen)
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
			if _, ok := x.find(addresses[i*7919%(2*n)][:]); ok {
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
