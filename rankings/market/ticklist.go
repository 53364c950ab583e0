package market

import "slices"

// TickRef is an entry of a pool's ascending list of initialised ticks.
type TickRef struct {
	Tick int32
	Slot uint32 // index of its record
}

// FirstAbove returns the index of the first ref above a tick, which is also how many are
// at or below it.
func FirstAbove(refs []TickRef, tick int32) int {
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

// TickLists are the initialised ticks of every pool, ascending, shared without locks.
//
// Most pools have few ticks, and the garbage collector passes every pointer in each of
// its cycles. So the lists of groupPools pools are one array and one row of a table.
type TickLists struct {
	groups Frozen[tickGroup]
	n      uint32
}

// groupPools is how many pools share an array, which is copied as a whole before the first
// change after a freeze. In a market it is a kilobyte.
const groupPools = 16

// tickGroup has the lists of groupPools pools one after the other, each up to its end.
// Those of pools that do not exist are empty.
type tickGroup struct {
	ends [groupPools]uint32
	refs []TickRef
}

func groupCount(pools uint32) uint32 { return (pools + groupPools - 1) / groupPools }

// start returns where list k of the group begins.
func (g *tickGroup) start(k uint32) uint32 {
	if k == 0 {
		return 0
	}
	return g.ends[k-1]
}

// Len returns the number of pools.
func (t *TickLists) Len() uint32 { return t.n }

// At returns the list of a pool, which the caller must not change. It panics if pool is
// not less than Len.
func (t *TickLists) At(pool uint32) []TickRef {
	if pool >= t.n {
		panicRange(pool, t.n)
	}
	g, k := t.groups.At(pool/groupPools), pool%groupPools
	return g.refs[g.start(k):g.ends[k]:g.ends[k]]
}

// ColdTickLists returns the lists of n pools, none of which is in memory. all returns
// them one after the other, and where each ends. It must return the same at every call,
// and may be called by several readers at once.
func ColdTickLists(n uint32, all func() (refs []TickRef, ends []uint32)) TickLists {
	return TickLists{n: n, groups: Cold(groupCount(n), func(first uint32, rows []tickGroup) {
		refs, ends := all()
		for i := range rows {
			rows[i].fill(refs, ends, (first+uint32(i))*groupPools)
		}
	})}
}

// fill makes the group that begins with the pool first. It shares refs.
func (g *tickGroup) fill(refs []TickRef, ends []uint32, first uint32) {
	if int(first) >= len(ends) {
		return
	}

	from := uint32(0)
	if first > 0 {
		from = ends[first-1]
	}
	to := from
	for k := range g.ends {
		if i := int(first) + k; i < len(ends) {
			to = ends[i]
		}
		g.ends[k] = to - from
	}
	g.refs = refs[from:to:to]
}

// Warm loads all lists into memory. It stops early when stop reports true.
func (t *TickLists) Warm(stop func() bool) { t.groups.Warm(stop) }

// TickListTable is the writer's side of TickLists, of which there is one. Freeze returns
// what readers may share; the next write to a group copies it. The zero value has no pools.
type TickListTable struct {
	groups  Table[tickGroup]
	n       uint32
	freezes uint32
	own     []uint32 // by group: freezes plus one when its array was copied
}

// ThawTickLists returns a table that starts with the lists of t, which does not change.
func ThawTickLists(t TickLists) TickListTable {
	return TickListTable{groups: Thaw(t.groups), n: t.n, own: make([]uint32, t.groups.Len())}
}

// Live returns the lists as they are, which follow every change until the next Freeze or
// change of their number.
func (t *TickListTable) Live() TickLists { return TickLists{t.groups.Frozen, t.n} }

// Len returns the number of pools.
func (t *TickListTable) Len() uint32 { return t.n }

// Freeze returns the lists as they are now.
func (t *TickListTable) Freeze() TickLists {
	t.freezes++
	return TickLists{t.groups.Freeze(), t.n}
}

// Append adds the list of a new pool.
func (t *TickListTable) Append(refs ...TickRef) {
	if t.n%groupPools == 0 {
		t.groups.Append(tickGroup{})
		t.own = append(t.own, t.freezes+1)
	}
	t.n++
	if len(refs) > 0 {
		t.Replace(t.n-1, 0, 0, refs...)
	}
}

// Truncate drops the lists from n on; n is at most their number.
func (t *TickListTable) Truncate(n uint32) {
	if k := n % groupPools; k > 0 && n < t.n {
		g := t.edit(n / groupPools)
		end := g.start(k)
		g.refs = g.refs[:end]
		for ; k < groupPools; k++ {
			g.ends[k] = end
		}
	}

	t.n = n
	t.groups.Truncate(groupCount(n))
	t.own = t.own[:groupCount(n)]
}

// Replace replaces the refs from i up to j in the list of a pool.
func (t *TickListTable) Replace(pool uint32, i, j int, refs ...TickRef) {
	g, k := t.edit(pool/groupPools), pool%groupPools
	from := int(g.start(k))
	g.refs = slices.Replace(g.refs, from+i, from+j, refs...)
	for ; k < groupPools; k++ {
		g.ends[k] += uint32(len(refs) - (j - i))
	}
}

// edit returns a group for writing.
func (t *TickListTable) edit(group uint32) *tickGroup {
	g := t.groups.Mut(group)
	if t.own[group] != t.freezes+1 {
		t.own[group] = t.freezes + 1
		g.refs = slices.Clone(g.refs)
	}
	return g
}
