package ledger

import (
	"testing"

	"tidemark/rankings/clmath"
	"tidemark/rankings/market"
)

// Whatever an Apply or Revert changes of a pool, its ticks and the positions in it is of a
// pool that EachTouched names, with its liquidity if that, or whose it is, changed.
func TestEachTouched(t *testing.T) {
	transfers := 0
	for seed := range uint64(6) {
		w := newWorld(seed)
		for n := range 120 {
			before := w.Freeze()
			if err := w.step().apply(w.Ledger); err != nil {
				t.Fatal(err)
			}
			transfers += checkTouched(t, w.Ledger, before)

			for n%7 == 0 && len(w.undos) > 0 && w.r.IntN(3) > 0 {
				before := w.Freeze()
				if err := w.Revert(); err != nil {
					t.Fatal(err)
				}
				checkTouched(t, w.Ledger, before)
			}
		}
	}
	if transfers == 0 {
		t.Error("no position changed alone; this is no test")
	}
}

// checkTouched compares the pools that are named with what differs from a State before. It
// returns in how many pools nothing but positions does.
func checkTouched(t *testing.T, l *Ledger, before *market.State) (alone int) {
	t.Helper()
	changed, after := map[uint32]bool{}, l.Freeze()
	named := map[uint32]bool{} // and whether with its liquidity
	positions := map[uint32]bool{}
	l.EachTouched(func(pool, position uint32, liquidity bool) {
		named[pool] = named[pool] || liquidity
		positions[position] = true
	})
	want := func(what string, pool uint32, liquidity bool) {
		t.Helper()
		got, ok := named[pool]
		if pool != market.NoIndex && pool < after.Pools.Len() && (!ok || liquidity && !got) {
			t.Errorf("block %d: %s of pool %d changed, which is not named", after.Head.Number, what, pool)
		}
	}

	eachDifference(&before.Pools, &after.Pools, func(i uint32, _ *market.Pool) {
		changed[i] = true
		want("the row", i, false)
	})
	eachDifference(&before.Ticks, &after.Ticks, func(_ uint32, tick *market.Tick) {
		want("a tick", tick.Pool, false)
	})
	eachDifference(&before.NonNFT, &after.NonNFT, func(_ uint32, n *market.NonNFT) {
		want("liquidity", n.Pool, true)
	})
	a, b := held(&before.Positions), held(&after.Positions)
	eachDifference(&a, &b, func(i uint32, p *position) {
		want("a position", p.pool, true)
		if i < after.Positions.Len() && !positions[i] {
			t.Errorf("block %d: position %d changed, which is not named", after.Head.Number, i)
		}
		if !changed[p.pool] {
			alone++
		}
	})
	return alone
}

// position is what of a position others are interested in. The rest may be NaN.
type position struct {
	pool, owner uint32
	liquidity   clmath.U128
}

func held(positions *market.Frozen[market.Position]) market.Frozen[position] {
	var all market.Table[position]
	for i := range positions.Len() {
		p := positions.At(i)
		all.Append(position{p.Pool, p.Owner, p.Liquidity()})
	}
	return all.Freeze()
}

// eachDifference calls do with the rows that two States have otherwise, as either has them.
func eachDifference[T comparable](a, b *market.Frozen[T], do func(i uint32, row *T)) {
	for i := range max(a.Len(), b.Len()) {
		switch {
		case i >= a.Len():
			do(i, b.At(i))
		case i >= b.Len():
			do(i, a.At(i))
		case *a.At(i) != *b.At(i):
			do(i, a.At(i))
			do(i, b.At(i))
		}
	}
}
