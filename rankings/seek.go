package rankings

// seekLeaves moves cursors, which are at the front of runs whose sums are known,
// over whole leaves, at most skip rows in all, and only rows that come first in
// the merged order. It returns what is left of skip, which is fewer rows than
// the next leaves of the runs have.
//
// Of the fences of all runs it looks for the last one before which there are at most skip
// rows for certain, which are those of every leaf that begins before it. A turn tries the
// fence in the middle of the run that has most of them left. If it is not beyond skip, the
// leaves that end before it are skipped in all runs, and otherwise no run has to look behind
// it. So a turn halves one window and shortens the others, and it reads no leaf: the cost
// hardly depends on the depth.
func seekLeaves(cursors []cursor, skip uint64) uint64 {
	for i := range cursors {
		c := &cursors[i]
		c.endLeaf = min(c.run.lastLeafWithin(0, skip)+1, c.run.order.Leaves())
	}

	for {
		most := &cursors[0]
		for i := range cursors {
			if c := &cursors[i]; c.endLeaf-c.leaf > most.endLeaf-most.leaf {
				most = c
			}
		}
		if most.endLeaf-most.leaf < 2 {
			break
		}
		tryFence(cursors, most, skip)
	}

	for i := range cursors {
		skip -= uint64(cursors[i].run.rowsBefore(cursors[i].leaf))
	}
	return skip
}

// tryFence finds out whether at most skip rows of all runs come before the fence in the
// middle of the window of one.
func tryFence(cursors []cursor, of *cursor, skip uint64) {
	middle := of.leaf + (of.endLeaf-of.leaf)/2
	fence := of.run.fence(middle)
	rows := uint64(0)
	for i := range cursors {
		c := &cursors[i]
		if c.reach = middle; c != of {
			c.reach = c.leafBehind(&fence)
		}
		rows += uint64(c.run.rowsBefore(c.reach))
	}

	if rows > skip {
		for i := range cursors {
			cursors[i].endLeaf = cursors[i].reach
		}
		return
	}

	for i := range cursors {
		c := &cursors[i]
		c.leaf = max(c.leaf, c.reach-1) // the leaf that the fence is in
	}
	of.leaf = middle
}

// leafBehind returns the first leaf of the window that does not begin before an order key,
// or the last one.
func (c *cursor) leafBehind(k *orderKey) int {
	before, behind := c.leaf, c.endLeaf
	for behind-before > 1 {
		middle := before + (behind-before)/2
		if fence := c.run.fence(middle); c.run.compare(&fence, k) < 0 {
			before = middle
		} else {
			behind = middle
		}
	}
	return behind
}

// seekRow continues after seekLeaves, row by row, over ranked runs. Every run has a window
// of rows that may have to be skipped, and a probe about in its middle: the fence of a leaf,
// which the directory has, as long as one is within the window, and then a row, which is
// read. Let n be the number of rows before the probes in all windows. If skip is more than
// n, the least probe is reached: its half window is skipped, and itself if it is a row,
// because only rows before probes come before it. Otherwise the greatest probe is not
// reached, and its window ends there. Every probe halves a window.
func seekRow(cursors []cursor, leaves LeafReader, skip uint64) error {
	if cursors[0].alone {
		cursors[0].nextMatch += uint32(skip)
		return nil
	}

	for i := range cursors {
		c := &cursors[i]
		c.windowEnd = c.nextMatch + uint32(min(skip, uint64(c.run.total()-c.nextMatch)))
		c.hasHead, c.atFence = false, true
	}

	for skip > 0 {
		least, greatest, before, err := extremeProbes(cursors, leaves)
		if least == nil || err != nil {
			return err
		}
		if skip > before {
			skip -= uint64(least.passProbe())
		} else {
			greatest.windowEnd, greatest.hasHead = greatest.probe, false
		}
	}

	for i := range cursors {
		cursors[i].hasHead = false
	}
	return nil
}

// passProbe skips the rows before the probe, and the probe itself if it is a row. It
// returns how many these are.
func (c *cursor) passProbe() (passed uint32) {
	to := c.probe
	if !c.atFence {
		to++
	}
	passed = to - c.nextMatch
	c.nextMatch, c.hasHead = to, false
	return passed
}

// readProbe makes the key of the next probe the head.
func (c *cursor) readProbe(leaves LeafReader) (err error) {
	middle := c.nextMatch + (c.windowEnd-c.nextMatch)/2
	if c.atFence {
		if n := c.fenceNear(middle); n >= 0 {
			c.probe, c.head, c.hasHead = c.run.rowsBefore(n), c.run.fence(n), true
			return nil
		}
		c.atFence = false // a window only gets smaller
	}

	c.probe = middle
	c.head, err = c.readMatch(leaves, middle)
	c.hasHead = err == nil
	return err
}

// fenceNear returns a leaf, as the run counts, that begins within the window and near a row
// of it, or -1 if none does.
func (c *cursor) fenceNear(row uint32) int {
	n := c.run.lastLeafWithin(c.leaf, uint64(row-c.run.rowsBefore(c.leaf)))
	for ; n < c.run.order.Leaves(); n++ {
		if at := c.run.rowsBefore(n); at >= c.windowEnd {
			break
		} else if at > c.nextMatch {
			return n
		}
	}
	return -1
}

// extremeProbes returns the cursors with the least and the greatest probe, and the number
// of rows before the probes in all windows. The cursors are nil when all windows are empty.
func extremeProbes(cursors []cursor, leaves LeafReader) (
	least, greatest *cursor, before uint64, err error,
) {
	for i := range cursors {
		c := &cursors[i]
		if c.nextMatch == c.windowEnd {
			continue
		}
		if !c.hasHead {
			if err := c.readProbe(leaves); err != nil {
				return nil, nil, 0, err
			}
		}

		before += uint64(c.probe - c.nextMatch)
		if least == nil || c.run.compare(&c.head, &least.head) < 0 {
			least = c
		}
		if greatest == nil || c.run.compare(&c.head, &greatest.head) > 0 {
			greatest = c
		}
	}

	return least, greatest, before, nil
}
