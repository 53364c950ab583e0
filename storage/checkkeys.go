package storage

import (
	"encoding/binary"
	"fmt"

	"tidemark/rankings/block"
	"tidemark/rankings/market"
)

// tailLens are the lengths of keys after their kind.
var tailLens = map[kind]int{
	kindHead: 0, kindDirectory: 0,
	kindToken: 4, kindOwner: 4, kindPool: 4, kindDay: 4, kindMinutes: 5, kindTick: 4,
	kindPosition: 4, kindWide: 4, kindDirect: 4, kindHour: 4, kindPrice: 4, kindStats: 4,
	kindTransaction: 16, kindPoolDay: 8, kindTickDay: 12, kindHourPrice: 8,
	kindUndo: 8, kindLeaf: 8,
}

// key checks one key. Rows of tables were decoded when the State was warmed;
// here they need only be within their table.
func (c *checker) key(k kind, key, tail, value []byte) error {
	dec := coder{buf: value, read: true}
	switch k {
	case kindHead, kindDirectory, kindUndo:
		return nil // read whole elsewhere
	case kindTransaction:
		var t market.Transaction
		decodeTransaction(key, &dec, &t)
		return c.transaction(&t, dec.done())
	case kindPoolDay:
		var d market.PoolDay
		decodePoolDay(key, &dec, &d)
		return c.belongs(d.Pool, c.st.Pools.Len(), dec.done())
	case kindTickDay:
		var t market.TickDay
		decodeTickDay(key, &dec, &t)
		return c.belongs(t.Pool, c.st.Pools.Len(), dec.done())
	case kindHourPrice:
		var p HourPrice
		decodeHourPrice(key, &dec, &p)
		return c.belongs(p.Token, c.st.Tokens.Len(), dec.done())
	case kindLeaf:
		return c.leaf(binary.BigEndian.Uint64(tail), value)
	}
	return c.belongs(binary.BigEndian.Uint32(tail), c.rowsOf(k), nil)
}

func (c *checker) rowsOf(k kind) uint32 {
	l := &c.head.Lens
	switch k {
	case kindToken:
		return l.Tokens
	case kindOwner:
		return l.Owners
	case kindTick:
		return l.Ticks
	case kindPosition:
		return l.Positions
	case kindWide:
		return l.Wides
	case kindDirect:
		return l.Directs
	case kindHour:
		return l.Hours
	case kindPrice:
		return c.head.Prices
	case kindStats:
		return c.head.Stats
	}
	return l.Pools
}

func (c *checker) belongs(row, n uint32, err error) error {
	if err == nil && row >= n {
		err = fmt.Errorf("belongs to row %d of %d", row, n)
	}
	return err
}

func (c *checker) transaction(t *market.Transaction, err error) error {
	if err = c.belongs(t.Position, c.st.Positions.Len(), err); err != nil {
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
