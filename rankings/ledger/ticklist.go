package ledger

import (
	"slices"

	"tidemark/rankings/market"
)

// lists holds the ascending initialised ticks of every pool. A list that some
// frozen State may show is cloned before its first change.
type lists struct {
	market.Table[market.TickList]
	live    *market.Frozen[market.TickList] // the field of Ledger.st; see journal.live
	freezes uint32
	own     []uint32 // by pool: freezes when the list was cloned
}

func (t *lists) open(live *market.Frozen[market.TickList]) {
	*t = lists{Table: market.Thaw(*live), live: live, freezes: 1, own: make([]uint32, live.Len())}
	*live = t.Frozen
}

func (t *lists) freeze() market.Frozen[market.TickList] {
	t.freezes++
	return t.Freeze()
}

func (t *lists) add() {
	t.Append(market.TickList{})
	*t.live = t.Frozen
	t.own = append(t.own, t.freezes)
}

func (t *lists) truncate(n uint32) {
	t.Truncate(n)
	*t.live = t.Frozen
	t.own = t.own[:n]
}

// edit returns the list of a pool for writing.
func (t *lists) edit(pool uint32) *market.TickList {
	list := t.Mut(pool)
	if t.own[pool] != t.freezes {
		t.own[pool] = t.freezes
		list.Refs = slices.Clone(list.Refs)
	}
	return list
}

// above returns the place of the first of refs whose tick is above tick, so
// the one before it is the highest at or below.
func above(refs []market.TickRef, tick int32) int {
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

// findTick returns the slot of an initialised tick.
func findTick(refs []market.TickRef, tick int32) (slot uint32, ok bool) {
	if k := above(refs, tick); k > 0 && refs[k-1].Tick == tick {
		return refs[k-1].Slot, true
	}
	return market.NoIndex, false
}

// insert adds a tick that is not in the list. It costs a copy of what stands
// behind it, and of the whole list on the first change after a freeze.
func (t *lists) insert(pool uint32, ref market.TickRef) {
	list := t.edit(pool)
	list.Refs = slices.Insert(list.Refs, above(list.Refs, ref.Tick), ref)
}

// remove takes a tick that is in the list out of it.
func (t *lists) remove(pool uint32, tick int32) {
	list := t.edit(pool)
	k := above(list.Refs, tick)
	if k == 0 || list.Refs[k-1].Tick != tick {
		panic("BUG: a tick to remove is not in its pool's list")
	}
	list.Refs = slices.Delete(list.Refs, k-1, k)
}
