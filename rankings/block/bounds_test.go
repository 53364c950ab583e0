package block

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// TestSmallDirectories: no orders, and an order without leaves at the very end.
func TestSmallDirectories(t *testing.T) {
	for _, d := range []Directory{{Chain: 1}, {Chain: 1, Orders: []Order{NewOrder(0)}}} {
		b := d.Append(nil)
		got, err := DecodeDirectory(b)
		if err != nil || len(got.Orders) != len(d.Orders) || !bytes.Equal(got.Append(nil), b) {
			t.Errorf("%d orders: got %+v, %v", len(d.Orders), got, err)
		}
	}
}

// TestEntryBounds decodes the entry of one leaf at and past its bounds.
func TestEntryBounds(t *testing.T) {
	f := func(name string, before Order, key, number uint64, rows, pass uint16, want bool) {
		t.Helper()
		var e [entrySize]byte
		binary.LittleEndian.PutUint64(e[0:], key)
		binary.LittleEndian.PutUint64(e[8:], number)
		binary.LittleEndian.PutUint16(e[28:], rows)
		binary.LittleEndian.PutUint16(e[30:], pass)
		if err := before.decodeEntry(e[:], 5); (err == nil) != want {
			t.Errorf("%s: got %v; want ok = %v", name, err, want)
		}
	}

	one := func() Order {
		o := NewOrder(1)
		o.Add(9, 0, LeafNumber(1, 0), 0, 300, 300)
		return o
	}
	full := func(rows uint32) Order { return Order{Rows: []uint32{rows}, Pass: []uint32{0}} }

	f("no rows", one(), 9, 0, 0, 0, false)
	f("one row", one(), 9, 0, 1, 0, true)
	f("most rows, all of them pass", one(), 9, 0, MaxLeafRows, MaxLeafRows, true)
	f("too many rows", one(), 9, 0, MaxLeafRows+1, 0, false)
	f("more pass than there are", one(), 9, 0, 7, 8, false)
	f("the same key", one(), 9, 0, 7, 7, true)
	f("a lower key", one(), 8, 0, 7, 7, false)
	f("of this generation", one(), 9, LeafNumber(5, 1<<leafIndexBits-1), 7, 7, true)
	f("of the next generation", one(), 9, LeafNumber(6, 0), 7, 7, false)
	f("32 bits of rows", full(math.MaxUint32-7), 9, 0, 7, 7, true)
	f("33 bits of rows", full(math.MaxUint32-7), 9, 0, 8, 7, false)
}

// TestCutBounds: a leaf may end after its 256th row, not before, and must end
// after its 4096th.
func TestCutBounds(t *testing.T) {
	var ends uint32
	others := []uint32{}
	for id := uint32(0); len(others) < MaxLeafRows; id++ {
		if endsLeaf(id) {
			ends = id
		} else {
			others = append(others, id)
		}
	}

	f := func(at, want int) {
		t.Helper()
		ids := slices.Clone(others)
		ids[at] = ends
		if rows, _ := CutLeaf(append(ids, 1, 2)); rows != want {
			t.Errorf("an ending id at %d: %d rows; want %d", at, rows, want)
		}
	}

	f(MinLeafRows-2, MaxLeafRows)
	f(MinLeafRows-1, MinLeafRows)
	f(MinLeafRows, MinLeafRows+1)
	f(MaxLeafRows-1, MaxLeafRows)
	if rows, _ := CutLeaf(others[:10]); rows != 10 {
		t.Errorf("the last leaf has %d rows; want 10", rows)
	}
}
