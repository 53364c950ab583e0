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
// of rows that may have to be skipped, and a probe in it: the fence of a leaf, which the
// directory has, as long as one is within the window, and then a row whose key is read. Let n
// be the number of rows before the probes in all windows. If skip is more than n, the least
// probe is reached: what is before it in its window is skipped, and itself if it is a row,
// because only rows before probes come before it. Otherwise the greatest probe is not
// reached, and its window ends there. Which rows are probes decides how many keys are read,
// and nothing else.
func seekRow(cursors []cursor, leaves LeafReader, skip uint64) error {
	if cursors[0].alone {
		cursors[0].nextMatch += uint32(skip)
		return nil
	}

	for i := range cursors {
		cursors[i].openWindow(skip)
	}

	for skip > 0 {
		least, greatest, before, err := extremeProbes(cursors, leaves, skip)
		if least == nil || err != nil {
			return err
		}
		if skip > before {
			skip -= uint64(least.passProbe())
		} else {
			greatest.endAtProbe()
		}
	}

	for i := range cursors {
		cursors[i].hasHead = false
		cursors[i].batch.keepFrom(cursors[i].nextMatch)
	}
	return nil
}

// openWindow makes the window of a cursor the next skip rows.
func (c *cursor) openWindow(skip uint64) {
	c.windowEnd = c.nextMatch + uint32(min(skip, uint64(c.run.total()-c.nextMatch)))
	c.hasHead, c.atFence, c.reads = false, true, 0

	c.low, c.high = keyAt{}, keyAt{}
	if c.leaf > 0 {
		c.low = keyAt{c.run.fence(c.leaf).key, c.nextMatch}
	}
	behind := c.run.lastLeafWithin(c.leaf, uint64(c.windowEnd-c.nextMatch)) + 1
	if behind < c.run.order.Leaves() {
		c.high = keyAt{c.run.fence(behind).key, c.run.rowsBefore(behind)}
	}
}

// passProbe skips the rows before the probe, and the probe itself if it is a row. It
// returns how many these are.
func (c *cursor) passProbe() (passed uint32) {
	to := c.probe
	if !c.atFence {
		to, c.batch.from = to+1, c.batch.middle()+1
	}
	passed = to - c.nextMatch
	c.low = keyAt{c.head.key, c.probe}
	c.nextMatch, c.hasHead = to, false
	return passed
}

// endAtProbe ends the window before the probe.
func (c *cursor) endAtProbe() {
	if !c.atFence {
		c.batch.to = c.batch.middle()
	}
	c.high = keyAt{c.head.key, c.probe}
	c.windowEnd, c.hasHead = c.probe, false
}

// extremeProbes returns the cursors with the least and the greatest probe, and the number
// of rows before the probes in all windows. The cursors are nil when all windows are empty.
func extremeProbes(cursors []cursor, leaves LeafReader, skip uint64) (
	least, greatest *cursor, before uint64, err error,
) {
	for i := range cursors {
		c := &cursors[i]
		if c.nextMatch == c.windowEnd {
			continue
		}
		if !c.hasHead {
			if err := c.findProbe(cursors, leaves, skip); err != nil {
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

// findProbe makes the key of the next probe the head.
func (c *cursor) findProbe(cursors []cursor, leaves LeafReader, skip uint64) error {
	if c.atFence {
		middle := c.nextMatch + (c.windowEnd-c.nextMatch)/2
		if n := c.fenceNear(middle); n >= 0 {
			c.probe, c.head, c.hasHead = c.run.rowsBefore(n), c.run.fence(n), true
			return nil
		}
		c.atFence = false // a window only gets smaller
	}

	if c.batch.empty() {
		if err := c.readProbes(cursors, leaves, skip); err != nil {
			return err
		}
	}
	middle := c.batch.middle()
	c.probe, c.head, c.hasHead = c.batch.at[middle], c.batch.keys[middle], true
	return nil
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

// guesses is how often the probes of a window are rows near the one where it is guessed that
// the page begins. The first guess is off by a dozen of rows of a leaf, the second by three.
// Keys need not be even, though, and after so many the probes part the window evenly.
const guesses = 3

// readProbes reads keys of the window, the middle one of which is the next probe.
func (c *cursor) readProbes(cursors []cursor, leaves LeafReader, skip uint64) error {
	rows := c.windowEnd - c.nextMatch
	if rows <= keysAhead || c.reads == guesses || !allBetween(cursors) {
		return c.readSpreadKeys(leaves)
	}

	n := uint32(c.batchLen(rows))
	if c.reads++; c.reads == 1 {
		n = 1
	}

	first := c.nextMatch
	if at := c.guessRow(cursors, skip); at > first+n/2 {
		first = min(at-n/2, c.windowEnd-n)
	}
	return c.readKeysFrom(leaves, first, int(n))
}

// keyAt is a key and a matching row of a run that has it, or comes before or behind it.
type keyAt struct {
	key uint64
	row uint32
}

// allBetween reports whether a key before and one behind every window are known, and differ.
func allBetween(cursors []cursor) bool {
	for i := range cursors {
		if c := &cursors[i]; c.nextMatch < c.windowEnd && (c.low.key == 0 || c.high.key <= c.low.key) {
			return false
		}
	}
	return true
}

// guessRow returns the row of the window where skip ends if the keys between low and high are
// even in every run. A run then has low.row + perKey * (key - low.key) rows before a key, and
// the key is the one before which all of them together have skip rows of their windows.
func (c *cursor) guessRow(cursors []cursor, skip uint64) uint32 {
	rows, perKey := float64(skip), 0.0
	for i := range cursors {
		if o := &cursors[i]; o.nextMatch < o.windowEnd {
			rows += float64(o.nextMatch) - float64(o.low.row) + o.perKey()*difference(o.low.key, c.low.key)
			perKey += o.perKey()
		}
	}

	row := float64(c.low.row) + c.perKey()*rows/perKey
	return uint32(min(max(row, float64(c.nextMatch)), float64(c.windowEnd-1)))
}

// perKey returns how many rows have a key between low and high, by their difference.
func (c *cursor) perKey() float64 {
	return float64(c.high.row-c.low.row) / float64(c.high.key-c.low.key)
}

// difference returns a - b.
func difference(a, b uint64) float64 { return float64(int64(a - b)) }
