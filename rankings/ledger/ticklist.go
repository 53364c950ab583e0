package ledger

import (
	"fmt"
	"slices"

	"tidemark/rankings/market"
)

// tickLists is the ascending initialised ticks of every pool. A list that a frozen
// State may share is cloned before its first change.
type tickLists struct {
	market.Table[market.TickList]
	live    *market.Frozen[market.TickList] // the field of Ledger.st; see journal.live
	freezes uint32
	own     []uint32 // by pool: value of freezes when the list was cloned
}

func (t *tickLists) open(live *market.Frozen[market.TickList]) {
	*t = tickLists{Table: market.Thaw(*live), live: live, freezes: 1, own: make([]uint32, live.Len())}
	*live = t.Frozen
}

func (t *tickLists) freeze() market.Frozen[market.TickList] {
	t.freezes++
	frozen := t.Freeze()
	*t.live = t.Frozen
	return frozen
}

func (t *tickLists) add() {
	t.Append(market.TickList{})
	*t.live = t.Frozen
	t.own = append(t.own, t.freezes)
}

func (t *tickLists) truncate(n uint32) {
	t.Truncate(n)
	*t.live = t.Frozen
	t.own = t.own[:n]
}

// edit returns the list of a pool for writing.
func (t *tickLists) edit(pool uint32) *market.TickList {
	list := t.Mut(pool)
	if t.own[pool] != t.freezes {
		t.own[pool] = t.freezes
		list.Refs = slices.Clone(list.Refs)
	}
	return list
}

// countUpTo returns how many refs have a tick at or below tick, which is also the
// index of the first above it.
func countUpTo(refs []market.TickRef, tick int32) int {
	low, high := 0, len(refs)
	for low < high {
		if mid := int(uint(low+high) >> 1); refs[mid].Tick > tick {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}

// findTick returns the record of an initialised tick.
func findTick(refs []market.TickRef, tick int32) (slot uint32, ok bool) {
	if k := countUpTo(refs, tick); k > 0 && refs[k-1].Tick == tick {
		return refs[k-1].Slot, true
	}
	return market.NoIndex, false
}

// insert adds a tick that is not in the list. It copies what follows the tick, and
// on the first change after a freeze the whole list.
func (t *tickLists) insert(pool uint32, ref market.TickRef) {
	list := t.edit(pool)
	list.Refs = slices.Insert(list.Refs, countUpTo(list.Refs, ref.Tick), ref)
}

// remove removes a tick, which must be in the list.
func (t *tickLists) remove(pool uint32, tick int32) {
	list := t.edit(pool)
	k := countUpTo(list.Refs, tick)
	if k == 0 || list.Refs[k-1].Tick != tick {
		panic(fmt.Sprintf("BUG: tick %d is not in the list of pool %d", tick, pool))
	}
	list.Refs = slices.Delete(list.Refs, k-1, k)
}
