package rankings

import (
	"fmt"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// Open returns the view of a stored generation; none of its records needs to be
// in memory. The view answers questions with the default filters or none. It
// refuses a directory that does not fit st.
func Open(st *market.State, gen uint64, directory []byte) (*View, error) {
	d, err := block.DecodeDirectory(directory)
	if err != nil {
		return nil, fmt.Errorf("cannot open generation %d of chain %d: %w", gen, st.Chain, err)
	}
	if err := checkDirectory(d, st, gen); err != nil {
		return nil, fmt.Errorf("cannot open generation %d of chain %d: %w", gen, st.Chain, err)
	}
	return &View{
		State: st, Generation: gen, shared: &viewState{generation: gen},
		orders: d.Orders, retired: d.Retired,
	}, nil
}

// checkDirectory checks a directory against the State before it is used.
func checkDirectory(d *block.Directory, st *market.State, gen uint64) error {
	positions, pools := st.Positions.Len(), st.Pools.Len()
	switch {
	case d.Chain != uint64(st.Chain) || d.Generation != gen:
		return fmt.Errorf("directory is for chain %d, generation %d", d.Chain, d.Generation)
	case d.Positions != positions || d.Pools != pools:
		return fmt.Errorf("directory is for %d positions and %d pools; the store has %d and %d",
			d.Positions, d.Pools, positions, pools)
	case len(d.Orders) != int(orderCount):
		return fmt.Errorf("directory has %d orders; want %d", len(d.Orders), orderCount)
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
			return fmt.Errorf("order %d has %d rows; want %d", i, o.Len(), want)
		}
		for _, first := range o.First {
			if first >= bound {
				return fmt.Errorf("order %d has row %d; the table has %d rows", i, first, bound)
			}
		}
	}

	return nil
}

// Complete returns v with its columns, computed from its State, whose records
// should all be in memory. An error means that the stored orders do not match
// the State, and that the generation must be built again. pause is called about
// every 100 µs of work.
func Complete(v *View, pause func()) (*View, error) {
	if v.Warm() {
		return v, nil
	}

	w := *v
	w.columns = buildColumns(nil, v.State, nil, pause)
	o := newOrderBuilder(nil, &w, pause)
	defer o.release()

	for id := range orderCount {
		ids, _ := o.build(id)
		w.columns.passingByRank[id] = o.markPassing(id, ids)
		if err := checkLeaves(&v.orders[id], ids); err != nil {
			return nil, fmt.Errorf("cannot complete generation %d of chain %d: order %d: %w",
				v.Generation, v.State.Chain, id, err)
		}
	}

	w.columns.forgetChanged()
	return &w, nil
}

// checkLeaves compares the leaves of a stored order with those that ids give.
func checkLeaves(o *block.Order, ids []uint32) (err error) {
	i := 0
	cutLeaves(ids, func(from, to int, hash uint64) {
		if err == nil && (i >= o.Leaves() || leafKeyAt(o, i) != leafKey{hash, ids[from], to - from}) {
			err = fmt.Errorf("leaf %d at row %d differs from its records", i, from)
		}
		i++
	})

	if err == nil && i != o.Leaves() {
		err = fmt.Errorf("it has %d leaves; its records give %d", o.Leaves(), i)
	}
	return err
}
