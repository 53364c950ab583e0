package rankings

// keysAhead is how many order keys of a run are read together. A key is found through four or
// five places that are hardly ever in the processor's cache. One key waits for each of them in
// turn, and so many hardly wait longer together.
const keysAhead = 8

// keyBatch is order keys of a ranked run that were read together, in the run's order.
type keyBatch struct {
	keys     [keysAhead]orderKey
	at       [keysAhead]uint32 // the matching rows whose keys they are
	n        int               // how many were read
	from, to int               // those of them that are left
}

func (b *keyBatch) empty() bool { return b.from == b.to }

func (b *keyBatch) middle() int { return b.from + (b.to-b.from)/2 }

// keepFrom leaves the keys that were read of a row and those that follow it.
func (b *keyBatch) keepFrom(row uint32) {
	for b.from = 0; b.from < b.n && b.at[b.from] != row; {
		b.from++
	}
	for b.to = b.from; b.to < b.n && b.at[b.to] == row+uint32(b.to-b.from); {
		b.to++
	}
}

// batchLen returns how many keys are read together of so many rows. Without columns a key is
// computed from records, which takes longer than waiting for another.
func (c *cursor) batchLen(rows uint32) int {
	if !c.run.view.Warm() {
		rows = min(rows, 1)
	}
	return int(min(rows, keysAhead))
}

// readKeysFrom reads the keys of n matching rows.
func (c *cursor) readKeysFrom(leaves LeafReader, first uint32, n int) error {
	var ranks [keysAhead]uint32
	for i := range n {
		c.batch.at[i] = first + uint32(i)
	}
	c.run.ranks(ranks[:n], first)
	return c.readKeys(leaves, ranks[:n])
}

// readSpreadKeys reads the keys of matching rows that part the window evenly.
func (c *cursor) readSpreadKeys(leaves LeafReader) error {
	var ranks [keysAhead]uint32
	rows := c.windowEnd - c.nextMatch
	n := c.batchLen(rows)
	for i := range n {
		c.batch.at[i] = c.nextMatch + (2*uint32(i)+1)*rows/(2*uint32(n))
		ranks[i] = c.run.rank(c.batch.at[i])
	}
	return c.readKeys(leaves, ranks[:n])
}

// readKeys reads the keys of rows by their ranks, up to the first one that is in another leaf
// than those before it.
func (c *cursor) readKeys(leaves LeafReader, ranks []uint32) error {
	b := c.batch
	b.n, b.from, b.to = 0, 0, 0
	if err := c.loadLeafOf(leaves, ranks[0]); err != nil {
		return err
	}

	first, end := c.run.order.Rows[c.loadedLeaf], c.run.order.Rows[c.loadedLeaf+1]
	columns := c.run.view.columns
	asks := !c.alone && columns != nil && c.run.id <= openAge
	for b.n < len(ranks) && first <= ranks[b.n] && ranks[b.n] < end {
		id := c.ids[ranks[b.n]-first]
		if id >= c.tableRows() {
			return c.rowError(id)
		}
		if asks {
			columns.askKey(c.run.id, id)
		}
		b.keys[b.n].row = id
		b.n++
	}

	for i := range b.keys[:b.n] {
		b.keys[i] = c.orderKey(b.keys[i].row)
	}
	b.to = b.n
	return nil
}
