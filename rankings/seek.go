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

// probe goes on where seek ended, over ranked runs, row by row: of the rows
// that end a stretch of skip/m in each run, the first ends a stretch that can
// go.
func probe(cursors []cursor, leaves LeafReader, skip uint64) error {
	for skip > 0 {
		left := uint64(0)
		for i := range cursors {
			if cursors[i].next < cursors[i].run.total() {
				left++
			}
		}
		if left == 0 {
			return nil
		}
		step, err := hopRows(cursors, leaves, max(skip/left, 1))
		if err != nil {
			return err
		}
		skip -= step
	}
	return nil
}

// hopRows moves the cursor whose stretch of at most d rows ends first.
func hopRows(cursors []cursor, leaves LeafReader, d uint64) (uint64, error) {
	var first *cursor
	var least mark
	var step uint32
	for i := range cursors {
		c := &cursors[i]
		rest := c.run.total() - c.next
		if rest == 0 {
			continue
		}
		n := uint32(min(d, uint64(rest)))
		m, err := c.at(leaves, c.next+n-1)
		if err != nil {
			return 0, err
		}
		if first == nil || c.run.compare(&m, &least) < 0 {
			first, least, step = c, m, n
		}
	}
	first.next += step
	return uint64(step), nil
}
