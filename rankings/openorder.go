package rankings

import (
	"slices"

	"tidemark/rankings/index"
)

// openIDs has the open positions in their orders but those by age and id. In a calm market
// few rows have other figures than in the generation before, and the other rows of orders by
// annual rates, which time moves, are hardly ever farther than a place or two from where they
// were.
//
// A generation takes the orders from the one before and changes them in place.
type openIDs struct {
	by [openValue + 1][]uint32 // nil: to be sorted
	// changed marks, by chunk, the rows that may have other figures than in the generation
	// before, or be in the order of one of the two only. Only the orders of this generation
	// need it.
	changed []uint64
}

// repairOpen returns an order of open positions, made from that of the generation before, or
// nil if it has to be sorted.
func (o *orderBuilder) repairOpen(id orderID) []uint32 {
	v, c := o.view, o.view.columns
	order, in := c.keptOrder(id), c.open
	if id.onlyValued() {
		in = c.valued
	}
	r := orderRepair{view: v, id: id, in: in.Words(), changed: c.openIDs.changed, pause: o.Pause}
	if !r.pays(*order) {
		return nil
	}

	ids := r.takeOut(*order)
	isAfter := func(i int, c *comingRow) bool { return v.isAfter(id, ids[i], c) }
	if id == openAPR || id == openFeeAPR {
		keys, ok := o.sortNearlySorted(id, ids)
		if !ok {
			return nil
		}
		isAfter = func(i int, c *comingRow) bool {
			return keys[i] > c.key || keys[i] == c.key && ids[i] > c.row
		}
	}

	*order = r.putIn(ids, isAfter)
	return *order
}

const (
	// meanSteps is how many places rows may move in the mean.
	meanSteps = 4
	// strideSteps is the most places that one may move, and about what all move between two
	// pauses.
	strideSteps = 1 << 15
)

// sortNearlySorted sorts rows by insertion and returns their keys. They must be nearly sorted:
// it returns false once they moved so far that sorting anew is as fast.
func (o *orderBuilder) sortNearlySorted(id orderID, ids []uint32) (keys []uint64, ok bool) {
	o.findKeys(id)
	o.Words = slices.Grow(o.Words[:0], len(ids))[:len(ids)]
	o.Pause()

	keys = o.Words
	left, stride := meanSteps*len(ids), strideSteps
	places := o.view.columns.open
	index.InStrides(len(ids), o.Pause, func(from, to int) {
		// Where rows move cannot be predicted, and would hold up the reads of others' keys.
		for i, row := range ids[from:to] {
			keys[from+i] = o.keys[places.Rank(row)]
		}

		for i := from; i < to && left > 0; i++ {
			row, key, at, first := ids[i], keys[i], i, max(0, i-strideSteps)
			for ; at > first && (keys[at-1] > key || keys[at-1] == key && ids[at-1] > row); at-- {
				keys[at], ids[at] = keys[at-1], ids[at-1]
			}
			keys[at], ids[at] = key, row

			if left -= i - at; i-at == strideSteps {
				left = 0
			}
			if stride -= i - at; stride < 0 {
				stride = strideSteps
				o.Pause()
			}
		}
	})
	return keys, left > 0
}
