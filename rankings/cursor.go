package rankings

import (
	"fmt"
	"sort"
)

// cursor reads one run from front to back.
type cursor struct {
	run   *run
	which uint32 // of the search's runs
	next  uint32 // of a ranked run: the matching row to read next
	bound uint32 // while seeking: rows from here on are not passed over
	leaf  int    // of any other: the leaf, as the run counts, and the row in it
	row   int

	ids    []uint32 // of the leaf that was read last
	loaded int      // its place in the order; -1: none

	head mark
	full bool // head is read
	end  bool
}

// fill reads the next matching row into head. It takes one of budget for
// every row that it tests, and stops when there is none left.
func (c *cursor) fill(leaves LeafReader, budget *int) error {
	if c.run.ranked() {
		return c.fillRanked(leaves, budget)
	}

	order := c.run.order
	for *budget > 0 {
		if c.leaf == order.Leaves() {
			c.end = true
			return nil
		}
		if c.run.sums != nil && c.run.before(c.leaf) == c.run.before(c.leaf+1) {
			c.leaf++
			*budget--
			continue
		}
		if err := c.load(leaves, c.run.leaf(c.leaf)); err != nil {
			return err
		}
		if c.scan(budget); c.full {
			return c.check()
		}
	}

	return nil
}

// scan looks for a matching row in what is left of the loaded leaf.
func (c *cursor) scan(budget *int) {
	for ; c.row < len(c.ids) && *budget > 0; *budget-- {
		id := c.ids[c.row]
		if c.run.reading == backward {
			id = c.ids[len(c.ids)-1-c.row]
		}

		c.row++
		if id >= c.rows() {
			c.head.row, c.full = id, true
			return
		}
		if c.run.match(id) {
			c.head, c.full = c.run.mark(id), true
			return
		}
	}
	if c.row == len(c.ids) {
		c.leaf, c.row = c.leaf+1, 0
	}
}

func (c *cursor) fillRanked(leaves LeafReader, budget *int) error {
	if c.next == c.run.total() {
		c.end = true
		return nil
	}
	m, err := c.at(leaves, c.next)
	if err != nil {
		return err
	}
	*budget--
	c.head, c.full, c.next = m, true, c.next+1
	return nil
}

// at returns the k-th matching row of a ranked run.
func (c *cursor) at(leaves LeafReader, k uint32) (mark, error) {
	rank, rows := c.run.rank(k), c.run.order.Rows
	if c.loaded < 0 || rank < rows[c.loaded] || rank >= rows[c.loaded+1] {
		leaf := sort.Search(len(rows)-1, func(i int) bool { return rows[i+1] > rank })
		if err := c.load(leaves, leaf); err != nil {
			return mark{}, err
		}
	}
	id := c.ids[rank-rows[c.loaded]]
	if id >= c.rows() {
		return mark{}, c.damaged(id)
	}
	return c.run.mark(id), nil
}

// load reads a leaf by its place in the order.
func (c *cursor) load(leaves LeafReader, leaf int) error {
	if c.loaded == leaf {
		return nil
	}

	r := c.run
	ids, err := leaves.Leaf(r.view.State.Chain, r.order.Numbers[leaf])
	if err != nil {
		return fmt.Errorf("cannot read leaf %d of chain %d: %w",
			r.order.Numbers[leaf], r.view.State.Chain, err)
	}
	if want := r.order.Rows[leaf+1] - r.order.Rows[leaf]; uint32(len(ids)) != want {
		return fmt.Errorf("cannot read leaf %d of chain %d: it has %d rows; the directory says %d",
			r.order.Numbers[leaf], r.view.State.Chain, len(ids), want)
	}

	c.ids, c.loaded = ids, leaf
	return nil
}

// rows returns the length of the table that the run's rows are in.
func (c *cursor) rows() uint32 {
	if c.run.id.ofPools() {
		return c.run.view.State.Pools.Len()
	}
	return c.run.view.State.Positions.Len()
}

// check refuses a head that no record has.
func (c *cursor) check() error {
	if c.head.row >= c.rows() {
		return c.damaged(c.head.row)
	}
	return nil
}

func (c *cursor) damaged(id uint32) error {
	return fmt.Errorf("cannot read leaf %d of chain %d: it has row %d; there are %d",
		c.run.order.Numbers[c.loaded], c.run.view.State.Chain, id, c.rows())
}
