package rankings

import (
	"fmt"
	"sort"
)

// cursor reads one run from front to back.
type cursor struct {
	run      *run
	runIndex uint32 // in the search's runs
	alone    bool   // the search has no other run, so that no rows are compared

	// Position in a ranked run.
	nextMatch uint32    // the matching row to read next
	batch     *keyBatch // keys of rows from there on, or of the window; only of a ranked run

	// While seeking; see seekLeaves and seekRow.
	endLeaf   int    // the leaves from leaf to here are the window
	reach     int    // in the window, behind the fence that is tried
	windowEnd uint32 // the first row that is not to be skipped
	probe     uint32 // the row whose key is the head
	atFence   bool   // that row is the first of a leaf, and the key its fence
	low, high keyAt  // the nearest known before and behind the window; their keys are 0 without
	reads     int    // how often keys of the window were read

	// Position in any other run.
	leaf int // as the run counts
	row  int // in the leaf

	ids        []uint32 // of the leaf that was read last
	loadedLeaf int      // its index in the order; -1: none

	head    orderKey // the row that was read and not yet taken
	hasHead bool
	atEnd   bool
}

// readNext reads the next matching row into head. Every row that it tests costs
// 1 of budget; it stops without a head when the budget is used up.
func (c *cursor) readNext(leaves LeafReader, budget *int) error {
	if c.run.ranked() {
		return c.readNextRanked(leaves, budget)
	}

	order := c.run.order
	for *budget > 0 {
		if c.leaf == order.Leaves() {
			c.atEnd = true
			return nil
		}

		// A leaf without a matching row is not read.
		if c.run.sums != nil && c.run.rowsBefore(c.leaf) == c.run.rowsBefore(c.leaf+1) {
			c.leaf++
			*budget--
			continue
		}

		if err := c.loadLeaf(leaves, c.run.leafIndex(c.leaf)); err != nil {
			return err
		}
		if c.scanLeaf(budget); c.hasHead {
			return c.checkHead()
		}
	}

	return nil
}

// scanLeaf looks for a matching row in the rest of the loaded leaf. A row that
// is not in the table becomes the head too, for checkHead to refuse.
func (c *cursor) scanLeaf(budget *int) {
	for c.row < len(c.ids) && *budget > 0 {
		id := c.ids[c.row]
		if c.run.direction == backward {
			id = c.ids[len(c.ids)-1-c.row]
		}

		c.row++
		*budget--
		if id >= c.tableRows() {
			c.head.row, c.hasHead = id, true
			return
		}
		if c.run.match(id) {
			c.head, c.hasHead = c.orderKey(id), true
			return
		}
	}
	if c.row == len(c.ids) {
		c.leaf, c.row = c.leaf+1, 0
	}
}

// readNextRanked is readNext for a ranked run.
func (c *cursor) readNextRanked(leaves LeafReader, budget *int) error {
	if c.nextMatch == c.run.total() {
		c.atEnd = true
		return nil
	}

	if c.batch.empty() {
		n := c.batchLen(c.run.total() - c.nextMatch)
		if err := c.readKeysFrom(leaves, c.nextMatch, n); err != nil {
			return err
		}
	}

	*budget--
	c.head, c.hasHead = c.batch.keys[c.batch.from], true
	c.nextMatch, c.batch.from = c.nextMatch+1, c.batch.from+1
	return nil
}

// orderKey returns the order key of a row, without the key if nothing is compared
// with it: to compute one takes a third of the time that rendering the row takes.
func (c *cursor) orderKey(row uint32) orderKey {
	if c.alone {
		return orderKey{view: c.run.view, row: row}
	}
	return c.run.orderKey(row)
}

// loadLeafOf reads the leaf of a row by its rank, unless it is loaded already.
func (c *cursor) loadLeafOf(leaves LeafReader, rank uint32) error {
	rows := c.run.order.Rows
	if c.loadedLeaf >= 0 && rows[c.loadedLeaf] <= rank && rank < rows[c.loadedLeaf+1] {
		return nil
	}
	return c.loadLeaf(leaves, sort.Search(len(rows)-1, func(i int) bool { return rows[i+1] > rank }))
}

// loadLeaf reads a leaf by its index in the order, unless it is loaded already.
func (c *cursor) loadLeaf(leaves LeafReader, leaf int) error {
	if c.loadedLeaf == leaf {
		return nil
	}

	r := c.run
	ids, err := leaves.Leaf(r.view.State.Chain, r.order.Numbers[leaf])
	if err != nil {
		return fmt.Errorf("cannot read leaf %d of chain %d: %w",
			r.order.Numbers[leaf], r.view.State.Chain, err)
	}
	if want := r.order.Rows[leaf+1] - r.order.Rows[leaf]; uint32(len(ids)) != want {
		return fmt.Errorf("cannot read leaf %d of chain %d: it has %d rows; the directory has %d",
			r.order.Numbers[leaf], r.view.State.Chain, len(ids), want)
	}

	c.ids, c.loadedLeaf = ids, leaf
	return nil
}

// tableRows returns the length of the table that the run's rows index.
func (c *cursor) tableRows() uint32 {
	if c.run.id.ofPools() {
		return c.run.view.State.Pools.Len()
	}
	return c.run.view.State.Positions.Len()
}

// checkHead refuses a head that is not a row of the table.
func (c *cursor) checkHead() error {
	if c.head.row >= c.tableRows() {
		return c.rowError(c.head.row)
	}
	return nil
}

func (c *cursor) rowError(id uint32) error {
	return fmt.Errorf("cannot read leaf %d of chain %d: it has row %d; the table has %d rows",
		c.run.order.Numbers[c.loadedLeaf], c.run.view.State.Chain, id, c.tableRows())
}
