package rankings_test

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// follow is Follow of the newest generation with what the node that built it tells.
func (w *world) follow(prev *rankings.View, told []byte) (*rankings.View, error) {
	return rankings.Follow(prev, w.state(), w.generation, w.directory, w.shelf, told, func() {})
}

// A node that is told has the same columns, and reads hardly a leaf that was written: also
// after a generation that it did not take, and after a start.
func TestHints(t *testing.T) {
	w := newTestWorld(t, 9000)
	followed, err := w.follow(nil, w.view.AppendHints(nil, nil))
	if err != nil {
		t.Fatal(err)
	}

	alone, turned, crossed, reads, without := followed, 0, 0, 0, 0
	for turn := range 12 {
		before := w.view
		w.change()
		w.publish()
		told := w.view.AppendHints([]byte("note"), before)[len("note"):]
		turned += rankings.TurnedRange(before, w.view)
		crossed += rankings.CrossedRows(w.view)
		switch turn {
		case 4:
			continue
		case 8:
			followed, alone = nil, nil
		}

		at := w.shelf.reads
		if followed, err = w.follow(followed, told); err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
		reads += w.shelf.reads - at
		at = w.shelf.reads
		if alone, err = w.follow(alone, nil); err != nil {
			t.Fatalf("turn %d: %v", turn, err)
		}
		without += w.shelf.reads - at
		if diff := rankings.ColumnsDiff(followed, w.view); diff != "" {
			t.Errorf("turn %d: %s", turn, diff)
		}
	}
	if reads > without/8 {
		t.Errorf("%d leaves were read, and %d by a node that was told nothing", reads, without)
	}
	if turned < 12 || crossed < 12 {
		t.Errorf("%d words of rows that entered or left their range and %d of crossed ones are no test",
			turned, crossed)
	}
}

// A row of which a price crossed an end is told also if it was written and what was written
// is undone: on the other nodes it is the row of before.
func TestHintsOfUndoneRows(t *testing.T) {
	w := newTestWorld(t, 900)
	for i := range w.positions.Len() {
		w.positions.Mut(i).CostUsd = market.Unknown // a copy of the row does not equal it
	}
	w.publish()

	told := 0
	for i := range w.ticks.Len() {
		w.ticks.Mut(i).FeeGrowthOutside0X128[2] += uint64(i) << 20
	}
	for i := range w.pools.Len() {
		w.pools.Mut(i).FeeGrowthGlobal0X128[2] += 1 << 30
	}
	for i := range w.positions.Len() {
		w.positions.Mut(i)
	}
	w.publish()
	for i := range w.positions.Len() {
		p := w.positions.At(i)
		tick := w.pools.At(p.Pool).Tick
		if !p.IsOpen() || p.TickLower <= tick && tick < p.TickUpper {
			continue
		}
		if told++; !rankings.IsCrossed(w.view, i) {
			t.Errorf("row %d is not told", i)
		}
	}
	if told == 0 {
		t.Error("no row is out of range")
	}
}

// What does not add up is refused.
func TestHintsThatAreRefused(t *testing.T) {
	w := newTestWorld(t, 3000)
	prev, err := w.follow(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := w.view
	w.change()
	w.publish()
	told := w.view.AppendHints(nil, before)
	const sums = 8 + 8 // of rows in range, and of values
	_, baseLen := binary.Uvarint(told)
	f := func(want string, change func(b []byte) []byte) {
		t.Helper()
		if _, err := w.follow(prev, change(slices.Clone(told))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %q", err, want)
		}
	}

	f("bad field passing", func(b []byte) []byte { return b[:len(b)-1] })
	f("bad field in range", func(b []byte) []byte { return b[:baseLen+3] })
	f("1 bytes after the end", func(b []byte) []byte { return append(b, 0) })
	f("bad field word", func(b []byte) []byte { // a word after the last row
		b = append(b[:baseLen+sums], 1, 255, 255, 3)
		return append(b, make([]byte, 4096)...)
	})
	f("bad field leaf", func(b []byte) []byte { // a leaf after the last one
		b = append(b[:baseLen+sums], 0, 0, 1, 255, 255, 3)
		return append(b, make([]byte, 4096)...)
	})
	f("other rows are in range", func(b []byte) []byte { b[baseLen] ^= 1; return b })
	f("rows have other values", func(b []byte) []byte { b[baseLen+8] ^= 1; return b })
	f("the default filters admit", func(b []byte) []byte { b[len(b)-40] ^= 1; return b })
	if _, err := w.follow(prev, told); err != nil {
		t.Errorf("as it was told: %v", err)
	}
}
