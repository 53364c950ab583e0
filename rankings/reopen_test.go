package rankings_test

import (
	"errors"
	"slices"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/block"
)

// A chain that is opened again keeps the leaves that are pinned, and drops them when they are
// pinned no longer: of the generation that was shown last, of one before it, and when the
// store has a later one.
func TestPinsOutliveAReopening(t *testing.T) {
	w := newTestWorld(t, 9000)
	grow := func(n int) {
		for range n {
			w.change()
			w.publish()
		}
	}
	f := func(shownAfter, storedAfter int) {
		t.Helper()
		grow(1)
		pinned := w.view
		pinned.Pin()
		want, err := everything(pinned, w.shelf, rankings.ByPnl)
		if err != nil {
			t.Fatal(err)
		}

		grow(shownAfter)
		shown := w.view
		shown.Confirm(int64(w.generation))
		grow(storedAfter)
		opened, err := rankings.Open(w.view.State, w.generation, w.directory)
		if err != nil {
			t.Fatal(err)
		}
		opened.KeepPins(shown)
		if w.view, err = rankings.Complete(opened, func() {}); err != nil {
			t.Fatal(err)
		}
		if at := w.view.Confirmed(); (at == int64(w.generation)) != (storedAfter == 0) {
			t.Errorf("generation %d was confirmed at %d", w.generation, at)
		}

		grow(3)
		rows, err := everything(pinned, w.shelf, rankings.ByPnl)
		if err != nil || !slices.Equal(rows, want) {
			t.Errorf("shown %d later, stored %d later: %d rows, %v; want %d", shownAfter, storedAfter, len(rows), err, len(want))
		}
		pinned.Unpin()
		grow(2)
		if _, err := everything(pinned, w.shelf, rankings.ByPnl); !errors.Is(err, block.ErrLeafGone) {
			t.Errorf("shown %d later, stored %d later, not pinned any more: %v", shownAfter, storedAfter, err)
		}
	}

	f(0, 0)
	f(1, 0)
	f(4, 0)
	f(0, 1)
	f(3, 1)
}
