package rankings_test

import (
	"strings"
	"testing"

	"tidemark/rankings"
	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// TestColumnsFollowChanges: columns that are computed from those of the generation
// before are the same as columns computed anew, after each kind of change.
func TestColumnsFollowChanges(t *testing.T) {
	w := newTestWorld(t, 900)
	var followed *rankings.View
	f := func(name string, change func()) {
		t.Helper()
		change()
		rankings.ForgetBuffers()
		w.publish()
		anew, _ := rankings.Build(nil, w.state(), 1)
		if diff := rankings.ColumnsDiff(w.view, anew); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := rankings.OrdersDiff(w.view, anew); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}

		// A node that follows gets there without sorting.
		var err error
		followed, err = rankings.Follow(followed, w.state(), w.generation, w.directory, w.shelf, nil, func() {})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := rankings.ColumnsDiff(followed, anew); diff != "" {
			t.Errorf("%s, followed: %s", name, diff)
		}
	}
	every := func(change func(i uint32)) func() {
		return func() {
			for i := range w.pools.Len() {
				change(i)
			}
		}
	}

	f("nothing", func() {})
	f("time", func() { w.now += 5000 })
	f("prices within their ticks", every(func(i uint32) {
		p := w.pools.Mut(i)
		var up clmath.U256
		up.Rsh(&p.SqrtPriceX96, 16)
		p.SqrtPriceX96.Add(&p.SqrtPriceX96, &up)
	}))
	f("ticks without their prices", every(func(i uint32) { w.pools.Mut(i).Tick-- }))
	f("fee growth of token0", every(func(i uint32) { w.pools.Mut(i).FeeGrowthGlobal0X128[2] += 1 << 20 }))
	f("fee growth of token1", every(func(i uint32) { w.pools.Mut(i).FeeGrowthGlobal1X128[2] += 1 << 20 }))
	f("ticks that were crossed there and back", func() {
		for i := range w.ticks.Len() {
			w.ticks.Mut(i).FeeGrowthOutside0X128[2] += uint64(i) << 20
		}
		every(func(i uint32) { w.pools.Mut(i).FeeGrowthGlobal0X128[2] += 1 << 30 })()
	})
	f("statistics", every(func(i uint32) { w.stats.Mut(i).TVLUsd *= 2 }))
	f("quarantine", func() { w.pools.Mut(0).Quarantined, w.pools.Mut(3).Quarantined = true, true })
	f("the end of a quarantine", func() { w.pools.Mut(3).Quarantined = false })
	f("token prices", func() { w.prices.Mut(1).Usd *= 3 })
	f("corroboration", func() { w.prices.Mut(2).Corroborated = false })
	f("positions close", func() {
		for i := range uint32(100) {
			w.close(i * 9)
		}
	})
	f("positions open again", func() {
		for i := range uint32(100) {
			w.reopen(i * 7)
		}
	})
	f("records of open and of closed positions, and prices", func() {
		for i := uint32(0); i < w.positions.Len(); i += 13 {
			p := w.positions.Mut(i)
			p.Deposited0.Lo += 1 << 40
			if p.Closed {
				p.Pool = (p.Pool + 1) % w.pools.Len()
			}
		}
		w.prices.Mut(1).Usd *= 3
		every(func(i uint32) { w.pools.Mut(i).FeeGrowthGlobal0X128[2] += 1 << 29 })()
	})
	f("owners change", func() { w.positions.Mut(5).Owner, w.positions.Mut(899).Owner = 1, 2 })
	f("new positions", func() {
		for range 200 {
			w.mint()
		}
	})
	f("a reorg", func() {
		for i := w.positions.Len() - 50; i < w.positions.Len(); i++ {
			w.close(i)
		}
		w.positions.Truncate(w.positions.Len() - 50)
	})
	// Rows of the last pool come to be of another one, which is how a reorg leaves those that
	// were minted in a pool that is no more.
	last := w.pools.Len()
	f("a new pool", w.addPool)
	f("positions in it", func() {
		for i := uint32(0); i < w.positions.Len(); i += 70 {
			w.positions.Mut(i).Pool = last
			w.reopen(i)
		}
	})
	f("a reorg without the pool", func() {
		for i := uint32(0); i < w.positions.Len(); i += 70 {
			w.positions.Mut(i).Pool = 1
		}
		w.pools.Truncate(last)
		w.stats.Truncate(last)
	})
	for range 20 {
		f("blocks", w.change)
	}
}

// TestLookupsAreShared: a generation sorts no table anew that has the same rows as in
// the one before.
func TestLookupsAreShared(t *testing.T) {
	w := newTestWorld(t, 4000)
	f := func(name, want string, change func()) {
		t.Helper()
		was := w.view
		change()
		w.publish()
		if got := strings.Join(rankings.Lookups(was, w.view), " "); got != want {
			t.Errorf("%s: shared are %s; want %s", name, got, want)
		}
	}

	const all = "byOwner byPool byToken owners poolGrams pools symbols tokenGrams tokens"
	f("nothing", all, func() {})
	f("positions and prices", all, func() {
		w.mint()
		w.close(3)
		w.moveTo(1, 9)
	})
	f("an owner", all, func() { w.owners.Append(market.Address{7}) })
	f("a pool", "byOwner byPool byToken owners symbols tokenGrams tokens", w.addPool)
}
