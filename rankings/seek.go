package rankings

// seek moves cursors, at the front of runs whose sums are known, over at most
// skip rows that come first in their merged order, and returns how many of
// skip are left: fewer than the next leaves of the runs have.
//
// Let m runs be left and take from each a stretch of about skip/m rows up to a
// leaf's fence. If all stretches together are at most skip rows, the one whose
// fence comes first can go: a row of it comes before that fence, and before
// that fence come only rows of the stretches. So skip falls by about a m-th
// each time, without a leaf being read, whatever the depth.
func seek(cursors []cursor, skip uint64) uint64 {
	for {
		d, runs := skip, uint64(0)
		for i := range cursors {
			if cursors[i].leaf < cursors[i].run.order.Leaves() {
				runs++
			}
		}

		if runs == 0 {
			return skip
		}
		if d /= runs; !hop(cursors, d, &skip) {
			return skip
		}
	}
}

// hop takes one stretch out of skip; false when the stretches are too long.
func hop(cursors []cursor, d uint64, skip *uint64) bool {
	var first *cursor
	var fence mark
	var to int
	sum, step := uint64(0), uint64(0)
	for i := range cursors {
		c := &cursors[i]
		n := c.run.order.Leaves()
		if c.leaf == n {
			continue
		}
		reach := c.run.reach(c.leaf, d)
		rows := uint64(c.run.before(reach) - c.run.before(c.leaf))
		if sum += rows; sum > *skip {
			return false
		}
		if reach == n {
			continue // no fence: nothing follows
		}
		if m := c.run.fence(reach); first == nil || c.run.compare(&m, &fence) < 0 {
			first, fence, to, step = c, m, reach, rows
		}
	}

	if first == nil { // the stretches are everything there is
		for i := range cursors {
			cursors[i].leaf = cursors[i].run.order.Leaves()
		}
		*skip -= sum
		return true
	}

	first.leaf = to
	*skip -= step
	return true
}

// probe goes on where seek ended, over ranked runs, row by row. Every run has a
// window of rows that may or may not be passed over; the row in its middle is
// read. If skip goes beyond all the middles, so does it beyond the least of
// them, before which come only rows before middles: that half window is passed
// over. If not, the greatest middle is not reached, nor what follows it. So
// every row that is read halves a window.
func probe(cursors []cursor, leaves LeafReader, skip uint64) error {
	for i := range cursors {
		c := &cursors[i]
		c.bound = c.next + uint32(min(skip, uint64(c.run.total()-c.next)))
		c.full = false
	}

	for skip > 0 {
		least, greatest, before, err := middles(cursors, leaves)
		if least == nil || err != nil {
			return err
		}
		if skip > before {
			passed := least.middle() - least.next + 1
			least.next, least.full = least.next+passed, false
			skip -= uint64(passed)
		} else {
			greatest.bound, greatest.full = greatest.middle(), false
		}
	}

	for i := range cursors {
		cursors[i].full = false
	}
	return nil
}

// middle returns the row in the middle of the window from next to bound.
func (c *cursor) middle() uint32 { return c.next + (c.bound-c.next)/2 }

// middles returns the cursors whose middles are least and greatest, and how
// many rows stand before the middles in all windows; nil when all are empty.
func middles(cursors []cursor, leaves LeafReader) (
	least, greatest *cursor, before uint64, err error,
) {
	for i := range cursors {
		c := &cursors[i]
		if c.next == c.bound {
			continue
		}
		if !c.full {
			if c.head, err = c.at(leaves, c.middle()); err != nil {
				return nil, nil, 0, err
			}
			c.full = true
		}

		before += uint64(c.middle() - c.next)
		if least == nil || c.run.compare(&c.head, &least.head) < 0 {
			least = c
		}

		if greatest == nil || c.run.compare(&c.head, &greatest.head) > 0 {
			greatest = c
		}
	}
	return least, greatest, before, nil
}
