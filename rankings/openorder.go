package rankings

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"tidemark/rankings/market"
)

// openOrders has the open positions, by place, in the orders of their figures. While the
// same positions are open and prices hardly move, an order is the one of before but for a
// few rows, and where numbers are a year's also for neighbours that change places as they
// get older. To take those rows out and to merge them in again costs a fifth of sorting.
//
// A generation takes the orders from the one before. It costs 20 bytes an open position.
type openOrders struct {
	by [openValue + 1][]uint32 // empty: to be sorted
	// figured are the places, ascending, of which figures were computed for this generation;
	// one too many if they are more than changedShare allows.
	figured []uint32
}

// take takes the orders of prev, or only their memory if they are of other positions.
func (s *openOrders) take(prev *openOrders, same bool) {
	s.by, prev.by = prev.by, [len(prev.by)][]uint32{}
	for i := range s.by {
		if !same {
			s.by[i] = s.by[i][:0]
		}
	}
}

// shiftsPerRow is how many places rows may be shifted by, in the mean, for an order to be
// repaired: as many take the time of sorting it.
const shiftsPerRow = 8

// repairOpen returns the places of the rows of an order, made from those of prev, or nil if
// they have to be sorted.
func (o *orderBuilder) repairOpen(id orderID) []uint32 {
	if id > openValue || o.prev == nil {
		return nil
	}
	order := &o.view.columns.openOrders.by[id]
	if len(*order) == 0 {
		return nil
	}

	if c := o.view.columns; len(c.openOrders.figured) > len(c.value)/changedShare {
		return nil
	}
	o.findMoved(id)
	places := *order
	kept := o.dropMoved(places)
	if id <= openFeeAPR {
		if o.findKeys(id); !o.shiftNeighbours(kept) {
			*order = places[:0]
			return nil
		}
	}
	*order = o.mergeMoved(id, kept, places[:0])
	return *order
}

// note notes a place of which figures were computed.
func (s *openOrders) note(place, open uint32) {
	if len(s.figured) <= int(open)/changedShare {
		s.figured = append(s.figured, place)
	}
}

// findMoved finds the places with another figure than in prev, or that come into the order,
// by their keys.
func (o *orderBuilder) findMoved(id orderID) {
	c, now := o.view.columns, o.view.State.Now()
	was, is, old := o.prev.columns.floats(id), c.floats(id), o.prev.columns.value
	o.moved, o.isMoved = o.moved[:0], append(o.isMoved[:0], make([]uint64, len(is)/64+1)...)
	for _, place := range c.openOrders.figured {
		moved, in := math.Float64bits(was[place]) != math.Float64bits(is[place]), true
		if id.onlyValued() {
			in = isValued(c.value[place])
			moved = moved || in != isValued(old[place])
		}
		if !moved {
			continue
		}

		o.isMoved[place/64] |= 1 << (place % 64)
		if in {
			o.moved = append(o.moved, place)
		}
	}

	slices.SortFunc(o.moved, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(c.sortKey(id, a, now), c.sortKey(id, b, now)), cmp.Compare(a, b))
	})
	o.pause()
}

func isValued(usd float64) bool { return market.Known(usd) && usd != 0 }

// dropMoved returns an order without the moved places, in the memory of ids.
func (o *orderBuilder) dropMoved(places []uint32) (kept []uint32) {
	kept = slices.Grow(o.ids[:0], len(places))
	inStrides(len(places), o.pause, func(from, to int) {
		for _, place := range places[from:to] {
			if o.isMoved[place/64]>>(place%64)&1 == 0 {
				kept = append(kept, place)
			}
		}
	})
	o.ids = kept
	return kept
}

// shiftNeighbours sorts places that are nearly sorted, and reports false if they are not.
func (o *orderBuilder) shiftNeighbours(places []uint32) bool {
	o.words = slices.Grow(o.words[:0], len(places))[:len(places)]
	left, keys := shiftsPerRow*len(places), o.words

	inStrides(len(places), o.pause, func(from, to int) {
		for i := from; i < to && left >= 0; i++ {
			place := places[i]
			key, at := o.keys[place], i
			for ; at > 0 && (keys[at-1] > key || keys[at-1] == key && places[at-1] > place); at-- {
				keys[at], places[at] = keys[at-1], places[at-1]
				if left--; left < 0 {
					break
				}
			}
			keys[at], places[at] = key, place
		}
	})
	return left >= 0
}

// mergeMoved appends an order with the moved places put in again.
func (o *orderBuilder) mergeMoved(id orderID, kept, dst []uint32) []uint32 {
	c, now, from := o.view.columns, o.view.State.Now(), 0
	for _, place := range o.moved {
		key := c.sortKey(id, place, now)
		n := sort.Search(len(kept)-from, func(i int) bool {
			other := kept[from+i]
			is := c.sortKey(id, other, now)
			return is > key || is == key && other > place
		})
		dst = append(append(dst, kept[from:from+n]...), place)
		from += n
	}

	o.pause()
	return append(dst, kept[from:]...)
}
