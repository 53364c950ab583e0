package rankings_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/block"
)

// A view that followed answers as the one that was built, and a node that followed goes
// on with the next generation as the one that built.
func TestFollowedViewGoesOn(t *testing.T) {
	w := newTestWorld(t, 9000)
	followed, err := rankings.Follow(nil, w.state(), w.generation, w.directory, w.shelf, nil, func() {})
	if err != nil {
		t.Fatal(err)
	}

	pinned, reads := followed, 0
	pinned.Pin()
	for range 12 {
		w.change()
		w.publish()
		before, prev := w.shelf.reads, followed
		followed, err = rankings.Follow(prev, w.state(), w.generation, w.directory, w.shelf, nil, func() {})
		if err != nil {
			t.Fatal(err)
		}
		reads += w.shelf.reads - before
		for by := range rankings.PositionSort(8) {
			want, err := everything(w.view, w.shelf, by)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := everything(followed, w.shelf, by); err != nil || !slices.Equal(got, want) {
				t.Fatalf("generation %d, sort %d: other rows, or %v", w.generation, by, err)
			}
		}
	}

	// It has other bases, since what those of the node before have cost is not told.
	built, _ := rankings.Build(w.view, w.state(), w.generation+1)
	next, _ := rankings.Build(followed, w.state(), w.generation+1)
	if diff := rankings.OrdersDiff(built, next); diff != "" {
		t.Errorf("the next generation after a followed one is not the same: %s", diff)
	}
	if all := 12 * leavesOf(t, w.directory); reads >= all {
		t.Errorf("%d of %d leaves were read; those that did not change need not be", reads, all)
	}
}

// When the default filters admit other rows, only the leaves of these are read again.
func TestFollowReadsLeavesOfTurnedRows(t *testing.T) {
	w := newTestWorld(t, 9000)
	small := w.positions.At(5).Pool
	for i := range w.positions.Len() {
		if i != 5 && w.positions.At(i).Pool == small {
			w.positions.Mut(i).Pool = (small + 1) % w.pools.Len()
		}
	}
	w.stats.Mut(small).TVLUsd = rankings.DefaultMinPoolTVLUsd
	w.publish()
	followed, err := rankings.Follow(nil, w.state(), w.generation, w.directory, w.shelf, nil, func() {})
	if err != nil {
		t.Fatal(err)
	}

	w.stats.Mut(small).TVLUsd--
	w.publish()
	before := w.shelf.reads
	followed, err = rankings.Follow(followed, w.state(), w.generation, w.directory, w.shelf, nil, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if diff := rankings.ColumnsDiff(followed, w.view); diff != "" {
		t.Error(diff)
	}
	all := leavesOf(t, w.directory)
	if reads := w.shelf.reads - before; reads == 0 || reads > all/2 {
		t.Errorf("one position turned, and %d of %d leaves were read", reads, all)
	}
}

func leavesOf(t *testing.T, directory []byte) (n int) {
	t.Helper()
	d, err := block.DecodeDirectory(directory)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Orders {
		n += d.Orders[i].Leaves()
	}
	return n
}

// A leaf or a directory that does not fit the records is refused.
func TestFollowRefusals(t *testing.T) {
	w := newTestWorld(t, 2000)
	f := func(want string, directory []byte) {
		t.Helper()
		_, err := rankings.Follow(nil, w.state(), w.generation, directory, w.shelf, nil, func() {})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %q", err, want)
		}
	}

	f("checksum", append(slices.Clone(w.directory[:len(w.directory)-1]), w.directory[len(w.directory)-1]^1))
	d, err := block.DecodeDirectory(w.directory)
	if err != nil {
		t.Fatal(err)
	}
	o := &d.Orders[0]
	if o.Pass[1] == 0 {
		t.Fatal("the first leaf passes nothing")
	}
	for i := range o.Pass[1:] {
		o.Pass[i+1]--
	}
	f("the default filters admit", d.Append(nil))

	// A leaf with other rows, with one that is not in the table, and none.
	key := shelfKey(1, o.Numbers[0])
	kept := w.shelf.leaves[key]
	ids, err := block.DecodeLeaf(kept, nil, nil)
	if err != nil || len(ids) < 3 {
		t.Fatal(len(ids), err)
	}
	leaf := func(want string, ids ...uint32) {
		t.Helper()
		w.shelf.leaves[key] = block.AppendLeaf(nil, ids)
		f(want, w.directory)
	}
	leaf(fmt.Sprintf("leaf 0 has %d rows; the directory has %d", len(ids)-1, len(ids)), ids[:len(ids)-1]...)
	swapped := slices.Clone(ids)
	swapped[0], swapped[1] = ids[1], ids[0]
	leaf(fmt.Sprintf("leaf 0 begins with row %d; the directory has %d", ids[1], ids[0]), swapped...)
	rows := w.positions.Len()
	leaf(fmt.Sprintf("leaf 0 has row %d; the table has %d rows", rows, rows), append(slices.Clone(ids[:len(ids)-1]), rows)...)
	delete(w.shelf.leaves, key)
	f(block.ErrLeafGone.Error(), w.directory)
	w.shelf.leaves[key] = kept
	if _, err := rankings.Follow(nil, w.state(), w.generation, w.directory, w.shelf, nil, func() {}); err != nil {
		t.Errorf("with all leaves: %v", err)
	}
}

// TestTakingTurns: a node that builds generations, follows others and builds again has the
// orders of one that computes them anew.
func TestTakingTurns(t *testing.T) {
	w := newTestWorld(t, 3000)
	own := w.view
	for turn := range 12 {
		w.change()
		w.publish()
		if turn%3 == 2 {
			own, _ = rankings.BuildPaced(own, w.state(), w.generation, nil, func() {})
			anew, _ := rankings.Build(nil, w.state(), w.generation)
			if diff := rankings.OrdersDiff(own, anew); diff != "" {
				t.Fatalf("turn %d: %s", turn, diff)
			}
			continue
		}

		var err error
		if own, err = rankings.Follow(own, w.state(), w.generation, w.directory, w.shelf, nil, func() {}); err != nil {
			t.Fatal(err)
		}
	}
}
