package storage

import (
	"cmp"
	"slices"
	"sync"

	"tidemark/rankings/ledger"
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
		sortTicks(refs[from:end])
		from = end
	}
	return refs, ends
}

func sortTicks(refs []market.TickRef) {
	slices.SortFunc(refs, func(a, b market.TickRef) int { return cmp.Compare(a.Tick, b.Tick) })
}

// listTicks brings the lists of a Replica to the ticks that the last batch changed.
func (r *Replica) listTicks(st *market.State) {
	r.lists.Truncate(min(r.lists.Len(), st.Pools.Len()))
	for r.lists.Len() < st.Pools.Len() {
		r.lists.Append()
	}

	changed, pools := r.changedTicks(st)
	live := r.lists.Live()
	for pool, refs := range pools {
		if pool >= st.Pools.Len() {
			continue // the record is free, or its pool is gone
		}
		old := live.At(pool)
		for _, ref := range old {
			if !changed[ref.Slot] {
				refs = append(refs, ref)
			}
		}
		sortTicks(refs)
		r.lists.Replace(pool, 0, len(old), refs...)
	}
	st.TickLists = r.lists.Freeze()
}

// changedTicks returns the records of ticks that are not as in the last cut, and the pools
// whose lists they change, each with those of them that it has now. A record may have been
// of another pool before.
func (r *Replica) changedTicks(st *market.State) (changed map[uint32]bool, pools map[uint32][]market.TickRef) {
	before := &market.State{}
	if r.cut != nil {
		before = r.cut.State
	}
	set := replicaTable[market.Tick](r, ledger.Ticks.Index()).last
	changed, pools = make(map[uint32]bool, len(set)), make(map[uint32][]market.TickRef)
	leave := func(slot uint32) {
		changed[slot] = true
		if slot < before.Ticks.Len() {
			pool := before.Ticks.At(slot).Pool
			if _, listed := pools[pool]; !listed {
				pools[pool] = nil // its list is made anew, also if nothing is added to it below
			}
		}
	}

	for _, slot := range set {
		leave(slot)
		t := st.Ticks.At(slot)
		pools[t.Pool] = append(pools[t.Pool], market.TickRef{Tick: t.Tick, Slot: slot})
	}
	for slot := st.Ticks.Len(); slot < before.Ticks.Len(); slot++ {
		leave(slot) // a revert removed the record
	}
	return changed, pools
}
