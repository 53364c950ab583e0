package rankings

import (
	"fmt"
	"math"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// Build computes the next generation of a chain from a State whose Prices and
// Stats are filled in. prev is the generation before it, which must have been
// stored; nil for the first. Numbers of generations are never used again: they
// are part of the leaves' numbers, by which leaves are cached.
func Build(prev *View, st *market.State, gen uint64) (*View, *block.Publication) {
	return BuildPaced(prev, st, gen, func() {})
}

// BuildPaced is Build that calls pause after every 100 µs or so of work.
func BuildPaced(prev *View, st *market.State, gen uint64, pause func()) (
	*View, *block.Publication,
) {
	v := &View{State: st, Generation: gen, life: &life{generation: gen}}
	v.columns = fill(prev, st, pause)
	b := &builder{prev: prev, view: v}
	b.publication = &block.Publication{Generation: gen, First: prev == nil}
	b.directory = block.Directory{
		Chain: uint64(st.Chain), Generation: gen,
		Positions: st.Positions.Len(), Pools: st.Pools.Len(),
		Orders: make([]block.Order, 0, orderCount),
	}

	b.retire()
	o := &orderer{view: v, sorter: sorter{pause: pause}}
	for id := range orderCount {
		ids, key := o.order(id)
		v.columns.passing[id] = o.passingOf(id, ids)
		b.add(id, ids, key, pause)
	}

	b.publication.Directory = b.directory.Append(nil)
	v.orders, v.retired = b.directory.Orders, b.directory.Retired
	return v, b.publication
}

// builder turns orders into leaves and keeps those that are there already.
type builder struct {
	prev, view  *View
	publication *block.Publication
	directory   block.Directory
}

// retire lists as dead what neither prev nor a pinned generation before it
// uses, and takes over the rest of prev's retired leaves.
func (b *builder) retire() {
	if b.prev == nil {
		return
	}

	pinned := uint64(math.MaxUint64)
	for _, l := range b.prev.older {
		if l.pins.Load() > 0 {
			b.view.older = append(b.view.older, l)
			pinned = min(pinned, l.generation)
		}
	}

	b.view.older = append(b.view.older, b.prev.life)
	for _, r := range b.prev.retired {
		if r.Last < pinned {
			b.publication.Dead = append(b.publication.Dead, r.Number)
		} else {
			b.directory.Retired = append(b.directory.Retired, r)
		}
	}
}

// add cuts an order into leaves, keeps prev's where they are equal, writes the
// others and retires what is left of prev's.
func (b *builder) add(id orderID, ids []uint32, key func(i int) uint64, pause func()) {
	passing := b.view.columns.passing[id]
	kept := b.leavesOf(id)
	order := block.NewOrder(len(ids)/block.MinLeafRows/2 + 1)
	cut(ids, func(from, to int, hash uint64) {
		pass := int(passing.Rank(uint32(to)) - passing.Rank(uint32(from)))
		number, there := kept[leafKey{hash, ids[from], to - from}]
		if there {
			delete(kept, leafKey{hash, ids[from], to - from})
		} else {
			number = b.write(ids[from:to])
		}
		order.Add(key(from), ids[from], number, hash, to-from, pass)
		pause()
	})

	b.directory.Orders = append(b.directory.Orders, order)
	if b.prev == nil {
		return
	}

	was := &b.prev.orders[id]
	for i := range was.Leaves() {
		if _, unused := kept[keyOf(was, i)]; unused {
			b.directory.Retired = append(b.directory.Retired,
				block.Retired{Number: was.Numbers[i], Last: b.prev.Generation})
		}
	}
}

// leafKey is what makes two leaves the same.
type leafKey struct {
	hash  uint64
	first uint32
	rows  int
}

func keyOf(o *block.Order, i int) leafKey {
	return leafKey{o.Hashes[i], o.First[i], int(o.Rows[i+1] - o.Rows[i])}
}

func (b *builder) leavesOf(id orderID) map[leafKey]uint64 {
	if b.prev == nil {
		return nil
	}
	was := &b.prev.orders[id]
	leaves := make(map[leafKey]uint64, was.Leaves())
	for i := range was.Leaves() {
		leaves[keyOf(was, i)] = was.Numbers[i]
	}
	return leaves
}

func (b *builder) write(ids []uint32) uint64 {
	p := b.publication
	number := block.LeafNumber(b.view.Generation, len(p.Leaves))
	p.Leaves = append(p.Leaves, block.NewLeaf{Number: number, Bytes: block.AppendLeaf(nil, ids)})
	return number
}

// Open returns the view of a stored generation before any of its records is
// in memory. It serves questions with the default filters or none.
func Open(st *market.State, gen uint64, directory []byte) (*View, error) {
	d, err := block.DecodeDirectory(directory)
	if err != nil {
		return nil, fmt.Errorf("cannot open generation %d of chain %d: %w", gen, st.Chain, err)
	}
	if err := fits(d, st, gen); err != nil {
		return nil, fmt.Errorf("cannot open generation %d of chain %d: %w", gen, st.Chain, err)
	}
	return &View{
		State: st, Generation: gen, life: &life{generation: gen},
		orders: d.Orders, retired: d.Retired,
	}, nil
}

// fits checks the directory against the State before anything is read by it.
func fits(d *block.Directory, st *market.State, gen uint64) error {
	positions, pools := st.Positions.Len(), st.Pools.Len()
	switch {
	case d.Chain != uint64(st.Chain) || d.Generation != gen:
		return fmt.Errorf("directory is of chain %d, generation %d", d.Chain, d.Generation)
	case d.Positions != positions || d.Pools != pools:
		return fmt.Errorf("directory is of %d positions and %d pools; the records are %d and %d",
			d.Positions, d.Pools, positions, pools)
	case len(d.Orders) != int(orderCount):
		return fmt.Errorf("directory has %d orders; there are %d", len(d.Orders), orderCount)
	}

	for i := range d.Orders {
		id, o := orderID(i), &d.Orders[i]
		want, bound := st.OpenCount, positions
		if id.ofPools() {
			want, bound = pools, pools
		} else if id.ofClosed() {
			want = positions - min(st.OpenCount, positions)
		}
		if o.Len() != want && !(id.onlyValued() && o.Len() < want) {
			return fmt.Errorf("order %d has %d rows; it needs %d", i, o.Len(), want)
		}
		for _, first := range o.First {
			if first >= bound {
				return fmt.Errorf("order %d has row %d; there are %d", i, first, bound)
			}
		}
	}

	return nil
}

// Complete returns v with its columns, computed from its State, which should
// have been warmed. An error means that the stored orders are not those of the
// State: the generation must be built anew.
func Complete(v *View) (*View, error) {
	if v.Warm() {
		return v, nil
	}

	w := *v
	w.columns = fill(nil, v.State, func() {})
	o := &orderer{view: &w, sorter: sorter{pause: func() {}}}
	for id := range orderCount {
		ids, _ := o.order(id)
		w.columns.passing[id] = o.passingOf(id, ids)
		if err := sameLeaves(&v.orders[id], ids); err != nil {
			return nil, fmt.Errorf("cannot complete generation %d of chain %d: order %d: %w",
				v.Generation, v.State.Chain, id, err)
		}
	}

	return &w, nil
}

func sameLeaves(o *block.Order, ids []uint32) (err error) {
	i := 0
	cut(ids, func(from, to int, hash uint64) {
		if err == nil && (i >= o.Leaves() || keyOf(o, i) != leafKey{hash, ids[from], to - from}) {
			err = fmt.Errorf("leaf %d at row %d is not what its records say", i, from)
		}
		i++
	})
	if err == nil && i != o.Leaves() {
		err = fmt.Errorf("it has %d leaves; its records say %d", o.Leaves(), i)
	}
	return err
}
