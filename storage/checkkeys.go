package storage

import (
	"encoding/binary"
	"fmt"

	"tidemark/rankings/block"
	"tidemark/rankings/ledger"
	"tidemark/rankings/market"
)

// key checks one key. Rows of tables were decoded when the State was warmed;
// here they need only be within their table.
func (c *checker) key(k keyKind, key, tail, value []byte) error {
	switch {
	case k.table >= 0:
		return belongs(binary.BigEndian.Uint32(tail), c.head.Rows[k.table])
	case k.series >= 0:
		return c.entry(k.series, key, tail, value)
	case k.kind == kindLeaf:
		return c.leaf(binary.BigEndian.Uint64(tail), value)
	}
	return nil // head, directory and undos are read whole elsewhere
}

// entry checks an entry of a series.
func (c *checker) entry(series int, key, tail, value []byte) error {
	s := allSeries[series]
	owner := c.head.Rows[s.about().owner.Index()]
	if err := belongs(binary.BigEndian.Uint32(tail), owner); err != nil {
		return err
	}
	if series == ledger.Transactions.Index() {
		return c.transaction(key, value)
	}
	return s.decodes(value)
}

func belongs(row, n uint32) error {
	if row >= n {
		return fmt.Errorf("belongs to row %d of %d", row, n)
	}
	return nil
}

// transaction counts an entry of a position's history.
func (c *checker) transaction(key, value []byte) error {
	var t market.Transaction
	dec := coder{buf: value, read: true}
	seriesFor(ledger.Transactions).decode(key, &dec, &t)
	if err := dec.done(); err != nil {
		return err
	}

	c.entries[t.Position]++
	if t.Block > c.head.At.Number {
		return fmt.Errorf("is of block %d, after the head %d", t.Block, c.head.At.Number)
	}
	return nil
}

func (c *checker) leaf(number uint64, value []byte) error {
	use, known := c.leaves[number]
	if !known {
		return fmt.Errorf("no generation uses the leaf")
	}

	use.seen = true
	c.leaves[number] = use
	ids, err := block.DecodeLeaf(value, nil)
	if err != nil || use.retired {
		return err
	}
	if len(ids) != use.rows || ids[0] != use.first {
		return fmt.Errorf("has %d rows from %d on; the directory says %d from %d on",
			len(ids), ids[0], use.rows, use.first)
	}

	for _, id := range ids {
		if id >= use.below {
			return fmt.Errorf("names row %d of %d", id, use.below)
		}
	}

	return nil
}
