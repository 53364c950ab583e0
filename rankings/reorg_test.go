package rankings_test

import (
	"maps"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/market"
)

// TestReorgs: columns and orders after a reorg are those that are computed anew. The chain
// goes back to an earlier state, with all of its tables, and on from there another way: rows
// and the pools, owners, tokens and ticks that they name are others than in the generation
// before, or are no more.
func TestReorgs(t *testing.T) {
	w := newTestWorld(t, 400)
	var told, alone *rankings.View // of nodes that follow, with hints and without
	publish := func(round int) {
		before := w.view
		if w.publish(); w.IntN(3) == 0 {
			rankings.ForgetBuffers()
		}

		var err error
		if told, err = w.follow(told, w.view.AppendHints(nil, before)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if alone, err = w.follow(alone, nil); err != nil {
			t.Fatalf("round %d, without hints: %v", round, err)
		}

		anew, _ := rankings.Build(nil, w.state(), 1)
		for name, v := range map[string]*rankings.View{"built": w.view, "told": told, "alone": alone} {
			if diff := rankings.ColumnsDiff(v, anew); diff != "" {
				t.Fatalf("round %d, %s: %s", round, name, diff)
			}
		}
		if diff := rankings.OrdersDiff(w.view, anew); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
	}

	for round := range 60 {
		back := w.save()
		for range 1 + w.IntN(3) {
			w.fork()
			publish(round)
		}
		if w.IntN(4) > 0 {
			back()
			w.fork()
			publish(round)
		}
	}
}

// save returns what takes the world back to its present state, apart from what was published.
func (w *world) save() (back func()) {
	st, open, next, now, slots := w.state(), w.open, w.nextID, w.now, maps.Clone(w.slots)
	return func() {
		w.tokens, w.owners, w.pools = market.Thaw(st.Tokens), market.Thaw(st.Owners), market.Thaw(st.Pools)
		w.ticks, w.positions = market.Thaw(st.Ticks), market.Thaw(st.Positions)
		w.prices, w.stats = market.Thaw(st.Prices), market.Thaw(st.Stats)
		w.open, w.nextID, w.now, w.slots = open, next, now, slots
	}
}

// fork changes the world as blocks do that are on one side of a fork only: pools, tokens and
// owners that are new on it have positions.
func (w *world) fork() {
	for range w.IntN(3) {
		token := *w.tokens.At(w.Uint32N(w.tokens.Len()))
		w.fill(token.Address[:])
		price := *w.prices.At(w.Uint32N(w.prices.Len()))
		w.tokens.Append(token)
		w.prices.Append(price)
	}
	for range w.IntN(4) {
		w.addPool()
		w.pools.Mut(w.pools.Len() - 1).Currency1 = w.tokens.Len() - 1
	}
	for range w.IntN(4) {
		var a market.Address
		w.fill(a[:])
		w.owners.Append(a)
	}

	for range w.IntN(80) {
		w.mint()
		p := w.positions.Mut(w.positions.Len() - 1)
		if w.IntN(2) == 0 {
			p.Pool, p.Owner = w.pools.Len()-1, w.owners.Len()-1
		}
	}
	w.change()
}
