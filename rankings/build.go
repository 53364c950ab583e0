package rankings

import (
	"maps"
	"math/bits"
	"slices"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// Build computes generation gen of a chain from a State whose Prices and Stats
// are filled in. It returns the view, and what has to be stored for it. prev is
// the generation before, which must have been stored, or nil for the first. A
// generation number must never be used twice, because leaf numbers contain it
// and leaves are cached by number. All leaves are whole.
func Build(prev *View, st *market.State, gen uint64) (*View, *block.Publication) {
	return BuildPaced(prev, st, gen, nil, func() {})
}

// BuildPaced is Build that codes leaves from earlier ones, which it reads from leaves (nil:
// none), and calls pause about every 100 µs of work. What leaves returns need only be valid
// until its next call.
func BuildPaced(prev *View, st *market.State, gen uint64, leaves LeafReader, pause func()) (
	*View, *block.Publication,
) {
	v := &View{State: st, Generation: gen, shared: &viewState{generation: gen}}
	v.columns = buildColumns(prev, st, nil, pause)
	b := &builder{prev: prev, view: v}
	b.publication = &block.Publication{Generation: gen, First: prev == nil}
	b.directory = block.Directory{
		Chain: uint64(st.Chain), Generation: gen,
		Positions: st.Positions.Len(), Pools: st.Pools.Len(),
		Orders: make([]block.Order, 0, orderCount),
	}

	b.retireLeaves()
	o := newOrderBuilder(prev, v, pause)
	defer o.release()
	b.bases = &o.bases
	b.bases.leaves, b.bases.chain, b.bases.pause = leaves, st.Chain, pause
	kept := compareOrders(prev, v, pause)
	for id := range orderCount {
		if kept.has(id) {
			b.keepOrder(id)
			continue
		}
		ids, key := o.build(id)
		v.columns.passingByRank[id] = o.markPassing(id, ids)
		b.addOrder(id, ids, key, pause)
	}

	v.columns.forgetChanged()
	b.publication.Directory = b.directory.Append(nil)
	v.orders, v.retired = b.directory.Orders, b.directory.Retired
	return v, b.publication
}

// builder cuts orders into leaves and reuses the leaves of prev.
type builder struct {
	prev, view  *View
	publication *block.Publication
	directory   block.Directory
	bases       *baseFinder
}

// retireLeaves goes through prev's retired leaves. It lists as dead those that
// no pinned generation uses, and keeps the others as retired.
func (b *builder) retireLeaves() {
	if b.prev == nil {
		return
	}

	b.view.keepPinned(b.prev)

	// A generation reads the leaves that were written at it or before, and were
	// last used at it or after. So a pinned one keeps its own leaves only.
	pinned := b.view.older[:len(b.view.older)-1]
	for _, r := range b.prev.retired {
		written := block.LeafGeneration(r.Number)
		needs := func(l *viewState) bool { return written <= l.generation && l.generation <= r.Last }
		if slices.ContainsFunc(pinned, needs) {
			b.directory.Retired = append(b.directory.Retired, r)
		} else {
			b.publication.Dead = append(b.publication.Dead, r.Number)
		}
	}
}

// addOrder cuts an order into leaves. It reuses those that prev has, writes the
// others, and retires the leaves of prev that are not used any more.
func (b *builder) addOrder(id orderID, ids []uint32, key func(i int) uint64, pause func()) {
	passing := b.view.columns.passingByRank[id]
	was, cost := &block.Order{}, baseCost{}
	if b.prev != nil {
		was, cost = &b.prev.orders[id], b.prev.costs[id]
		cost.keep = cost.keep && b.bases.leaves != nil
	}
	order := block.NewOrder(len(ids)/block.MinLeafRows/2 + 1)
	if cost.keep {
		order.Bases = was.Bases
	}
	kept := leavesOf(was, !cost.keep)
	b.bases.begin(order.Bases, b.rowBound(id))

	written := 0
	cutLeaves(ids, func(from, to int, hash uint64) {
		pass := int(passing.Rank(uint32(to)) - passing.Rank(uint32(from)))
		number, there := kept[leafKey{hash, ids[from], to - from}]
		if !there {
			leaf := b.bases.encode(ids[from:to], from)
			written += len(leaf)
			number = b.writeLeaf(leaf)
		}
		order.Add(key(from), ids[from], number, hash, to-from, pass)
		pause()
	})

	if !cost.keep {
		order.BaseOnItself()
	}
	b.view.costs[id] = cost.next(written, rowsWithoutBase(&order)*bits.Len32(b.rowBound(id))/8)
	b.directory.Orders = append(b.directory.Orders, order)
	b.retireUnused(was, &order)
}

// rowBound returns a number above all rows of an order.
func (b *builder) rowBound(id orderID) uint32 {
	if id.ofPools() {
		return b.view.State.Pools.Len()
	}
	return b.view.State.Positions.Len()
}

// rowsWithoutBase counts the rows of the leaves of an order that are no bases of it.
func rowsWithoutBase(o *block.Order) (rows int) {
	bases := basesOf(o)
	for i, number := range o.Numbers {
		if !bases[number] {
			rows += int(o.Rows[i+1] - o.Rows[i])
		}
	}
	return rows
}

// retireUnused retires the leaves and bases of the order before that an order has no
// more.
func (b *builder) retireUnused(was, is *block.Order) {
	used := basesOf(is)
	for _, number := range is.Numbers {
		used[number] = true
	}

	retire := func(number uint64) {
		if !used[number] {
			used[number] = true // a base may be a leaf too
			b.directory.Retired = append(b.directory.Retired,
				block.Retired{Number: number, Last: b.prev.Generation})
		}
	}
	for _, number := range was.Numbers {
		retire(number)
	}
	for i := range was.Bases {
		retire(was.Bases[i].Number)
	}
}

// basesOf returns the numbers of the bases of an order.
func basesOf(o *block.Order) map[uint64]bool {
	bases := make(map[uint64]bool, o.Leaves()+len(o.Bases))
	for i := range o.Bases {
		bases[o.Bases[i].Number] = true
	}
	return bases
}

// leafKey identifies a leaf by its content: leaves of one order with equal keys
// are taken to be equal.
type leafKey struct {
	hash  uint64
	first uint32
	rows  int
}

// leafKeyAt returns the key of the i-th leaf of an order.
func leafKeyAt(o *block.Order, i int) leafKey {
	return leafKey{o.Hashes[i], o.First[i], int(o.Rows[i+1] - o.Rows[i])}
}

// leavesOf returns the leaf numbers of an order by content: of all leaves, or of those
// that are bases, which are whole.
func leavesOf(o *block.Order, basesOnly bool) map[leafKey]uint64 {
	leaves := make(map[leafKey]uint64, o.Leaves())
	for i, number := range o.Numbers {
		leaves[leafKeyAt(o, i)] = number
	}
	if !basesOnly {
		return leaves
	}

	bases := basesOf(o)
	maps.DeleteFunc(leaves, func(_ leafKey, number uint64) bool { return !bases[number] })
	return leaves
}

// writeLeaf adds a leaf to the publication and returns its number.
func (b *builder) writeLeaf(leaf []byte) uint64 {
	p := b.publication
	number := block.LeafNumber(b.view.Generation, len(p.Leaves))
	p.Leaves = append(p.Leaves, block.NewLeaf{Number: number, Bytes: leaf})
	return number
}
