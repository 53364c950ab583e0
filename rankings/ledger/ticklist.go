package ledger

import (
	"fmt"

	"tidemark/rankings/market"
)

// tickLists is the writer's side of the tick lists of all pools.
type tickLists struct {
	market.TickListTable
	live *market.TickLists // the field of Ledger.st; see journal.live
}

func (t *tickLists) open(live *market.TickLists) {
	*t = tickLists{market.ThawTickLists(*live), live}
	*live = t.Live()
}

func (t *tickLists) freeze() market.TickLists {
	frozen := t.Freeze()
	*t.live = t.Live()
	return frozen
}

func (t *tickLists) add() {
	t.Append()
	*t.live = t.Live()
}

func (t *tickLists) truncate(n uint32) {
	t.Truncate(n)
	*t.live = t.Live()
}

// findTick returns the record of an initialised tick.
func findTick(refs []market.TickRef, tick int32) (slot uint32, ok bool) {
	if k := market.FirstAbove(refs, tick); k > 0 && refs[k-1].Tick == tick {
		return refs[k-1].Slot, true
	}
	return market.NoIndex, false
}

// insert adds a tick that is not in the list.
func (t *tickLists) insert(pool uint32, ref market.TickRef) {
	k := market.FirstAbove(t.live.At(pool), ref.Tick)
	t.Replace(pool, k, k, ref)
}

// remove removes a tick, which must be in the list.
func (t *tickLists) remove(pool uint32, tick int32) {
	refs := t.live.At(pool)
	k := market.FirstAbove(refs, tick)
	if k == 0 || refs[k-1].Tick != tick {
		panic(fmt.Sprintf("BUG: tick %d is not in the list of pool %d", tick, pool))
	}
	t.Replace(pool, k-1, k)
}
