package rankings

// seekLeaves moves cursors, which are at the front of runs whose sums are known,
// over whole leaves, at most skip rows in all, and only rows that come first in
// the merged order. It returns what is left of skip, which is fewer rows than
// the next leaves of the runs have.
//
// With m runs left, take from each a stretch of about skip/m rows that ends at a
// leaf's fence. If all stretches together have at most skip rows, the stretch
// whose fence comes first can be skipped: its rows come before that fence, and
// nothing but rows of the stretches comes before that fence. Each round reduces
// skip by about 1/m and reads no leaf, so the cost hardly depends on the depth.
func seekLeaves(cursors []cursor, skip uint64) uint64 {
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

		if d /= runs; !skipStretch(cursors, d, &skip) {
			return skip
		}
	}
}

// skipStretch skips one stretch and subtracts its rows from skip. It reports
// false when all stretches together have more than skip rows.
func skipStretch(cursors []cursor, d uint64, skip *uint64) bool {
	var first *cursor
	var fence orderKey
	var to int
	sum, step := uint64(0), uint64(0)

	for i := range cursors {
		c := &cursors[i]
		n := c.run.order.Leaves()
		if c.leaf == n {
			continue
		}

		reach := c.run.lastLeafWithin(c.leaf, d)
		rows := uint64(c.run.rowsBefore(reach) - c.run.rowsBefore(c.leaf))
		if sum += rows; sum > *skip {
			return false
		}
		if reach == n {
			continue // the end of a run has no fence
		}
		if m := c.run.fence(reach); first == nil || c.run.compare(&m, &fence) < 0 {
			first, fence, to, step = c, m, reach, rows
		}
	}

	if first == nil { // every run ends within skip
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

// seekRow continues after seekLeaves, row by row, over ranked runs. Every run
// has a window of rows that may have to be skipped, and the row in its middle is
// read. Let n be the number of rows before the middles in all windows. If skip
// is more than n, the least middle is skipped together with its half window,
// because only rows before middles come before it. Otherwise the greatest middle
// is not reached, and its window ends there. Every row that is read halves a
// window.
func seekRow(cursors []cursor, leaves LeafReader, skip uint64) error {
	if cursors[0].alone {
		cursors[0].nextMatch += uint32(skip)
		return nil
	}

	for i := range cursors {
		c := &cursors[i]
		c.windowEnd = c.nextMatch + uint32(min(skip, uint64(c.run.total()-c.nextMatch)))
		c.hasHead = false
	}

	for skip > 0 {
		least, greatest, before, err := extremeMiddles(cursors, leaves)
		if least == nil || err != nil {
			return err
		}
		if skip > before {
			passed := least.middle() - least.nextMatch + 1
			least.nextMatch, least.hasHead = least.nextMatch+passed, false
			skip -= uint64(passed)
		} else {
			greatest.windowEnd, greatest.hasHead = greatest.middle(), false
		}
	}

	for i := range cursors {
		cursors[i].hasHead = false
	}
	return nil
}

// middle returns the row in the middle of the window from next to bound.
func (c *cursor) middle() uint32 { return c.nextMatch + (c.windowEnd-c.nextMatch)/2 }

// extremeMiddles returns the cursors with the least and the greatest middle row,
// and the number of rows before the middles in all windows. The cursors are nil
// when all windows are empty.
func extremeMiddles(cursors []cursor, leaves LeafReader) (
	least, greatest *cursor, before uint64, err error,
) {
	for i := range cursors {
		c := &cursors[i]
		if c.nextMatch == c.windowEnd {
			continue
		}
		if !c.hasHead {
			if c.head, err = c.readMatch(leaves, c.middle()); err != nil {
				return nil, nil, 0, err
			}
			c.hasHead = true
		}

		before += uint64(c.middle() - c.nextMatch)
		if least == nil || c.run.compare(&c.head, &least.head) < 0 {
			least = c
		}
		if greatest == nil || c.run.compare(&c.head, &greatest.head) > 0 {
			greatest = c
		}
	}

	return least, greatest, before, nil
}
