package market

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// TestTickListsAgainstSlices appends, truncates, replaces and freezes at random, and
// compares every list with a slice. What was frozen never changes, whatever becomes of its
// neighbours.
func TestTickListsAgainstSlices(t *testing.T) {
	type frozenLists struct {
		lists TickLists
		want  [][]TickRef
	}
	r := rand.New(rand.NewPCG(7, 1))
	var lists TickListTable
	var want [][]TickRef
	var frozen []frozenLists

	for step := range 3000 {
		switch n := r.IntN(40); {
		case n == 0:
			frozen = append(frozen, frozenLists{lists.Freeze(), cloneLists(want)})
		case n < 6 || len(want) == 0:
			refs := randomRefs(r, step)
			lists.Append(refs...)
			want = append(want, refs)
		case n == 6:
			want = want[:len(want)-r.IntN(min(len(want), 20))]
			lists.Truncate(uint32(len(want)))
		case n == 7:
			lists = ThawTickLists(lists.Freeze())
		default:
			pool := r.IntN(len(want))
			i := r.IntN(len(want[pool]) + 1)
			j := i + r.IntN(len(want[pool])-i+1)
			refs := randomRefs(r, step)
			lists.Replace(uint32(pool), i, j, refs...)
			want[pool] = slices.Replace(slices.Clone(want[pool]), i, j, refs...)
		}

		live := lists.Live()
		sameLists(t, &live, want)
	}

	for i := range frozen {
		sameLists(t, &frozen[i].lists, frozen[i].want)
	}
}

func randomRefs(r *rand.Rand, step int) (refs []TickRef) {
	for i := range r.IntN(4) {
		refs = append(refs, TickRef{Tick: int32(step), Slot: uint32(i)})
	}
	return refs
}

func cloneLists(lists [][]TickRef) (clones [][]TickRef) {
	for _, list := range lists {
		clones = append(clones, slices.Clone(list))
	}
	return clones
}

func sameLists(t *testing.T, got *TickLists, want [][]TickRef) {
	t.Helper()
	if int(got.Len()) != len(want) {
		t.Fatalf("%d lists; want %d", got.Len(), len(want))
	}
	for pool, refs := range want {
		if list := got.At(uint32(pool)); !slices.Equal(list, refs) || cap(list) != len(list) {
			t.Fatalf("pool %d lists %v with room for %d; want %v", pool, list, cap(list), refs)
		}
	}
}

// TestTickListsAreCopiedOnce: the first change after a freeze copies the lists of a group,
// and no other ones.
func TestTickListsAreCopiedOnce(t *testing.T) {
	var lists TickListTable
	for range 2 * groupPools {
		lists.Append(TickRef{}, TickRef{Tick: 60})
	}
	frozen := lists.Freeze()
	f := func(what string, pool uint32, shared bool) {
		t.Helper()
		live := lists.Live()
		if is := unsafe.SliceData(live.At(pool)) == unsafe.SliceData(frozen.At(pool)); is != shared {
			t.Errorf("%s: the list of pool %d is shared: %t; want %t", what, pool, is, shared)
		}
	}

	f("no change", 0, true)
	lists.Replace(1, 0, 1)
	f("one change", 0, false)
	f("one change", groupPools, true)

	frozen = lists.Live()
	lists.Replace(2, 1, 2)
	f("another change", 0, true)
}

// TestColdTickLists reads lists that lie one after the other, also those of a last group
// with few pools.
func TestColdTickLists(t *testing.T) {
	for _, n := range []int{0, 1, groupPools, groupPools + 1, ChunkLen*groupPools + 3} {
		var want [][]TickRef
		var refs []TickRef
		var ends []uint32
		for pool := range n {
			list := make([]TickRef, pool%5)
			for i := range list {
				list[i] = TickRef{Tick: int32(pool), Slot: uint32(i)}
			}
			want, refs = append(want, list), append(refs, list...)
			ends = append(ends, uint32(len(refs)))
		}

		cold := ColdTickLists(uint32(n), func() ([]TickRef, []uint32) { return refs, ends })
		sameLists(t, &cold, want)
		cold.Warm(func() bool { return false })
		lists := ThawTickLists(cold)
		lists.Append(TickRef{Tick: 1})
		live := lists.Live()
		sameLists(t, &live, append(want, []TickRef{{Tick: 1}}))
		sameLists(t, &cold, want)
	}
}
