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
	refs []market.TickRef
	ends []uint32 // nil until then
}

// all returns the lists one after the other, and where each ends.
func (t *tickLists) all() (refs []market.TickRef, ends []uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ends == nil {
		t.refs, t.ends = makeTickLists(t.st)
	}
	return t.refs, t.ends
}

// makeTickLists sorts the initialised ticks of every pool.
func makeTickLists(st *market.State) (refs []market.TickRef, ends []uint32) {
	counts := make([]uint32, st.Pools.Len())
	for i := range st.Ticks.Len() {
		if t := st.Ticks.At(i); t.Pool != market.NoIndex {
			counts[t.Pool]++
		}
	}

	// A list ends where it begins until its ticks come.
	ends = counts
	total := uint32(0)
	for pool, n := range counts {
		ends[pool] = total
		total += n
	}

	refs = make([]market.TickRef, total)
	for i := range st.Ticks.Len() {
		if t := st.Ticks.At(i); t.Pool != market.NoIndex {
			refs[ends[t.Pool]] = market.TickRef{Tick: t.Tick, Slot: i}
			ends[t.Pool]++
		}
	}

	from := uint32(0)
	for _, end := range ends {
		slices.SortFunc(refs[from:end], func(a, b market.TickRef) int { return cmp.Compare(a.Tick, b.Tick) })
		from = end
	}
	return refs, ends
}
