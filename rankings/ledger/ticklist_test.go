package ledger

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/rankings/market"
)

// TestTickListsAgainstMaps inserts, removes, adds, truncates and freezes at random,
// and compares every list with a map. What was frozen never changes.
func TestTickListsAgainstMaps(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	var lists tickLists
	var live market.TickLists
	lists.open(&live)
	var want []map[int32]uint32
	var frozen []frozenLists

	for step := range 4000 {
		pool := uint32(r.IntN(max(len(want), 1)))
		switch n := r.IntN(40); {
		case n == 0:
			frozen = append(frozen, frozenLists{lists.freeze(), cloneAll(want)})
		case n < 3 || len(want) == 0:
			lists.add()
			want = append(want, map[int32]uint32{})
		case n == 3:
			want = want[:max(len(want)-1, 1)]
			lists.truncate(uint32(len(want)))
		default:
			tick := int32(r.IntN(64)) - 32
			if _, listed := want[pool][tick]; listed {
				lists.remove(pool, tick)
				delete(want[pool], tick)
			} else {
				lists.insert(pool, market.TickRef{Tick: tick, Slot: uint32(step)})
				want[pool][tick] = uint32(step)
			}
		}
		sameAsMaps(t, &live, want)
	}

	for _, f := range frozen {
		sameAsMaps(t, &f.lists, f.want)
	}
}

// frozenLists are lists that readers may have, and what they should be.
type frozenLists struct {
	lists market.TickLists
	want  []map[int32]uint32
}

func cloneAll(lists []map[int32]uint32) (clones []map[int32]uint32) {
	for _, list := range lists {
		clones = append(clones, maps.Clone(list))
	}
	return clones
}

func sameAsMaps(t *testing.T, got *market.TickLists, want []map[int32]uint32) {
	t.Helper()
	if int(got.Len()) != len(want) {
		t.Fatalf("%d lists; want %d", got.Len(), len(want))
	}

	for pool, ticks := range want {
		refs := got.At(uint32(pool))
		if len(refs) != len(ticks) {
			t.Fatalf("pool %d lists %v; want %v", pool, refs, ticks)
		}
		for i, tick := range slices.Sorted(maps.Keys(ticks)) {
			if refs[i] != (market.TickRef{Tick: tick, Slot: ticks[tick]}) {
				t.Fatalf("pool %d lists %v; want %v", pool, refs, ticks)
			}
			if slot, ok := findTick(refs, tick); !ok || slot != ticks[tick] {
				t.Fatalf("tick %d of pool %d is found in %d, %t; want %d", tick, pool, slot, ok, ticks[tick])
			}
		}
	}
}

// TestRemoveATickThatIsNotListed: only a mistake of the ledger can ask for it.
func TestRemoveATickThatIsNotListed(t *testing.T) {
	var lists tickLists
	lists.open(new(market.TickLists))
	lists.add()
	lists.insert(0, market.TickRef{Tick: 60, Slot: 1})

	for _, tick := range []int32{59, 61, -60} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("tick %d was removed from a list that has only 60", tick)
				}
			}()
			lists.remove(0, tick)
		}()
	}
}
