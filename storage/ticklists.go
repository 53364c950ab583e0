package storage

import (
	"cmp"
	"slices"
	"sync"

	"tidemark/rankings/market"
)

// tickLists are the lists of initialised ticks of all pools. They are not stored:
// they are built from all ticks when the first list is asked for.
type tickLists struct {
	st   *market.State
	mu   sync.Mutex
	made []market.TickList
}

func (t *tickLists) fault(first uint32, rows *[market.ChunkLen]market.TickList) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made == nil {
		t.made = makeTickLists(t.st)
	}
	copy(rows[:], t.made[first:])
}

// makeTickLists sorts the initialised ticks of every pool.
func makeTickLists(st *market.State) []market.TickList {
	lists := make([]market.TickList, st.Pools.Len())
	counts := make([]uint32, st.Pools.Len())
	for i := range st.Ticks.Len() {
		if t := st.Ticks.At(i); t.Pool != market.NoIndex {
			counts[t.Pool]++
		}
	}

	// All lists are in one allocation, which the garbage collector passes at once.
	total := uint64(0)
	for _, n := range counts {
		total += uint64(n)
	}
	refs := make([]market.TickRef, total)
	for i, n := range counts {
		lists[i].Refs, refs = refs[:0:n], refs[n:]
	}

	for i := range st.Ticks.Len() {
		if t := st.Ticks.At(i); t.Pool != market.NoIndex {
			refs := &lists[t.Pool].Refs
			*refs = append(*refs, market.TickRef{Tick: t.Tick, Slot: i})
		}
	}

	for i := range lists {
		slices.SortFunc(lists[i].Refs, func(a, b market.TickRef) int {
			return cmp.Compare(a.Tick, b.Tick)
		})
	}

	return lists
}
